"""Standard input, output and error as the program finds them: closed, full, or a pipe that nobody reads any more.

What standard output does not take is a StandardOutputError, whoever writes it, and once told it is not told again
while Python ends. What standard error does not take is lost: no work stops for a note that nobody can read.
"""

from __future__ import annotations

import io
import os
import select
import sys
from typing import TYPE_CHECKING, ClassVar, TextIO

from glassformer.errors import GlassformerError

if TYPE_CHECKING:
    from typing_extensions import Buffer


class StandardOutputError(GlassformerError):
    """Standard output does not take the results: it is closed, or a full disk."""


class ReaderGoneError(StandardOutputError):
    """Whoever read standard output has gone. As a program that is ended by SIGPIPE is reported: 128 + 13."""

    exit_code: ClassVar[int] = 141


class _Results(io.FileIO):
    """Standard output, unbuffered."""

    _told = False

    def write(self, data: Buffer) -> int:
        """Number of bytes written; raises StandardOutputError, the first time, when they are not taken."""
        if self._told:
            return memoryview(data).nbytes
        try:
            written: int | None = super().write(data)
            while written is None:  # shared with a program that does not want to wait for it: we do
                select.select([], [self.fileno()], [])
                written = super().write(data)
        except OSError as error:
            self._told = True
            kind = ReaderGoneError if isinstance(error, BrokenPipeError) else StandardOutputError
            raise kind(
                "standard output must take the results",
                got=error.strerror or str(error),
                do="make room, or send them to another place",
            ) from None
        return written


class _Notes(io.FileIO):
    """Standard error, unbuffered."""

    def write(self, data: Buffer) -> int:
        """All bytes, written or lost."""
        try:
            return super().write(data) or memoryview(data).nbytes
        except OSError:
            return memoryview(data).nbytes


def prepare_streams() -> None:
    """Put streams in the place of Python's own that fail in a sentence, and show what an encoding cannot as `?`."""
    # A number that is free would be given to the next file that is opened, and results or notes written into it.
    # Of the wrong direction, so that to read or write fails as it does when closed.
    for number, direction in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(number)
        except OSError:
            other = os.open(os.devnull, direction)
            if other != number:
                os.dup2(other, number)
                os.close(other)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), encoding="utf-8")
    sys.stdout = _over(_Results(1, "w", closefd=False), sys.stdout)
    sys.stderr = _over(_Notes(2, "w", closefd=False), sys.stderr, errors="backslashreplace", at_once=True)


def _over(raw: io.FileIO, stream: TextIO | None, *, errors: str = "", at_once: bool = False) -> TextIO:
    """The same stream on `raw`; as it is where it is no file, as the consoles of Windows."""
    # What UTF-8 cannot hold, bytes of a file name, stays legible, and is an escape of JSON as well.
    encoding = stream.encoding if stream is not None else "utf-8"
    errors = errors or ("backslashreplace" if is_utf8(encoding) else "replace")
    if not isinstance(stream, io.TextIOWrapper | None):
        return stream
    if stream is not None and not isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO):
        stream.reconfigure(errors=errors)
        return stream
    at_once = at_once or (stream is not None and (stream.line_buffering or stream.write_through))
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=at_once)


def is_utf8(encoding: str | None) -> bool:
    """Whether an encoding is UTF-8, by any of its names."""
    return (encoding or "").lower().replace("-", "").replace("_", "") in ("utf8", "utf8sig", "cp65001")
