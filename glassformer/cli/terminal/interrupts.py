"""Ctrl-C: the first one begins to close what a command has open, and a second one within a second would break this."""

import math
import signal
import time
from types import FrameType

# Seconds in which a second Ctrl-C counts for nothing: while a command closes its files and engines.
_CLOSING = 1.0


class _Interrupts:
    """A handler of SIGINT that raises KeyboardInterrupt, once within a second."""

    def __init__(self) -> None:
        self.last = -math.inf

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self.last > _CLOSING:  # since the last that counted: who presses it on and on is heard each second
            self.last = now
            signal.default_int_handler(number, frame)


def one_at_a_time() -> None:
    """Handle SIGINT so; a handler that is not Python's own, as of a shell's background job, stays."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _Interrupts())


def goes_on() -> None:
    """The command goes on after a Ctrl-C, as a conversation does: the next one counts at once."""
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, _Interrupts):
        handler.last = -math.inf
