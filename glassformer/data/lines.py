"""Lines of a text file with their numbers and bytes; `.gz` is read as it is."""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from glassformer.errors import DataError

# Enough of a file to tell text from pictures, archives and programs.
_HEAD = 8192
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line without its end; `number` counts from 1. A very long line may come in parts of the same number."""

    text: str
    number: int


# What to do with a row that cannot be used: `stop`, or count it and go on (`Skipped`).
OnBad = Callable[[DataError], None]


def stop(error: DataError) -> None:
    """The first bad row ends the reading."""
    raise error


class Skipped:
    """Bad rows set aside: how many, and the first few in words."""

    def __init__(self, keep: int = 5) -> None:
        self.count = 0
        self.first: list[str] = []
        self._keep = keep

    def __call__(self, error: DataError) -> None:
        """Count one bad row."""
        self.count += 1
        if len(self.first) < self._keep:
            self.first.append(str(error))


def left_out(count: int, first: str) -> str:
    """What a person is told of rows that were skipped."""
    return f"{count:,} bad rows were left out, the first: {first}"


def is_zipped(path: Path) -> bool:
    """Whether a file's name says it is compressed."""
    return path.suffix.lower() == ".gz"


def open_bytes(path: Path) -> BinaryIO:
    """A file's bytes, uncompressed. Raises DataError when it is missing, no file, or may not be read."""
    try:
        if kind := special_file(path):  # before it is opened: a pipe that nobody writes to would never answer
            raise DataError(f"a file is needed at {path}", got=kind)
        return cast(BinaryIO, gzip.open(path, "rb")) if is_zipped(path) else path.open("rb")
    except FileNotFoundError:
        raise DataError(f"a file is needed at {path}", got="no such file") from None
    except IsADirectoryError:
        raise DataError(f"a file is needed at {path}", got="a folder") from None
    except PermissionError:
        raise DataError(f"{path} must be readable", got="no permission") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def special_file(path: Path) -> str:
    """What stands at a path that is neither a file nor a folder, "" for these two; raises OSError."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return ""
    return "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def not_text(head: bytes) -> str:
    """Why the first bytes of a file are no text that can be read, "" where they may be."""
    if head.startswith(_UTF16_MARKS):
        return "UTF-16, not UTF-8"
    return "not text" if b"\0" in head else ""


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"{path} must be readable", got=error.strerror or str(error))


def read_lines(path: Path, *, bad: OnBad = stop, longest: int = -1) -> Iterator[Line]:
    """The lines of a UTF-8 file; lines longer than `longest` bytes come in parts.

    Raises DataError for an empty or binary file and a damaged archive; a line that is not UTF-8 goes to `bad`, with
    the byte at fault (counted from 0 in the uncompressed file).
    """
    with open_bytes(path) as handle:
        try:
            yield from _decoded(path, handle, bad, longest)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                f"{path} must be a whole gzip file", got=f"a damaged one ({error})", do="fetch or compress it again"
            ) from None
        except OSError as error:  # a disk or a network that fails
            raise _unreadable(path, error) from None


def _decoded(path: Path, handle: BinaryIO, bad: OnBad, longest: int) -> Iterator[Line]:
    number, byte, held, whole = 1, 0, b"", True
    while raw := handle.readline(longest):
        if byte == 0 and not held:
            _refuse_binary(path, raw, handle)
            if raw.startswith(_UTF8_MARK):
                raw, byte = raw[len(_UTF8_MARK) :], len(_UTF8_MARK)
        raw = held + raw
        whole = raw.endswith(b"\n")
        cut = len(raw) if whole else _last_boundary(raw)
        held, raw = raw[cut:], raw[:cut]
        try:
            yield Line(raw.rstrip(b"\r\n").decode("utf-8") if whole else raw.decode("utf-8"), number)
        except UnicodeDecodeError as error:
            bad(_not_utf8(path, number, byte + error.start, raw[error.start]))
        byte += len(raw)
        number += whole
    if held:
        bad(_not_utf8(path, number, byte, held[0]))
    if byte == 0:
        raise DataError(f"{path} must hold text", got="an empty file")


def _last_boundary(raw: bytes) -> int:
    """Where to cut a part of a line so that no character is cut in two: before an unfinished last character."""
    for back in range(1, min(4, len(raw)) + 1):
        lead = raw[-back]
        if lead >= 0xC0:
            needed = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return len(raw) - back if needed > back else len(raw)
        if lead < 0x80:
            break
    return len(raw)


def _not_utf8(path: Path, number: int, byte: int, value: int) -> DataError:
    return DataError(
        f"{path}, line {number} must be UTF-8 text",
        got=f"the byte 0x{value:02x} at byte {byte} of the file",
        do="convert the file to UTF-8",
    )


def _refuse_binary(path: Path, first: bytes, handle: BinaryIO) -> None:
    head = first
    if len(head) < _HEAD and handle.seekable():
        place = handle.tell()
        head += handle.read(_HEAD - len(head))
        handle.seek(place)
    if head.startswith(_UTF16_MARKS):
        raise DataError(f"{path} must be UTF-8 text", got="UTF-16", do="convert the file to UTF-8")
    if b"\0" in head:
        raise DataError(f"{path} must hold text", got=f"a binary file (a zero at byte {head.index(0)})")
