"""Memory in large pages, on Linux. To look up where pages of 4 kB are takes up to half of the time in which the weights
are read for a short text, above all in a virtual machine (decisions/2026-11-26-one-row-and-many.md).
"""

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path

# Bytes of a large page, and of the smallest one that each system with large pages has.
_LARGE = 1 << 21
_SMALL = _LARGE // mmap.PAGESIZE
# The advice of <asm-generic/mman-common.h>: pages may become large, and now (from Linux 6.1 on).
_MAY, _NOW = 14, 25
# Bytes of its own up to which a process is worth it: to copy 1 GB takes as long as a hundred short texts gain.
_MOST = 1 << 30


def join_pages() -> None:
    """Put what this process holds in memory into large pages, where the system can do that; nothing else changes. It
    takes as long as copying these bytes, so that a process of more than 1 GB, as a notebook with data, is left alone.

    Large pages of which a part is not in memory yet stay as they are: Linux would fill them, at once or in the next
    minutes. A server grew by 90 MB so, of 350 MB that CTranslate2 has reserved and not used.
    """
    with suppress(OSError, AttributeError):  # no Linux
        resident, shared = map(int, Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3])
        if (resident - shared) * mmap.PAGESIZE > _MOST:
            return
        system = ctypes.CDLL(None)
        system.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        system.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
        for start, end in _held(Path("/proc/self/maps").read_text(encoding="ascii", errors="replace")):
            here = ctypes.create_string_buffer((end - start) // mmap.PAGESIZE)
            if system.mincore(start, end - start, here):  # given back meanwhile
                continue
            for first, last in _whole(here.raw):
                for advice in (_MAY, _NOW):
                    system.madvise(start + first * _LARGE, (last - first) * _LARGE, advice)  # a thread's stack refuses


def _whole(here: bytes) -> Iterator[tuple[int, int]]:
    """The runs [first, last) of large pages that are in memory as a whole; `here` has 1 for each small page that is."""
    pages = (here.count(1, place, place + _SMALL) == _SMALL for place in range(0, len(here), _SMALL))
    place = 0
    for whole, run in groupby(pages):
        first, place = place, place + sum(1 for _ in run)
        if whole:
            yield first, place


def _held(maps: str) -> Iterator[tuple[int, int]]:
    """The large pages [start, end) of memory that no file and no other process shares."""
    for line in maps.splitlines():
        addresses, may, _, _, file, *name = line.split()
        if may != "rw-p" or file != "0" or name not in ([], ["[heap]"]):
            continue
        first, last = (int(each, 16) for each in addresses.split("-"))
        start, end = -(-first // _LARGE) * _LARGE, last // _LARGE * _LARGE
        if start < end:
            yield start, end
