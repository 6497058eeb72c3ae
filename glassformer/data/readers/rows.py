"""Reading tables of any format: delimited text, JSON lines, Parquet, CoNLL, SQuAD's JSON, and `.gz`."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from glassformer.base.errors import DataError, MissingColumnError
from glassformer.data.readers.conll import conll_rows
from glassformer.data.readers.delimited import quoted_records, split_records
from glassformer.data.readers.lines import OnBad, stop
from glassformer.data.readers.named_rows import NAME_IT, Row, json_rows, no_column, parquet_rows
from glassformer.data.readers.squad import squad_rows
from glassformer.data.readers.table_format import TableFormat, find_format, is_number, names_columns, table_kind

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
        if kind == "parquet":
            yield from parquet_rows(path, columns, optional=optional, bad=bad)
        elif kind == "jsonl":
            yield from json_rows(path, columns, optional=optional, bad=bad)
        else:
            yield from squad_rows(path, columns, optional=optional, bad=bad)
        return
    format = find_format(path, columns) if format is None else format
    records = (quoted_records if format.quoted else split_records)(path, format.delimiter, bad=bad)
    number, names = next(records, (0, []))
    if not names:
        raise DataError(f"{path} must hold rows", got="only blanks")
    if not format.header:
        records = chain([(number, names)], records)
        names = list(format.columns)
    asked = [*columns, *(each for each in optional if format.header and names.count(each) == 1)] if columns else names
    places = [_column_index(column, names, f"{path}, line {number}", format.header) for column in asked]
    for line, cells in records:
        where = f"{path}, line {line}"
        if len(cells) != len(names):
            error = DataError(f"{where} must have {len(names)} columns, as the first row has", got=str(len(cells)))
            bad(error.about(where, cells))
        else:
            values = {column: cells[place] for column, place in zip(asked, places, strict=True)}
            yield Row(values, where, dict(zip(names, cells, strict=True)) if format.header else cells)


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
        raise DataError(f"{where} must name each column once", got=f"{column!r} twice", do="rename one of them")
    if header and not is_number(column) and column in names:
        return names.index(column)
    if not is_number(column):
        raise no_column(where, column, names)
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
