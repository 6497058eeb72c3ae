"""STUB until the reading branch is merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from glassformer.data.lines import OnBad, stop
from glassformer.data.rows import Row, read_rows


class TableFormat(NamedTuple):
    kind: str


def find_format(path: Path, columns: Sequence[str] = (), *, header: bool | None = None) -> TableFormat:
    return TableFormat(path.suffix)


def read_table(
    path: Path, columns: Sequence[str], *, format: TableFormat | None = None, bad: OnBad = stop
) -> Iterator[Row]:
    numbers = all(c.isdigit() for c in columns)
    asked = [str(int(c) + 1) for c in columns] if numbers else list(columns)
    for row in read_rows(path, *asked, bad=bad):
        yield Row({c: row.values[a] for c, a in zip(columns, asked)}, row.where)
