"""Which rows go through a model together, and in which thread."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from queue import SimpleQueue
from threading import Lock
from typing import Any

from glassformer.runtime.measured import fastest
from glassformer.runtime.threads import own_threads

# Tokens of a forward pass, padding included: enough for full speed, little enough for any machine.
BATCH_TOKENS = 8192
# On a processor: what a block computes of so many stays in the caches. And what a pass costs apart from its tokens,
# about: rows of unequal length go together only where that pads fewer.
CPU_BATCH_TOKENS, CPU_PASS_TOKENS = 1024, 32


def most_tokens(device: str) -> int:
    """Tokens of a forward pass on a device of this type, padding included."""
    return CPU_BATCH_TOKENS if device == "cpu" else BATCH_TOKENS


def in_threads(
    work: Callable[[Iterable[range]], Iterator[tuple[int, Any]]], passes: Sequence[range], threads: int
) -> Iterator[tuple[int, Any]]:
    """The same work in threads, each of which takes the next pass when it is free; results as they come."""
    import torch

    left, lock, stopped = iter(passes), Lock(), False
    found: SimpleQueue[tuple[int, Any] | BaseException | None] = SimpleQueue()  # the last two: a thread has ended

    def mine() -> Iterator[range]:
        while True:
            with lock:
                taken = None if stopped else next(left, None)
            if taken is None:
                return
            yield taken

    def run() -> None:
        try:
            with own_threads(1):
                for each in work(mine()):
                    found.put(each)
                    if stopped:  # nobody waits for the rest of a pass
                        break
            found.put(None)
        except BaseException as error:
            found.put(error)

    with own_threads(torch.get_num_threads()), ThreadPoolExecutor(threads, "predict") as pool:
        try:
            for _ in range(threads):
                pool.submit(copy_context().run, run)
            for _ in range(threads):
                for each in iter(found.get, None):
                    if isinstance(each, BaseException):
                        raise each
                    yield each
        finally:
            stopped = True


# Vectors that go through a step of decoding together, of which each thread then has its share.
_OF_A_STEP = 256


def own_threads_are_faster(width: int) -> bool:
    """Whether a model of this width decodes faster with a thread for each part of the sentences (measured)."""
    import torch
    from torch.nn import functional as F

    from glassformer.runtime.products import best_product

    threads = torch.get_num_threads()
    if threads == 1:
        return True
    product = best_product()
    generator = torch.Generator().manual_seed(0)
    first, second = (torch.rand(shape, generator=generator) for shape in ((4 * width, width), (width, 4 * width)))

    @torch.inference_mode()
    def steps(vectors: int) -> None:
        x = torch.ones(vectors, width)
        for _ in range(40):  # as many products as two steps of a small model have
            x = F.layer_norm(product(F.relu(product(x, first, None)), second, None), (width,))

    def work(mine: Iterable[range]) -> Iterator[tuple[int, Any]]:
        for each in mine:
            steps(len(each))
            yield 0, None

    each = _OF_A_STEP // threads
    parts = [range(each) for _ in range(threads)]
    ways = {"shared": lambda: steps(_OF_A_STEP), "alone": lambda: list(in_threads(work, parts, threads))}
    return fastest(f"{_OF_A_STEP} vectors of {width} through the products of steps", ways) == "alone"


def passes_of(lengths: Sequence[int], *, caches: bool) -> Iterator[range]:
    """Cut rows of decreasing lengths into batches of at least one row and at most BATCH_TOKENS tokens with padding; for
    the `caches` of a processor rows of about one length, as long as padding costs less than another pass.
    """
    tokens, least = (CPU_BATCH_TOKENS, CPU_PASS_TOKENS) if caches else (BATCH_TOKENS, math.inf)
    start = 0
    while start < len(lengths):
        longest = max(lengths[start], 1)
        most = min(len(lengths), start + max(1, tokens // longest))
        end, padding = start, 0
        while end < most:
            of_one_length = end
            while of_one_length < most and lengths[of_one_length] == lengths[end]:
                of_one_length += 1
            padding += (longest - lengths[end]) * (of_one_length - end)
            if padding > least:
                break
            end = of_one_length
        yield range(start, end)
        start = end
