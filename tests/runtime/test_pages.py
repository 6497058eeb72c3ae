"""Large pages change where numbers are, and nothing else."""

from __future__ import annotations

import ctypes
import mmap
import sys
from pathlib import Path

import numpy as np
import pytest

from glassformer.runtime import pages

# One that may be joined, and those that are shared, of a file, a stack, or smaller than a large page.
MAPS = """\
7f0000100000-7f0000900000 rw-p 00000000 00:00 0
7f0001000000-7f0001800000 rw-s 00000000 00:01 77 /dev/zero (deleted)
7f0002000000-7f0002800000 r--p 00000000 00:00 0
7f0003000000-7f0003800000 rw-p 00000000 fe:00 12 /lib/a library.so
7ffc00000000-7ffc00800000 rw-p 00000000 00:00 0 [stack]
7f0004000000-7f0004100000 rw-p 00000000 00:00 0
560000000000-560000400000 rw-p 00000000 00:00 0 [heap]
"""


def test_only_memory_of_its_own_is_joined() -> None:
    assert [*pages._held(MAPS)] == [(0x7F0000200000, 0x7F0000800000), (0x560000000000, 0x560000400000)]


def test_numbers_are_the_same_in_large_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.arange(1 << 22)  # 32 MB
    of = numbers.ctypes.data
    part = -(-of // pages._LARGE) * pages._LARGE
    monkeypatch.setattr(pages, "_held", lambda maps: [(part, part + 4 * pages._LARGE)])
    monkeypatch.setattr(pages, "_MOST", 1 << 40)  # the process of the tests holds more than is worth it
    pages.join_pages()
    assert np.array_equal(numbers, np.arange(1 << 22))
    if sys.platform == "linux" and _kernel_joins():
        assert _joined(part) >= 4 * pages._LARGE


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")
def test_large_pages_of_which_a_part_was_never_used_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux would fill them, at once or minute by minute: a process that only waits would grow."""
    size, small = pages._LARGE, mmap.PAGESIZE
    memory = mmap.mmap(-1, 12 * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    first = -(-ctypes.addressof(ctypes.c_char.from_buffer(memory)) // size) * size
    at = first - ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for place in range(8):  # two are whole, then two of which a page is used, one that is not used at all, and so on
        for used in range(0, (size, size, small, small, 0, size, small, 0)[place], small):
            memory[at + place * size + used] = 1
    before, larger = _facts(first, first + 8 * size)
    assert (before, larger) == (3 * size + 3 * small, set())
    monkeypatch.setattr(pages, "_held", lambda maps: [(first, first + 8 * size)])
    monkeypatch.setattr(pages, "_MOST", 1 << 40)  # the process of the tests holds more than is worth it
    pages.join_pages()
    after, larger = _facts(first, first + 8 * size)
    assert after == before
    if Path("/sys/kernel/mm/transparent_hugepage/enabled").exists():
        assert larger == {(first, first + 2 * size), (first + 5 * size, first + 6 * size)}


def _facts(start: int, end: int) -> tuple[int, set[tuple[int, int]]]:
    """Bytes in memory between two addresses, and the parts that may be in large pages."""
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:  # "Rss:" would count what Linux joined to them, too
        pagemap.seek(start // mmap.PAGESIZE * 8)
        entries = np.frombuffer(pagemap.read((end - start) // mmap.PAGESIZE * 8), np.uint64)
    may, part = set[tuple[int, int]](), (0, 0)
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, *rest = line.split()
        if "-" in name and not name.endswith(":"):
            first, last = (int(each, 16) for each in name.split("-"))
            part = max(first, start), min(last, end)
        elif part[0] < part[1] and name == "VmFlags:" and "hg" in rest:
            may.add(part)
    return int((entries >> 63).sum()) * mmap.PAGESIZE, may  # bit 63: the page is in memory


def _kernel_joins() -> bool:
    place = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    release = [int(each) for each in Path("/proc/sys/kernel/osrelease").read_text().split(".")[:2]]
    return place.exists() and "[never]" not in place.read_text() and release >= [6, 1]


def _joined(address: int) -> int:
    """Bytes of large pages in the memory around an address."""
    here = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, *rest = line.split()
        if "-" in name and not name.endswith(":"):
            start, end = (int(each, 16) for each in name.split("-"))
            here = start <= address < end
        elif here and name == "AnonHugePages:":
            return int(rest[0]) * 1024
    return 0


@pytest.mark.parametrize("kind", ["no maps", "no library", "much memory"])
def test_other_systems_and_large_processes_stay_as_they_are(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise OSError(2, "No such file")

    asked = list[str]()

    def held(maps: str) -> list[tuple[int, int]]:
        asked.append(maps)
        return []

    monkeypatch.setattr(pages, "_held", held)
    if kind == "no maps":
        monkeypatch.setattr(Path, "read_text", missing)
    elif kind == "no library":
        monkeypatch.setattr(ctypes, "CDLL", missing)
    else:
        monkeypatch.setattr(pages, "_MOST", 0)
    pages.join_pages()
    assert not asked
