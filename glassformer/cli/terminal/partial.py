"""Results of a long command that survive it: a stopped or killed command can continue after its last whole result.

While they are written, the results are in OUT.partial, and OUT.resume says what was asked and how far it has come: a
line of JSON with its own checksum, and two lines of fixed length, each with the number of whole results, their bytes
and the checksum of these. The first is of the last result, the second of what is known to be on the disk, some seconds
older: a machine that lost its power continues from it. At the end OUT.partial is renamed to OUT.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from glassformer.base.atomic import atomic_write, flush_one, lock, replace
from glassformer.base.errors import DataError, GlassformerError
from glassformer.base.json_text import check_seal, parse_json, sealed_json
from glassformer.base.outputs import not_left_here, refuse_another_request, written_by_another
from glassformer.base.paths import check_path, follow_links
from glassformer.base.wrapping import in_one_line
from glassformer.cli.terminal.outputs import TABLES, suffix_of, write_table

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Seconds after which the results are written to the disk itself.
_SYNC = 5.0
_SLOT = 64
_MADE_FOR = "glassformer --resume, format 1"


class Mark(NamedTuple):
    """How far a command has come: whole results, their bytes, and the CRC-32 of these."""

    results: int = 0
    size: int = 0
    checksum: int = 0

    def line(self) -> bytes:
        text = f"{self.results:>18} {self.size:>18} {self.checksum:08x}".encode()
        return (text + f" {zlib.crc32(text):08x}".encode()).ljust(_SLOT - 1) + b"\n"

    @staticmethod
    def read(line: bytes) -> Mark | None:
        text, _, own = line.rstrip().rpartition(b" ")
        if own != f"{zlib.crc32(text):08x}".encode():
            return None
        results, size, checksum = text.split()
        return Mark(int(results), int(size), int(checksum, 16))


class Answers:
    """Where results are written; here `whole` does nothing: all are kept or none. `done`: earlier results."""

    def __init__(self, handle: TextIO, done: int = 0) -> None:
        self.handle, self.done = handle, done

    def whole(self, count: int = 1) -> None:
        """The results that were just written are whole."""


class Partial(Answers):
    """Results that are kept up to the last whole one."""

    def __init__(self, handle: TextIO, raw: _Counted, state: io.FileIO, header: int, begin: Mark) -> None:
        super().__init__(handle, begin.results)
        self._raw, self._state, self._header, self._mark = raw, state, header, begin
        self._synced = time.monotonic()

    def whole(self, count: int = 1) -> None:
        self.handle.flush()
        self._mark = Mark(self._mark.results + count, self._raw.size, self._raw.checksum)
        self._write(0)
        if time.monotonic() - self._synced > _SYNC:
            os.fsync(self._raw.fileno())
            self._write(1)
            self._synced = time.monotonic()

    @property
    def results(self) -> int:
        return self._mark.results

    def _write(self, slot: int) -> None:
        self._state.seek(self._header + slot * _SLOT)
        self._state.write(self._mark.line())


class _Counted(io.FileIO):
    """A file with the size and the CRC-32 of what was written to it."""

    def __init__(self, path: Path, begin: Mark) -> None:
        super().__init__(path, "r+")
        self.truncate(begin.size)
        self.seek(begin.size)
        self.size, self.checksum = begin.size, begin.checksum

    def write(self, data: Buffer) -> int:
        view = memoryview(data).cast("B")
        written = super().write(view)
        self.size += written
        self.checksum = zlib.crc32(view[:written], self.checksum)
        return written


@contextmanager
def resumable(out: Path, request: Mapping[str, Any], *, resume: bool, inputs: Iterable[Path] = ()) -> Iterator[Partial]:
    """Inside, write the results; at the end they are in `out`, as a table where its name is that of one, a CSV file
    with the delimiter of the `inputs`. Results of a stopped command are kept, and `resume` continues them if the
    `request`, by name as JSON, is the same. Raises DataError for what cannot be written, is of another request or
    damaged, or is there without `resume`.
    """
    check_path(out, DataError)
    given, out = out, follow_links(out, DataError)
    partial, note = partial_files(out)
    for path in (partial, note):
        if path.exists() and not path.is_file():  # a pipe would be waited for without end
            raise not_left_here(path)
    written = None
    try:
        with _locked(note, out) as state:
            begin = _begin(state, partial, note, request, out, resume=resume)
            header = json.dumps(json.loads(sealed_json({"made_for": _MADE_FOR, "request": request}))).encode() + b"\n"
            state.seek(0)
            state.write(header + begin.line() + begin.line())
            state.truncate()
            os.fsync(state.fileno())
            partial.touch()
            raw = _Counted(partial, begin)
            with io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace") as handle:
                written = Partial(handle, raw, state, len(header), begin)
                yield written
            if (suffix := suffix_of(given)) in TABLES:
                with atomic_write(out) as draft, partial.open(encoding="utf-8") as lines:
                    write_table(lines, draft, suffix, inputs)
            else:
                flush_one(partial)
                replace(partial, out)
                flush_one(out.parent)
            _remove(note, partial)
        _remove(note)  # Windows removes no open file
    except OSError as error:
        kept = _kept(written, partial, note)
        raise DataError(
            f"cannot write results to {out}",
            got=error.strerror or str(error),
            do="what is written is kept: free disk space, then add --resume" if kept else "choose another path",
        ) from None
    except KeyboardInterrupt as stopped:
        if _kept(written, partial, note):
            assert written is not None
            stopped.add_note(f"{written.results:,} results are kept in {partial}")
        raise
    except GlassformerError:
        if written is not None and _kept(written, partial, note):
            print(in_one_line(f"the {written.results:,} results before that are kept in {partial}"), file=sys.stderr)
        raise


def _kept(written: Partial | None, partial: Path, note: Path) -> bool:
    """Whether there are results to go on from; files without any are removed, but nothing before they are ours."""
    if written is not None and not written.results:
        _remove(partial, note)
    return bool(written and written.results)


def partial_files(out: Path) -> tuple[Path, Path]:
    return out.with_name(f"{out.name}.partial"), out.with_name(f"{out.name}.resume")


def _locked(note: Path, out: Path) -> io.FileIO:
    """The file OUT.resume, locked; raises DataError when another command holds it."""
    while True:
        state = io.FileIO(os.open(note, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+")
        if not lock(state.fileno()):
            state.close()
            raise written_by_another(out, "results")
        with suppress(OSError):
            if os.path.samestat(os.fstat(state.fileno()), os.stat(note)):
                return state
        state.close()  # the command that held the lock has ended meanwhile, and has removed the file


def _begin(state: io.FileIO, partial: Path, note: Path, request: Mapping[str, Any], out: Path, *, resume: bool) -> Mark:
    """From where to go on; raises DataError where that is not possible, or was not asked for."""
    header, _, lines = state.readall().partition(b"\n")
    there = partial.exists()
    if not header and not there:
        return Mark()
    marks = [mark for place in (0, _SLOT) if (mark := Mark.read(lines[place : place + _SLOT]))]
    try:
        known = parse_json(header)
        check_seal(known)
        ours = bool(marks) and known.get("made_for") == _MADE_FOR
    except (ValueError, AttributeError):
        ours = False
    if not ours:
        if not header:
            _remove(note)  # this command has made it
        raise not_left_here(partial if there else note)
    if not there or not any(mark.results for mark in marks):  # stopped before its first result, or when all was done
        return Mark()
    count = f"{marks[0].results:,} results of a stopped command, in {partial}"
    if not resume:
        raise DataError(
            f"results for {out} must not replace those of another command",
            got=count,
            do="add --resume to continue with them, delete that file to start over, or choose another --out",
        )
    refuse_another_request(known["request"], request, partial)
    return _last_good(partial, marks)


def _last_good(partial: Path, marks: list[Mark]) -> Mark:
    """The farthest mark that the results agree with; the file is read once, in bounded memory."""
    total, size, good = 0, 0, None
    with partial.open("rb") as file:
        for mark in sorted(marks, key=lambda mark: mark.size):
            while size < mark.size and (chunk := file.read(min(1 << 22, mark.size - size))):
                total, size = zlib.crc32(chunk, total), size + len(chunk)
            if (size, total) == (mark.size, mark.checksum):
                good = mark
    if good is None or not good.results:
        raise not_left_here(partial)
    return good


def _remove(*paths: Path) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()
