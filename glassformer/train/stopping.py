"""Ctrl-C, and a scheduler's wish that we end: the step is finished, everything is saved, then we go."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """Training was asked to stop and everything is saved; `str()` says how to go on.

    A KeyboardInterrupt, so that whoever does not expect it ends as with Ctrl-C. `exit_code` is 128 plus the signal's
    number, as shells have it: 130 after Ctrl-C, 143 after SIGTERM.
    """

    def __init__(self, message: str, *, signal_number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number


class Wish:
    """Whether somebody asked us to stop, and by which signal."""

    def __init__(self) -> None:
        self.signal_number: int | None = None


@contextmanager
def stop_signals() -> Iterator[Wish]:
    """Inside, the first SIGINT or SIGTERM only leaves a wish; the second one works as before.

    Outside the main thread signals cannot be caught and stay as they are.
    """
    wish = Wish()
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def leave_wish(number: int, frame: FrameType | None) -> None:
        wish.signal_number = number
        for each, handler in before.items():
            signal.signal(each, handler)

    for number in before:
        signal.signal(number, leave_wish)
    try:
        yield wish
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
