"""Work in a thread that ends when nobody waits for it any more, or when it has taken too long.

A thread cannot be ended from outside. Every call of torch asks first whether it is still wanted.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

from torch.overrides import TorchFunctionMode

Result = TypeVar("Result")


class Unwanted(Exception):  # noqa: N818 - nothing went wrong
    """Nobody waits for this result."""


class Stoppable(TorchFunctionMode):
    """Inside, calls of torch raise Unwanted once `stop` is set."""

    def __init__(self, stop: threading.Event) -> None:
        super().__init__()
        self.stop = stop

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.stop.is_set():
            raise Unwanted
        return func(*args, **(kwargs or {}))


async def in_thread(executor: Executor, work: Callable[..., Result], *arguments: Any) -> Result:
    """Have it done in a thread of the executor; when this is cancelled, it is not begun, or stops at its next step."""
    stop = threading.Event()

    def stoppable() -> Result:
        with Stoppable(stop):
            if stop.is_set():
                raise Unwanted
            return work(*arguments)

    try:
        return await asyncio.get_running_loop().run_in_executor(executor, stoppable)
    finally:
        stop.set()
