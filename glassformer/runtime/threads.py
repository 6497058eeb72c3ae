"""The number of threads that torch computes with."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from glassformer.base.errors import DeviceError

# More threads than any machine benefits from, but few enough for any machine to start.
_MANY_THREADS = 256


def use_threads(count: int | None) -> None:
    """Set torch's number of threads; None leaves it unchanged. Raises DeviceError for far too many."""
    import torch

    most = max(_MANY_THREADS, 8 * (os.cpu_count() or 1))
    if count is not None and count > most:  # torch takes any number, and the process dies when it starts them
        raise DeviceError(
            f"at most {most} threads can be used", got=str(count), do=f"this machine has {os.cpu_count()} processors"
        )
    if count is not None:
        torch.set_num_threads(count)


@contextmanager
def own_threads(count: int) -> Iterator[None]:
    """Inside, torch computes with so many threads in this one, whatever others set, and in those that begin later."""
    import torch

    before = torch.get_num_threads()  # a thread that has never asked takes what was set last by any
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
