"""Ctrl-C and SIGTERM: the step is finished and everything is saved before the process ends.

Windows delivers no SIGTERM: there Ctrl-C and Ctrl-Break (SIGBREAK) are caught.
"""

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
    """Inside, the first signal that asks for a stop is only recorded; outside the main thread nothing changes."""
    stop_request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop_request
        return
    # A handler that was not set from Python reads as None, and cannot be set again.
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in _numbers()}

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


def _numbers() -> list[signal.Signals]:
    """The signals that ask for a stop, of those that this system has."""
    names = ("SIGINT", "SIGTERM", "SIGBREAK")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]
