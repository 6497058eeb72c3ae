"""Rows of tables: JSONL, CSV, TSV and Parquet, each also as `.gz`."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from glassformer.data.lines import OnBad, is_zipped, open_bytes, read_lines, stop
from glassformer.errors import DataError, MissingColumnError, did_you_mean

# A quote that is never closed would swallow the rest of the file: refuse it long before the memory is full.
_LONGEST_QUOTE = 64 << 20
# So many rows of a JSONL file without a column tell that it has none.
_ROWS_LOOKED_AT = 20


class Row(NamedTuple):
    """One row: its values by column, and where it stands (file, line or row) for messages."""

    values: Mapping[str, object]
    where: str


def table_kind(path: Path) -> str | None:
    """`jsonl`, `csv`, `tsv` or `parquet` by the file's name, None for plain text."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    kind = suffixes[-1].removeprefix(".") if suffixes else ""
    return {"ndjson": "jsonl"}.get(kind, kind) if kind in {*_READERS, "ndjson"} else None


def read_rows(path: Path, *columns: str, bad: OnBad = stop) -> Iterator[Row]:
    """The rows of a table that hold at least `columns`.

    A file without a heading is read by numbers: column "1" is the first. In CSV a field may be quoted, in TSV quotes
    are ordinary signs. Raises DataError for a missing column ("did you mean"), for one that the heading names twice,
    and for a file that cannot be read; a row that cannot be used goes to `bad`.
    """
    kind = table_kind(path)
    if kind is None:
        raise DataError(f"{path} must be a table", got="another file", do="use .jsonl, .csv, .tsv or .parquet")
    yield from _READERS[kind](path, columns, bad)


def lacks_column(path: Path, column: str) -> bool:
    """Whether a table has no such column, as far as its first rows tell; a file that cannot be read may have it."""
    missing: list[DataError] = []

    def count(error: DataError) -> None:
        if isinstance(error, MissingColumnError):
            missing.append(error)
            if len(missing) == _ROWS_LOOKED_AT:
                raise error

    try:
        return next(read_rows(path, column, bad=count), None) is None and bool(missing)
    except MissingColumnError:
        return True
    except DataError:
        return False


def _jsonl(path: Path, columns: tuple[str, ...], bad: OnBad) -> Iterator[Row]:
    for line in read_lines(path, bad=bad):
        where = f"{path}, line {line.number}"
        if not line.text.strip():
            continue
        try:
            values = json.loads(line.text)
        except json.JSONDecodeError as error:
            bad(DataError(f"{where} must be JSON", got=f"{error.msg} at column {error.colno}"))
            continue
        except RecursionError:
            bad(DataError(f"{where} must be JSON", got="lists within lists, too deep to read"))
            continue
        except ValueError:
            bad(DataError(f"{where} must be JSON", got="a whole number of thousands of digits"))
            continue
        if not isinstance(values, dict):
            bad(DataError(f"{where} must be a JSON object", got=type(values).__name__))
        elif missing := [column for column in columns if column not in values]:
            bad(_no_column(where, missing[0], values))
        # Only an escape can name one, and few lines have any: the others are not written out a second time.
        elif "\\u" in line.text and (half := _half_character([values[column] for column in columns or values])):
            bad(DataError(f"{where} must be text", got=f"{half!r}, half of a character"))
        else:
            yield Row(values, where)


def _half_character(values: list[object]) -> str:
    """A surrogate without its other half, which JSON can name though no text can hold it; "" where there is none."""
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return str(error.object[error.start])
    return ""


def _csv(path: Path, columns: tuple[str, ...], bad: OnBad) -> Iterator[Row]:
    yield from _cells(path, columns, bad, _quoted_rows(path, bad))


def _tsv(path: Path, columns: tuple[str, ...], bad: OnBad) -> Iterator[Row]:
    rows = ((line.number, line.text.split("\t")) for line in read_lines(path, bad=bad) if line.text.strip())
    yield from _cells(path, columns, bad, rows)


def _cells(path: Path, columns: tuple[str, ...], bad: OnBad, rows: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    """Give cells their names: from the heading, or numbers where all the columns asked for are numbers."""
    number, heading = next(rows, (0, []))
    if not heading:
        raise DataError(f"{path} must hold rows", got="only blanks")
    if columns and all(column.isdigit() for column in columns) and not set(columns) <= set(heading):
        rows = chain([(number, heading)], rows)
        heading = [str(place + 1) for place in range(len(heading))]
    if missing := [column for column in columns if column not in heading]:
        raise _no_column(f"{path}, line {number}", missing[0], heading)
    if twice := [column for column in columns or heading if heading.count(column) > 1]:
        raise DataError(
            f"{path}, line {number} must name each column once", got=f"{twice[0]!r} twice", do="rename one of them"
        )
    for line, cells in rows:
        where = f"{path}, line {line}"
        if len(cells) != len(heading):
            bad(DataError(f"{where} must have {len(heading)} columns, as the first row has", got=str(len(cells))))
        else:
            yield Row(dict(zip(heading, cells, strict=True)), where)


def _quoted_rows(path: Path, bad: OnBad) -> Iterator[tuple[int, list[str]]]:
    """Rows of comma-separated values (RFC 4180): a quoted field may hold commas, line ends and doubled quotes."""
    lines = read_lines(path, bad=bad)
    for line in lines:
        text, opened = line.text, line.number
        if '"' not in text:
            if text.strip():
                yield opened, text.split(",")
            continue
        cells = _cut_quoted(text)
        parts, size = [text], len(text)
        while cells is None:
            more = next(lines, None)
            size += len(more.text) if more else 0
            if more is None or size > _LONGEST_QUOTE:
                raise DataError(
                    f"{path}, line {opened}: a quoted field must end with a quote",
                    got="none up to the end of the file" if more is None else f"none in {size:,} characters",
                )
            parts.append(more.text)
            if '"' in more.text:
                cells = _cut_quoted("\n".join(parts))
        yield opened, cells


def _cut_quoted(text: str) -> list[str] | None:
    """The fields of a row, None while a quoted field is still open."""
    cells, at = [], 0
    while True:
        if text.startswith('"', at):
            end = at + 1
            while True:
                end = text.find('"', end)
                if end < 0:
                    return None
                if not text.startswith('"', end + 1):
                    break
                end += 2
            rest = text.find(",", end)
            stop_at = len(text) if rest < 0 else rest
            cells.append(text[at + 1 : end].replace('""', '"') + text[end + 1 : stop_at])
        else:
            rest = text.find(",", at)
            stop_at = len(text) if rest < 0 else rest
            cells.append(text[at:stop_at])
        if rest < 0:
            return cells
        at = rest + 1


def _parquet(path: Path, columns: tuple[str, ...], bad: OnBad) -> Iterator[Row]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    with tempfile.TemporaryFile() as unpacked:
        handle = open_bytes(path)
        with handle:
            source = handle
            if is_zipped(path):  # Parquet is read from its end, which a gzip stream cannot do
                try:
                    shutil.copyfileobj(handle, unpacked, 1 << 20)
                except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                    raise DataError(f"{path} must be a whole gzip file", got=f"a damaged one ({error})") from None
                source = unpacked
            try:
                table = ParquetFile(source)
                if missing := [column for column in columns if column not in table.schema_arrow.names]:
                    raise _no_column(str(path), missing[0], table.schema_arrow.names)
                number = 0
                for batch in table.iter_batches(batch_size=1024, columns=list(columns) or None):
                    for values in batch.to_pylist():
                        number += 1
                        yield Row(values, f"{path}, row {number}")
            except (ArrowException, OSError, UnicodeDecodeError) as error:
                raise DataError(f"{path} must be a whole Parquet file", got=str(error).splitlines()[0]) from None


def _no_column(where: str, column: str, known: Mapping[str, object] | list[str]) -> DataError:
    return MissingColumnError(
        f"{where} must have a column {column!r}", got=f"columns {', '.join(known)}", do=did_you_mean(column, known)
    )


_READERS: dict[str, Callable[[Path, tuple[str, ...], OnBad], Iterator[Row]]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "tsv": _tsv,
    "parquet": _parquet,
}
