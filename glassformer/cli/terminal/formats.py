"""The format of answers in a file, by its suffix: .jsonl, .csv, .tsv or .parquet; any other one holds text.

Answers are written as JSON lines, from which a table is made at the end, so that a stopped command can be resumed.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from pyarrow import DataType

TABLES = {".csv": ",", ".tsv": "\t", ".parquet": ""}
"""The suffix of a table, with its delimiter."""
RECORDS = (".jsonl", *TABLES)
_SURROGATE = re.compile(r"(?<!\\)\\ud[89a-f]", re.IGNORECASE)
# Rows that are in memory together.
_TOGETHER = 512


def suffix_of(path: Path) -> str:
    """The suffix by which the format of a file is chosen."""
    return path.suffix.lower()


def write_table(lines: TextIO, path: Path, suffix: str) -> None:
    """Write JSON lines as a table, a column for each name. A cell holds lists as JSON; Parquet has plain lists."""
    names = list({name: None for row in _rows(lines) for name in row})
    if suffix == ".parquet":
        _write_parquet(lines, path, names)
        return
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as handle:
        writer = csv.writer(handle, delimiter=TABLES[suffix], lineterminator="\n")
        writer.writerow(names)
        for row in _rows(lines):
            writer.writerow([_text(row[name]) if row.get(name) is not None else "" for name in names])


def _write_parquet(lines: TextIO, path: Path, names: Sequence[str]) -> None:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    kinds: dict[str, DataType | None] = dict.fromkeys(names, pa.null())  # None: JSON, as values are of several kinds
    for some in _some(lines):
        for name, known in kinds.items():
            kinds[name] = None if known is None else _kind(known, [row.get(name) for row in some])
    texts = {name for name, kind in kinds.items() if kind is None}
    schema = pa.schema([(name, pa.string() if kind in (None, pa.null()) else kind) for name, kind in kinds.items()])
    with ParquetWriter(path, schema) as writer:
        for some in _some(lines):
            rows = [{name: _text(of) if name in texts else of for name, of in row.items()} for row in some]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _kind(known: DataType, values: Sequence[object]) -> DataType | None:
    """The type of values with those before; None where there is none, and for objects."""
    import pyarrow as pa

    try:
        kind = pa.array(values).type
        schemas = [pa.schema([("", each)]) for each in (known, kind)]
        found = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowException, OverflowError):
        return None
    return None if "struct" in str(found) else found


def _text(value: object) -> str | None:
    return value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False)


def _rows(lines: TextIO) -> Iterator[dict[str, Any]]:
    lines.seek(0)
    # Lone surrogates are escapes in these lines; UTF-8 has none, so they stay escapes.
    yield from (json.loads(_SURROGATE.sub(r"\\\g<0>", line)) for line in lines)


def _some(lines: TextIO) -> Iterator[list[dict[str, Any]]]:
    rows = _rows(lines)
    while some := list(islice(rows, _TOGETHER)):
        yield some
