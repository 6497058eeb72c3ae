"""Reading tables of any format: delimited text, JSON lines, Parquet, CoNLL, SQuAD's JSON, and `.gz`."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from glassformer.base.errors import DataError, MissingColumnError
from glassformer.data.readers.conll import conll_rows
from glassformer.data.readers.lines import LONGEST_LINE, Line, OnBad, read_lines, stop
from glassformer.data.readers.named_rows import NAME_IT, Row, json_rows, named_twice, no_column, parquet_rows
from glassformer.data.readers.squad import squad_rows
from glassformer.data.readers.table_format import (
    DELIMITERS,
    TableFormat,
    find_format,
    is_number,
    names_columns,
    table_kind,
)

Record = tuple[int, list[str]]


def split_records(path: Path, delimiter: str, *, bad: OnBad = stop) -> Iterator[Record]:
    """The number of each line that is not blank, and its cells; quotes are ordinary characters."""
    blank = _BlankRows()
    for line in read_lines(path, bad=bad):
        if line.text.strip():
            yield from blank.before_a_row()
            yield line.number, line.text.split(delimiter)
        else:
            blank.add(line.number, line.text.count(delimiter) + 1)


def quoted_records(path: Path, delimiter: str, *, bad: OnBad = stop) -> Iterator[Record]:
    """The line and the cells of each record with quotes that is not blank. Raises DataError for one that is never
    closed.
    """
    blank = _BlankRows()
    lines = _Numbered(path, read_lines(path, bad=bad))
    reader, count = csv.reader(lines, delimiter=delimiter, strict=True), 0
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
        written, count = "".join(cells), count or len(cells)
        # With one delimiter fewer than cells, empty quotes are what is more.
        full = len(cells) > 1 or count == len(cells) == 1  # a row that has its cells
        if written.strip() or (full and lines.size >= len(written) + len(cells)):
            yield from blank.before_a_row()
            yield lines.first, cells
        else:
            blank.add(lines.first, len(cells))


class _BlankRows:
    """Rows of delimiters alone. A spreadsheet may write a million of them before its first row and after its last one:
    these are left out. Between two rows they keep their place, so that answers stand at the rows of their texts.
    """

    def __init__(self) -> None:
        self._begun, self._waiting = False, array("q")  # for each row its line and the number of its cells

    def add(self, line: int, cells: int) -> None:
        if self._begun and cells > 1:
            self._waiting.extend((line, cells))

    def before_a_row(self) -> Iterator[Record]:
        waiting, self._waiting, self._begun = self._waiting, array("q"), True
        for line, cells in zip(waiting[::2], waiting[1::2], strict=True):
            yield line, [""] * cells


def _plainly(error: csv.Error) -> str:
    return "a carriage return outside quotes" if "new-line" in str(error) else str(error)


class _Numbered:
    """Lines for csv.reader, which asks for more until a record is whole; `first` is the record's first line, `size` its
    characters without the last line end, which has `end`.
    """

    def __init__(self, path: Path, lines: Iterator[Line]) -> None:
        self.first, self.ended = 0, False
        self._path, self._lines = path, lines
        self.size, self.end, self._open, self._opened = 0, 0, False, 0

    def __iter__(self) -> _Numbered:
        return self

    def __next__(self) -> str:
        line = next(self._lines, None)
        if line is None:
            self.ended = self.first > 0
            raise StopIteration
        if self.first == 0:
            self.first, self.size, self.end, self._open = line.number, 0, 0, False
        if line.text.count('"') % 2:
            self._open = not self._open
            self._opened = line.number if self._open else self._opened
        self.size += len(line.text) + self.end  # with the end of the line before
        self.end = len(line.end)
        if self.size > LONGEST_LINE:
            raise self.never_closed(f"none in {LONGEST_LINE:,} characters")
        return line.text + line.end

    def never_closed(self, got: str) -> DataError:
        where = self._opened if self._open else self.first
        return DataError(
            f"{self._path}, line {where}: a quoted field must end with a quote",
            got=got,
            do="close it, or leave this file out",
        )


# The column of a role, or several whose cells belong together.
Columns = str | tuple[str, ...]

# After so many rows of a JSONL file without a column, the file is taken not to have it.
_ROWS_LOOKED_AT = 20


def read_table(
    path: str | Path,
    columns: Sequence[str] = (),
    *,
    optional: Sequence[str] = (),
    format: TableFormat | None = None,
    bad: OnBad = stop,
) -> Iterator[Row]:
    """The rows of a table, their values by the names in `columns`, and in `optional` where it has such a column; all
    columns where `columns` is empty.

    A column is a name of the header or, except in JSON lines and Parquet, a number: "0" is the first. A row of CoNLL is
    a sentence, with the columns of `conll_rows`. `format` is how
    the table is written, by default detected by `find_format`. A row takes at most 30 times the memory of its bytes,
    which are at most LONGEST_LINE. Raises MissingColumnError for a missing column ("did you mean"), and DataError for
    one that the header names twice and for a file that cannot be read; a row that cannot be used goes to `bad`.
    """
    path = Path(path)
    kind = table_kind(path)
    if kind == "conll":
        yield from conll_rows(path, columns, bad=bad)
        return
    if names_columns(path):
        if numbers := [column for column in columns if is_number(column)]:
            raise MissingColumnError(f"{path} needs columns by name", got=f"the number {numbers[0]}", do=NAME_IT)
        read = {"parquet": parquet_rows, "jsonl": json_rows}.get(kind or "", squad_rows)
        yield from read(path, columns, optional=optional, bad=bad)
        return
    format = find_format(path, columns) if format is None else format
    records = (quoted_records if format.quoted else split_records)(path, format.delimiter, bad=bad)
    number, names = next(records, (0, []))
    if not names:
        raise DataError(f"{path} must hold rows", got="none")
    if not format.header:
        records = chain([(number, names)], records)
        names = list(format.columns)
    alone = format.header and len(set(names)) == len(names)  # else the cells of a row are not known by their names
    asked = [*columns, *(each for each in optional if format.header and names.count(each) == 1)] if columns else names
    places = [_column_index(column, names, f"{path}, line {number}", format.header) for column in asked]
    for line, cells in records:
        where = f"{path}, line {line}"
        if len(cells) != len(names):
            signed = f"{where} must have as many cells between {DELIMITERS.get(format.delimiter, 'delimiter')}s as"
            do = "quote texts that have one" if format.quoted else ""
            error = DataError(f"{signed} the first row, {len(names)}", got=str(len(cells)), do=do)
            bad(error.about(where, cells))
        else:
            values = {column: cells[place] for column, place in zip(asked, places, strict=True)}
            yield Row(values, where, dict(zip(names, cells, strict=True)) if alone else cells)


def names_of(columns: Mapping[str, Columns]) -> tuple[str, ...]:
    return tuple(name for of in columns.values() for name in ([of] if isinstance(of, str) else of))


def named(columns: Mapping[str, Columns], usual: Mapping[str, Columns]) -> dict[str, Columns]:
    """Columns for a table that names them: in place of numbers the usual ones, else those called as their role."""
    numbered = {role for role, of in columns.items() if all(map(is_number, names_of({role: of})))}
    return {role: usual.get(role, role) if role in numbered else of for role, of in columns.items()}


def by_role(values: Mapping[str, object], columns: Mapping[str, Columns]) -> dict[str, object]:
    """The values of a row by role: a cell, or a tuple of the cells where a role has several columns."""
    return {
        role: values[of] if isinstance(of, str) else tuple(values[name] for name in of) for role, of in columns.items()
    }


def _column_index(column: str, names: list[str], where: str, header: bool) -> int:
    if header and names.count(column) > 1:
        raise named_twice(where, column)
    if header and not is_number(column) and column in names:
        return names.index(column)
    if not is_number(column):
        raise no_column(where, column, names, numbered=True)
    if int(column) >= len(names):
        raise MissingColumnError(
            f"{where} must have a column {column}",
            got=f"{len(names):,} columns",
            do=f"the first column is number 0; {NAME_IT}",
        )
    return int(column)


def lacks_column(path: Path, column: str) -> bool:
    """Whether a table has no such column, judging by its first rows; False for a file that cannot be read."""
    missing: list[DataError] = []

    def count(error: DataError) -> None:
        if isinstance(error, MissingColumnError):
            missing.append(error)
            if len(missing) == _ROWS_LOOKED_AT:
                raise error

    try:
        return next(read_table(path, [column], bad=count), None) is None and bool(missing)
    except MissingColumnError:
        return True
    except DataError:
        return False
