"""Ctrl-C and SIGTERM: the step is finished and everything is saved before the process ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """Training was asked to stop and everything is saved; `str()` says how to resume.

    A KeyboardInterrupt, so that callers that do not handle it end as with Ctrl-C. `exit_code` is 128 plus the signal's
    number, as in shells: 130 after Ctrl-C, 143 after SIGTERM.
    """

    def __init__(self, message: str, *, signal_number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number


class StopRequest:
    """Whether a stop was requested, and by which signal."""

    def __init__(self) -> None:
        self.signal_number: int | None = None


@contextmanager
def stop_signals() -> Iterator[StopRequest]:
    """Inside, the first SIGINT or SIGTERM is only recorded; the second one works as before.

    Outside the main thread signals cannot be caught, and nothing changes.
    """
    stop_request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop_request
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def record_request(number: int, frame: FrameType | None) -> None:
        stop_request.signal_number = number
        for each, handler in before.items():
            signal.signal(each, handler)

    for number in before:
        signal.signal(number, record_request)
    try:
        yield stop_request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
