"""Records of tables with delimiters between cells: lines that are split, or quoted as in CSV (RFC 4180)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from glassformer.base.errors import DataError
from glassformer.data.readers.lines import LONGEST_LINE, Line, OnBad, read_lines, stop

Record = tuple[int, list[str]]


def split_records(path: Path, delimiter: str, *, bad: OnBad = stop) -> Iterator[Record]:
    """The number of each line that is not blank, and its cells; quotes are ordinary characters."""
    for line in read_lines(path, bad=bad):
        if line.text.strip():
            yield line.number, line.text.split(delimiter)


def quoted_records(path: Path, delimiter: str, *, bad: OnBad = stop) -> Iterator[Record]:
    """The line where each record begins, and its cells, which may hold delimiters, line ends and doubled quotes. Raises
    DataError for a quote that is never closed; other wrong quotes go to `bad`.
    """
    lines = _Numbered(path, read_lines(path, bad=bad))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.first = 0
        # The csv module has one limit for the whole process: it is changed only while a record is read.
        limit = csv.field_size_limit(LONGEST_LINE)
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if lines.ended:
                raise lines.never_closed("none before the end of the file") from None
            where = f"{path}, line {lines.first}"
            bad(DataError(f"{where} must be quoted as CSV is", got=_plainly(error)).about(where, None))
            continue
        finally:
            csv.field_size_limit(limit)
        if len(cells) > 1 or "".join(cells).strip():
            yield lines.first, cells


def _plainly(error: csv.Error) -> str:
    return "a carriage return outside quotes" if "new-line" in str(error) else str(error)


class _Numbered:
    """Lines for csv.reader, which asks for more until a record is whole; `first` is the record's first line."""

    def __init__(self, path: Path, lines: Iterator[Line]) -> None:
        self.first, self.ended = 0, False
        self._path, self._lines = path, lines
        self._size, self._open, self._opened = 0, False, 0

    def __iter__(self) -> _Numbered:
        return self

    def __next__(self) -> str:
        line = next(self._lines, None)
        if line is None:
            self.ended = self.first > 0
            raise StopIteration
        if self.first == 0:
            self.first, self._size, self._open = line.number, 0, False
        self._size += len(line.text) + 1
        if line.text.count('"') % 2:
            self._open = not self._open
            self._opened = line.number if self._open else self._opened
        if self._size > LONGEST_LINE:
            raise self.never_closed(f"none in {LONGEST_LINE:,} characters")
        return line.text + "\n"

    def never_closed(self, got: str) -> DataError:
        where = self._opened if self._open else self.first
        return DataError(
            f"{self._path}, line {where}: a quoted field must end with a quote",
            got=got,
            do="close it, or leave this file out",
        )
