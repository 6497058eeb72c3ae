"""Lines of a text file with their numbers and bytes; `.gz` is decompressed."""

import gzip
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar, cast

from glassformer.base.errors import DataError

# The bytes of a file that are enough to tell text from pictures, archives and programs.
_HEAD = 8192
# The bytes of the longest line or row that is read of any format: *War and Peace* has 3 MB.
LONGEST_LINE = 4 << 20
# Lines are read in parts of this size, so that a file of one huge line is never in memory as a whole.
_BLOCK = 1 << 20
# Beginnings of files in other encodings; that of UTF-32 begins like one of UTF-16.
_MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
UTF8_MARK = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line without its `end`; `number` counts from 1. A very long line may come in parts with the same number."""

    text: str
    number: int
    end: str = "\n"


# What to do with a row that cannot be used: `stop`, or count it and go on (`Skipped`).
OnBad = Callable[[DataError], None]


def stop(error: DataError, *, left_out_by: str = "") -> None:
    error.left_out_by = left_out_by or error.left_out_by
    raise error


def stop_unless(setting: str) -> OnBad:
    """`stop`, where `[data]` has a setting by which such rows are left out."""
    return partial(stop, left_out_by=setting)


class First:
    """Goes on after bad rows; `error` is the first."""

    error: DataError | None = None

    def __call__(self, error: DataError) -> None:
        self.error = self.error or error


class Skipped:
    """Counts bad rows, and files that could not be read to their end (`files`), and keeps the first few messages."""

    def __init__(self, keep: int = 5) -> None:
        self.count = self.files = 0
        self.first: list[str] = []
        self._keep = keep

    def __call__(self, error: DataError) -> None:
        self.count += 1
        self.files += error.ends
        if len(self.first) < self._keep:
            self.first.append(str(error))

    @property
    def sentence(self) -> str:
        return left_out(self.count, self.files, self.first[0])


def left_out(count: int, files: int, first: str) -> str:
    """The note about skipped rows and files (`files` of `count`), with one message."""
    rows = count - files
    skipped = [f"{rows:,} bad row{'' if rows == 1 else 's'}"] * bool(rows)
    skipped += [f"the unreadable rest of {files:,} file{'' if files == 1 else 's'}"] * bool(files)
    return f"{' and '.join(skipped)} {'was left out' if count == 1 else 'were left out, one of them'}: {first}"


Read = TypeVar("Read")


def of_each(files: Sequence[Path], read: Callable[[Path], Iterator[Read]], bad: OnBad) -> Iterator[Read]:
    """What `read` gives of each file; one that cannot be read goes to `bad`; if none can, the first error is raised."""
    some, first = False, None
    for path in files:
        try:
            for each in read(path):
                some = True
                yield each
        except DataError as error:
            if len(files) == 1 and not some:
                raise
            first = error if first is None else first
            error.ends = True
            bad(error if error.where else error.about(str(path), None))
    if first is not None and not some:
        raise first


def is_zipped(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def plain_suffix(path: Path) -> str:
    """The suffix that shows the kind of file, without .gz."""
    return (Path(path.stem) if is_zipped(path) else path).suffix.lower()


def open_bytes(path: Path) -> BinaryIO:
    """A file's bytes, uncompressed. Raises DataError when it is missing, no file, or may not be read."""
    try:
        if kind := special_file(path):  # before it is opened: opening a pipe without a writer would block forever
            raise DataError(f"a file is needed at {path}", got=kind)
        return cast(BinaryIO, gzip.open(path, "rb")) if is_zipped(path) else path.open("rb")
    except FileNotFoundError:
        raise DataError(f"a file is needed at {path}", got="no such file") from None
    except IsADirectoryError:
        raise DataError(f"a file is needed at {path}", got="a folder") from None
    except PermissionError:
        raise DataError(f"cannot read {path}", got="no permission") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def special_file(path: Path) -> str:
    """The kind of a path that is neither a file nor a folder, "" for these two; raises OSError."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return ""
    return "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def not_text(head: bytes) -> str:
    """Why the first bytes of a file are not readable text, "" where they may be."""
    if encoding := _other_encoding(head):
        return f"{encoding}, not UTF-8"
    return "not text" if b"\0" in head else ""


def _other_encoding(head: bytes) -> str:
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), "")


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"cannot read {path}", got=error.strerror or str(error))


def read_lines(path: Path, *, bad: OnBad = stop, longest: int | None = None) -> Iterator[Line]:
    """The lines of a UTF-8 file. With `longest`, lines of more bytes come in parts; else at most LONGEST_LINE is kept.
    Raises DataError for an empty or binary file and a damaged archive; a longer line, and one that is not UTF-8 or has
    a zero byte, goes to `bad`, the latter with the byte at fault (counted from 0 in the uncompressed file). Reading
    takes 5 times the memory of the longest line at most.
    """
    with open_bytes(path) as handle, failing(path):
        yield from _in_parts(path, handle, bad, longest) if longest else _in_one(path, handle, bad)


def decoded_head(path: Path, size: int) -> tuple[str, bool]:
    """The first `size` bytes of a text file, and whether they are all; raises DataError for a binary or damaged one."""
    with open_bytes(path) as handle, failing(path):
        head = handle.read(size)
        whole = not handle.read(1)
    _refuse_binary(path, head)
    head = head.replace(b"\r", b"\n") if ends_in_returns(head) else head
    return head.decode("utf-8-sig", errors="replace"), whole


@contextmanager
def failing(path: Path) -> Iterator[None]:
    """Inside, errors in the middle of a file are raised as a DataError."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{path} must be a whole gzip file", got=f"a damaged one ({error})", do="fetch or compress it again"
        ) from None
    except OSError as error:  # a disk or a network that fails
        raise _unreadable(path, error) from None


def _in_one(path: Path, handle: BinaryIO, bad: OnBad) -> Iterator[Line]:
    number, byte, size = 1, 0, 0
    parts: list[bytes] = []
    for part in line_parts(path, handle, _BLOCK):
        size += len(part)
        if size <= LONGEST_LINE:
            parts.append(part)
        else:
            parts.clear()
        if not part.endswith(b"\n"):
            continue
        yield from _line(path, parts, number, byte, size, bad)
        number, byte, size = number + 1, byte + size, 0
    if size:
        yield from _line(path, parts, number, byte, size, bad)


def _line(path: Path, parts: list[bytes], number: int, byte: int, size: int, bad: OnBad) -> Iterator[Line]:
    """The line made of these parts; empties the list, so that its bytes are not kept in memory with its text."""
    if size > LONGEST_LINE:
        bad(too_long(f"{path}, line {number}", size))
        return
    raw = b"".join(parts)
    parts.clear()
    mark = len(UTF8_MARK) if byte == 0 and raw.startswith(UTF8_MARK) else 0
    end = len(raw.rstrip(b"\r\n"))
    text = decoded(raw[mark:end], f"{path}, line {number}", byte + mark, bad)
    if text is not None:
        yield Line(text, number, raw[end:].decode() or "\n")


def too_long(where: str, size: int) -> DataError:
    """The error for a line or row with too many bytes."""
    return DataError(f"{where} must be of at most {LONGEST_LINE:,} bytes", got=f"{size:,}", do="divide it").about(
        where, None
    )


def decoded(raw: bytes, where: str, byte: int, bad: OnBad) -> str | None:
    """The text of a line or a part of one that begins at this byte of its file; one that is not text goes to `bad`."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        bad(_no_text(where, byte + error.start, raw[error.start]))
        return None
    if "\0" in text:
        bad(_no_text(where, byte + raw.index(0), 0))
        return None
    return text


def _in_parts(path: Path, handle: BinaryIO, bad: OnBad, longest: int) -> Iterator[Line]:
    number, byte, held, whole = 1, 0, b"", True
    for raw in line_parts(path, handle, longest):
        if byte == 0 and not held and raw.startswith(UTF8_MARK):
            raw, byte = raw[len(UTF8_MARK) :], len(UTF8_MARK)
        raw = held + raw
        whole = raw.endswith(b"\n")
        cut = len(raw) if whole else _last_boundary(raw)
        held, raw = raw[cut:], raw[:cut]
        text = decoded(raw.rstrip(b"\r\n") if whole else raw, f"{path}, line {number}", byte, bad)
        if text is not None:
            yield Line(text, number)
        byte += len(raw)
        number += whole
    if held:
        bad(_no_text(f"{path}, line {number}", byte, held[0]))


def line_parts(path: Path, handle: BinaryIO, longest: int) -> Iterator[bytes]:
    """Lines with their ends, in parts of at most `longest` bytes; the first part is checked for binary content."""
    head = handle.readline(longest)
    if not head:
        raise DataError(f"{path} must hold text", got="an empty file")
    more = b""
    if len(head) < _HEAD and handle.seekable():
        place = handle.tell()
        more = handle.read(_HEAD - len(head))
        handle.seek(place)
    _refuse_binary(path, head + more)
    del more
    if ends_in_returns(head):
        yield from _between_returns(head, handle, longest)
        return
    yield head
    del head
    while part := handle.readline(longest):
        yield part


def ends_in_returns(head: bytes) -> bool:
    """Whether the beginning of a file has lines that end in a carriage return alone, as on an old Macintosh."""
    return b"\n" not in head and b"\r" in head


def _between_returns(head: bytes, handle: BinaryIO, longest: int) -> Iterator[bytes]:
    """The parts of such a file, its lines ending as all others do."""
    held, chunk = b"", head
    while chunk:
        *lines, held = (held + chunk).replace(b"\r", b"\n").splitlines(keepends=True)
        yield from lines
        if held.endswith(b"\n") or len(held) >= longest:
            yield held
            held = b""
        chunk = handle.read(longest - len(held))
    if held:
        yield held


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


_CONVERT = (
    "convert the whole file to UTF-8: in Excel save it as CSV UTF-8, else iconv -f ENCODING -t UTF-8 FILE, where "
    "ENCODING is the file's: WINDOWS-1252 (Western Europe), WINDOWS-1251 (Cyrillic), GB18030 (Chinese), SHIFT_JIS "
    "(Japanese), …"
)


def _no_text(where: str, byte: int, value: int) -> DataError:
    return DataError(
        f"{where} must be UTF-8 text",
        got=f"the byte 0x{value:02x} at byte {byte} of the file",
        do=_CONVERT if value else "text has no zero bytes: check whether the file is whole",
    ).about(where, None)


def _refuse_binary(path: Path, head: bytes) -> None:
    if encoding := _other_encoding(head):
        raise DataError(f"{path} must be UTF-8 text", got=encoding, do="convert the file to UTF-8")
    if head.startswith(b"PK\x03\x04"):
        do = "save the sheet as CSV (UTF-8), or unpack the archive"
        raise DataError(f"{path} must hold text", got="an Excel workbook or a zip archive", do=do)
    if b"\0" in head[:_HEAD]:
        raise DataError(f"{path} must hold text", got=f"a binary file (a zero at byte {head.index(0)})")
