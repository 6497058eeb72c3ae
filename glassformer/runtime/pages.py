"""Memory in large pages, on Linux. To look up where pages of 4 kB are takes up to half of the time in which the weights
are read for a short text, above all in a virtual machine (decisions/2026-11-26-one-row-and-many.md).
"""

import ctypes
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# Bytes of a large page, and of the smallest one that each system with large pages has.
_LARGE = 1 << 21
# The advice of <asm-generic/mman-common.h>: pages may become large, and now (from Linux 6.1 on).
_MAY, _NOW = 14, 25


def join_pages() -> None:
    """Put what this process holds in memory into large pages, where the system can do that; nothing else changes. It
    takes as long as copying these bytes.
    """
    with suppress(OSError, AttributeError):  # no Linux
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for start, end in _held(Path("/proc/self/maps").read_text(encoding="ascii", errors="replace")):
            for advice in (_MAY, _NOW):
                advise(start, end - start, advice)  # a stack of a thread refuses


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
