"""Less memory for a step, and freed memory kept in the process for the next step."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

from glassformer.models.transformer import Transformer

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


@contextmanager
def recomputing(model: Transformer, wanted: bool) -> Iterator[None]:
    """Inside, when `wanted`, the backward pass computes each block anew rather than have all its tensors kept."""
    stacks = [stack for stack in (model.encoder, model.decoder) if stack is not None]
    before = [stack.recompute for stack in stacks]
    for stack in stacks:
        stack.recompute = wanted
    try:
        yield
    finally:
        for stack, was in zip(stacks, before, strict=True):
            stack.recompute = was
