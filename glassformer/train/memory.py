"""Keep freed memory in the process, where the next step finds it."""

from __future__ import annotations

import ctypes
import gc

# The parameters' numbers in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_freed_memory() -> bool:
    """Ask glibc not to give large blocks back to the system after each step; says whether it could.

    A training step frees and asks again for the same hundreds of megabytes. Given back, each page of them must be
    zeroed anew by the kernel: about a fifth of a small model's step on a CPU. What is free at this moment goes back
    first, so that the process holds what a step needs and no more.
    """
    gc.collect()
    try:
        library = ctypes.CDLL(None)
        mallopt, trim = library.mallopt, library.malloc_trim
    except (OSError, TypeError, AttributeError):  # not glibc: musl, macOS, Windows
        return False
    trim(0)
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, 2**31 - 1))
