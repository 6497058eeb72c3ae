"""Less memory for a step, and freed memory kept in the process for the next step."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

from glassformer.models.transformer import Transformer

# The numbers of these options in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_freed_memory() -> bool:
    """Ask glibc not to return large blocks to the system after each step; returns whether that worked.

    A training step frees and allocates the same hundreds of megabytes. If they are returned, the kernel must zero each
    page again: about a fifth of a small model's step on a CPU. Memory that is free now is returned first, so that the
    process keeps only what a step needs.
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
    """Inside, when `wanted`, the backward pass recomputes each block instead of keeping all its tensors."""
    stacks = [stack for stack in (model.encoder, model.decoder) if stack is not None]
    before = [stack.recompute for stack in stacks]
    for stack in stacks:
        stack.recompute = wanted
    try:
        yield
    finally:
        for stack, was in zip(stacks, before, strict=True):
            stack.recompute = was
