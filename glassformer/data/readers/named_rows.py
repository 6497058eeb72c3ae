"""Rows of formats that name their columns: JSON lines and Parquet."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from glassformer.base.errors import DataError, MissingColumnError, did_you_mean
from glassformer.base.json_text import parse_json
from glassformer.data.readers.lines import (
    LONGEST_LINE,
    OnBad,
    failing,
    is_zipped,
    open_bytes,
    read_lines,
    stop,
    too_long,
)

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

# The most columns that an error names, and the most characters of each.
_MOST_COLUMNS, _LONGEST_NAME = 20, 40
# Rows of a Parquet file that are in memory together, and their bytes where each row has the longest text: it may be a
# book, which the file stores once for all rows.
_TOGETHER, _AT_ONCE = 64, 128 << 20
# A row group of more bytes than these in a file that is this many times smaller is made to fill the memory.
_LARGE, _TIMES_SMALLER = 64 << 20, 200
COLUMN_OPTIONS = (
    "--text-column", "--pair-column", "--choices-column", "--label-column", "--answers-column", "--target-column",
)  # fmt: skip
"""The options that name columns, of all verbs that read tables."""
# What to do where a table has no column of the name that is looked for.
NAME_IT = f"name the column with {COLUMN_OPTIONS[0]} (where a command reads more: {', '.join(COLUMN_OPTIONS[1:])})"
_OR_NUMBER = " or give its number, counted from 0"


class Row(NamedTuple):
    """A row: values by column, its file and line for messages; `own`: the row as the file has it."""

    values: Mapping[str, object]
    where: str
    own: object = None


def json_rows(
    path: Path, columns: Sequence[str] = (), *, optional: Sequence[str] = (), bad: OnBad = stop
) -> Iterator[Row]:
    """Each line's object, with only `columns` and `optional` where some are given; a bad line goes to `bad`."""
    for line in read_lines(path, bad=bad):
        if line.text.strip():
            try:
                yield json_row(line.text, f"{path}, line {line.number}", columns, optional)
            except DataError as error:
                bad(error)


def json_row(line: str, where: str, columns: Sequence[str] = (), optional: Sequence[str] = ()) -> Row:
    try:
        values = parse_json(line)
    except ValueError as error:
        raise no_json(where, error).about(where, line) from None
    if not isinstance(values, dict):
        raise DataError(f"{where} must be a JSON object", got=type(values).__name__).about(where, values)
    if missing := [column for column in columns if column not in values]:
        raise no_column(where, missing[0], values).about(where, values)
    own = values
    if columns:
        values = {column: values[column] for column in [*columns, *(name for name in optional if name in values)]}
    # Only an escape can encode one, and few lines have escapes: the others need no second check.
    if "\\u" in line and (half := half_character(values)):
        raise DataError(f"{where} must be text", got=f"{half!r}, half of a character").about(where, line)
    return Row(values, where, own)


def no_json(where: str, error: ValueError) -> DataError:
    got = str(error).partition(";")[0]
    if isinstance(error, json.JSONDecodeError):
        got = f"an error at column {error.colno}: {error.msg.removesuffix(' at')}"
    return DataError(f"{where} must be JSON", got=got)


def half_character(values: object) -> str:
    """A surrogate without its other half, which JSON can encode, but no UTF-8 text; "" where there is none."""
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return str(error.object[error.start])
    return ""


def parquet_columns(path: Path) -> tuple[str, ...] | None:
    """The columns of a Parquet file, read from its end; None without rows. Raises DataError for a damaged file."""
    with _parquet_file(path) as table:
        return tuple(dict.fromkeys(table.schema_arrow.names)) if table.metadata.num_rows else None


def parquet_rows(
    path: Path, columns: Sequence[str] = (), *, optional: Sequence[str] = (), bad: OnBad = stop
) -> Iterator[Row]:
    """Rows with the named columns; those longer than LONGEST_LINE go to `bad`. Raises DataError."""
    with _parquet_file(path) as table:
        if missing := [column for column in columns if column not in table.schema_arrow.names]:
            raise no_column(str(path), missing[0], table.schema_arrow.names)
        several = [column for column in columns if table.schema_arrow.names.count(column) > 1]
        if several:
            raise named_twice(str(path), several[0])
        number = 0
        more = [name for name in optional if name in table.schema_arrow.names and name not in columns]
        read = [*columns, *more] if columns else None
        for group in range(table.num_row_groups):
            rows = _rows_together(table, group, path)
            for batch in table.iter_batches(batch_size=rows, row_groups=[group], columns=read, use_threads=False):
                each = [batch] if _held(batch) <= LONGEST_LINE else (_row(batch, at) for at in range(len(batch)))
                for piece in each:
                    if (size := _held(piece)) > LONGEST_LINE:
                        number += 1
                        bad(too_long(f"{path}, row {number}", size))
                        continue
                    for values in _in_python(piece, path):
                        number += 1
                        yield Row(values, f"{path}, row {number}", values)


def _rows_together(table: ParquetFile, group: int, path: Path) -> int:
    """How many rows of a row group may be in memory together; raises DataError for one that is made to fill it.

    The sizes of its columns are not looked at: Arrow ends the process where their description is damaged.
    """
    size, packed = table.metadata.row_group(group).total_byte_size, path.stat().st_size
    if size > _LARGE and size > _TIMES_SMALLER * packed:
        got = f"{size:,} bytes in a file of {packed:,}"
        raise DataError(f"{path} must hold rows of at most {LONGEST_LINE:,} bytes", got=got)
    return min(max(_AT_ONCE // max(size, 1), 1), _TOGETHER)


def _held(values: Any) -> int:
    """The bytes of a batch or an array, and 8 for each value in its lists: a null there has no bytes of its own."""
    inner = _inner(values)
    listed = sum(8 * len(each) for each in inner) if hasattr(values, "offsets") else 0
    return int(values.nbytes) + listed + sum(_held(each) for each in inner if hasattr(each, "flatten"))


def _inner(values: Any) -> list[Any]:
    """The columns of a batch, the fields of structs, the values of lists, the keys and items of maps."""
    if hasattr(values, "columns"):
        return list(values.columns)
    if hasattr(values, "keys"):  # of maps, which Arrow cannot flatten
        start, end = values.offsets[0].as_py(), values.offsets[-1].as_py()
        return [each.slice(start, end - start) for each in (values.keys, values.items)]
    found = values.flatten() if hasattr(values, "flatten") else []
    return found if isinstance(found, list) else [found]


def _row(batch: RecordBatch, at: int) -> RecordBatch:
    """One row, without the other values of a column that stores each once."""
    row = batch.slice(at, 1)
    plain = [each.dictionary_decode() if hasattr(each, "dictionary_decode") else each for each in row.columns]
    return type(batch).from_arrays(plain, names=batch.schema.names)


@contextmanager
def _parquet_file(path: Path) -> Iterator[ParquetFile]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    with tempfile.TemporaryFile() as unpacked, open_bytes(path) as handle:
        source = handle
        if is_zipped(path):  # Parquet is read from its end, which a gzip stream cannot do
            with failing(path):
                shutil.copyfileobj(handle, unpacked, 1 << 20)
            source = unpacked
        try:
            yield ParquetFile(source, buffer_size=1 << 16)
        except (ArrowException, OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path} must be a whole Parquet file", got=str(error).splitlines()[0]) from None


def _in_python(batch: RecordBatch, path: Path) -> list[dict[str, object]]:
    try:
        return batch.to_pylist()
    except UnicodeDecodeError:  # damage, and a ValueError too
        raise
    except (ValueError, OverflowError) as error:
        raise DataError(
            f"{path} must hold dates and times that Python has",
            got=str(error).splitlines()[0],
            do="write that column as text",
        ) from None


def named_twice(where: str, column: str) -> DataError:
    return DataError(f"{where} must name each column once", got=f"{column!r} twice", do="rename one of them")


def no_column(where: str, column: str, known: Collection[str], *, numbered: bool = False) -> MissingColumnError:
    """The error of a table without a column; `numbered`: its columns have numbers too."""
    names = list(islice(known, _MOST_COLUMNS))
    named = [name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…" for name in names]
    more = f" and {len(known) - len(named):,} more" if len(known) > len(named) else ""
    near = did_you_mean(column, names)
    if alike := next((name for name in names if normalize("NFC", name) == normalize("NFC", column)), None):
        near = f"it is {alike!a} there, in another Unicode form: copy the name from the file"
    return MissingColumnError(
        f"{where} must have a column {column[:_LONGEST_NAME]!r}",
        got=f"columns {', '.join(named)}{more}",
        do="; ".join(filter(None, (near, NAME_IT + (_OR_NUMBER if numbered else "")))),
    )
