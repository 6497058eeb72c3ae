"""Standard input, output and error that may be closed, full, or a pipe without a reader.

A failed write to standard output raises StandardOutputError, wherever it is in the program, but only once: writes while
Python exits do not raise it again. A failed write to standard error is ignored: a lost note must not stop the work.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import TYPE_CHECKING, ClassVar, TextIO

from glassformer.base.errors import GlassformerError

if TYPE_CHECKING:
    from typing_extensions import Buffer


class StandardOutputError(GlassformerError):
    """Results cannot be written to standard output: it is closed, or the disk is full."""


class ReaderGoneError(StandardOutputError):
    """The reader of standard output has closed it. The exit code is that of a program ended by SIGPIPE: 128 + 13."""

    exit_code: ClassVar[int] = 141


class _Results(io.FileIO):
    """Standard output, unbuffered."""

    _failed = False

    def write(self, data: Buffer) -> int:
        """Number of bytes written; raises StandardOutputError at the first write that fails."""
        if self._failed:
            return memoryview(data).nbytes
        try:
            written: int | None = super().write(data)
            while written is None:  # another program has made the stream non-blocking: wait until it is writable
                select.select([], [self.fileno()], [])
                written = super().write(data)
        except OSError as error:
            self._failed = True
            # Windows says EINVAL where a pipe has no reader.
            gone = isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL)
            kind = ReaderGoneError if gone else StandardOutputError
            raise kind(
                "standard output must take the results",
                got=error.strerror or str(error),
                do="free disk space, or write them elsewhere",
            ) from None
        return written


class _Notes(io.FileIO):
    """Standard error, unbuffered."""

    def write(self, data: Buffer) -> int:
        try:
            return super().write(data) or memoryview(data).nbytes
        except OSError:
            return memoryview(data).nbytes


def prepare_streams() -> None:
    """Replace Python's streams by ones that fail with one sentence, and that write `?` for what an encoding lacks."""
    # The number of a closed stream would be given to the next file that is opened, and output written into this file.
    # The null device is opened in the wrong direction, so that reading and writing still fail.
    for number, direction in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(number)
        except OSError:
            other = os.open(os.devnull, direction)
            if other != number:
                os.dup2(other, number)
                os.close(other)
            os.set_inheritable(number, True)  # so that the number is taken in the processes that this one starts, too
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), encoding="utf-8")
    sys.stdout = _over(_Results(1, "w", closefd=False), sys.stdout)
    sys.stderr = _over(_Notes(2, "w", closefd=False), sys.stderr, errors="backslashreplace", at_once=True)


def _over(raw: io.FileIO, stream: TextIO | None, *, errors: str = "", at_once: bool = False) -> TextIO:
    """The same stream on `raw`; the stream itself where it is no file, as the consoles of Windows."""
    # Bytes of a file name that are no UTF-8 are written as escapes, which are legible and valid in JSON.
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
    return (encoding or "").lower().replace("-", "").replace("_", "") in ("utf8", "utf8sig", "cp65001")
