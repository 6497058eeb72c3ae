"""One training in a folder at a time, and a stop by Ctrl-C or SIGTERM that loses nothing."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from glassformer.base.atomic import lock, locks_folders
from glassformer.base.errors import TrainingError

# The file that is locked where a folder cannot be: on Windows.
_FILE = ".lock"
# Seconds in which a signal that is sent twice comes again.
_COPIES = 2.0


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Inside, no other process trains in this folder: a lock that ends with the process. Raises TrainingError."""
    inside = None if locks_folders() else folder / _FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        holder = os.open(folder, os.O_RDONLY) if inside is None else os.open(inside, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise TrainingError("a run needs a folder to write to", got=f"{folder}: {error.strerror}") from None
    try:
        if not lock(holder):
            raise TrainingError(
                "only one training at a time can use a folder",
                got=f"{folder}, in use by another",
                do="wait for it, or choose another --out",
            )
        yield
    finally:
        os.close(holder)
        if inside is not None:
            with suppress(OSError):  # another process has it open
                inside.unlink()


class Interrupted(KeyboardInterrupt):
    """Training was stopped on request and everything is saved; `str()` says how to resume. A KeyboardInterrupt, so that
    callers that do not handle it end as with Ctrl-C. `exit_code` is 128 plus the signal's number, as in shells: 130
    after Ctrl-C, 143 after SIGTERM.
    """

    def __init__(self, message: str, *, signal_number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number


class StopRequest:
    """Whether a stop was requested, and by which signal."""

    def __init__(self) -> None:
        self.signal_number: int | None = None
        self.since = 0.0


@contextmanager
def stop_signals(*, copies: bool = False) -> Iterator[StopRequest]:
    """Inside, the first signal that asks for a stop is only recorded; outside the main thread nothing changes. With
    `copies` others within two seconds are the same one: a terminal and torchrun both send it.
    """
    stop_request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop_request
        return
    # A handler that was not set from Python reads as None, and cannot be set again. A signal that is ignored stays so:
    # shells ignore Ctrl-C for what they run in the background.
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in _numbers()}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}

    def restore() -> None:
        for each, handler in before.items():
            signal.signal(each, handler)

    def record_request(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if stop_request.signal_number is None:
            stop_request.signal_number, stop_request.since = number, now
        elif now - stop_request.since > _COPIES:
            restore()
            signal.raise_signal(number)
        if not copies:
            restore()

    for number in before:
        signal.signal(number, record_request)
    try:
        yield stop_request
    finally:
        restore()


def _numbers() -> list[signal.Signals]:
    names = ("SIGINT", "SIGTERM", "SIGBREAK")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]
