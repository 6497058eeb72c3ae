"""Pairs of parallel data: two columns of a table, or the same lines of two files; `.gz` of each.

L lines
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from glassformer.base.errors import DataError
from glassformer.base.wrapping import in_one_line
from glassformer.data.readers.lines import OnBad, failing, line_parts, open_bytes, read_lines, stop
from glassformer.data.readers.named_rows import Row
from glassformer.data.readers.rows import Columns, names_of
from glassformer.data.readers.table_format import TableFormat, find_format, is_number, names_columns

if TYPE_CHECKING:  # numpy is imported where lines are compared: the settings of a translation need the names alone
    import numpy as np
    import numpy.typing as npt

SOURCE, TARGET = "source", "target"
# By role: what the columns are called where nothing else is said, and which they are where the table does not say so.
USUAL: Mapping[str, str] = MappingProxyType({"text": SOURCE, "target": TARGET})
_NUMBERS = {"text": "0", "target": "1"}
# The most columns that a note names, and characters of a name.
_NAMED, _LONGEST = 4, 30


def pair_columns(columns: Mapping[str, Columns], path: Path) -> Mapping[str, Columns]:
    """The columns by role: those asked for, or the first two where these are the usual ones and not all are named; of
    three columns or more the first two that have other cells than numbers. In JSON lines and Parquet, whose columns
    have no order, `text` where there is no `source`.
    """
    if any(USUAL.get(role) != column for role, column in columns.items()):
        return columns
    format = find_format(path, ("0",), header=True)
    if {*names_of(columns)} <= {*format.columns}:
        return columns
    if names_columns(path):
        return {**columns, "text": "text"} if SOURCE not in format.columns and "text" in format.columns else columns
    texts = [str(place) for place in range(len(format.columns)) if place not in format.numeric]
    places = texts if len(texts) >= len(columns) else [*_NUMBERS.values()]
    return {role: places[int(_NUMBERS[role])] for role in columns}


def unread_note(columns: Mapping[str, Columns], format: TableFormat, back: Collection[str] = ()) -> str:
    """Which columns of a table are source and target, and which others are not read, nor come `back` with the answers;
    "" where there are no others.
    """
    names = dict(zip(map(str, range(len(format.columns))), format.columns, strict=True))
    asked = names_of(columns)
    read = [column if column in format.columns else names.get(column, column) for column in asked]
    others = [in_one_line(column[:_LONGEST]) for column in format.columns if column not in {*read, *back}]
    if not others or not {*read} <= {*format.columns}:  # a missing column is refused where it is read
        return ""
    more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
    unread = f"not read: {', '.join(others[:_NAMED])}{more}"
    if read == [USUAL[role] for role in columns]:
        return unread
    several = len(read) > 1
    which = ("columns " if several else "column ") if all(map(is_number, read)) else ""
    which = "the first two columns, " if [*asked] == [*_NUMBERS.values()] else which
    roles = " and ".join(USUAL[role] for role in columns)
    header = "" if format.header else "no header; "
    return f"{header}{roles} {'are' if several else 'is'} {which}{' and '.join(read)}; {unread}"


_BLOCK = 1 << 20
# A place is named only where the pairs that it makes differ at most so much as lines that do not belong together: real
# captions differ 0.32 times as much with one gap, 0.52 times or more where lines are missing in several places. In
# files of fewer lines chance agrees as well.
_CLEARLY, _FEW = 0.45, 20
# A line so many times longer than its other side is as wrong as any longer one.
_WORST = 3.0


def read_parallel(source: str | Path, target: str | Path, *, bad: OnBad = stop) -> Iterator[Row]:
    """The pairs of two files, line by line. Raises DataError where their numbers of lines differ."""
    source, target = Path(source), Path(target)
    check_parallel(source, target)
    # A line that cannot be used is reported and left out, and so is the line of the same number on the other side.
    sides = [read_lines(path, bad=bad) for path in (source, target)]
    one, other = (next(side, None) for side in sides)
    while one is not None and other is not None:
        if one.number == other.number:
            yield Row({SOURCE: one.text, TARGET: other.text}, f"{source}, line {one.number}")
        gap = one.number - other.number
        if gap <= 0:
            one = next(sides[0], None)
        if gap >= 0:
            other = next(sides[1], None)


def check_parallel(source: Path, target: Path) -> None:
    """Raise DataError where the numbers of lines of two files differ, with the line where they part if found."""
    ours, theirs = _line_lengths(source), _line_lengths(target)
    if len(ours) == len(theirs):
        return
    longer, shorter = (source, target) if len(ours) > len(theirs) else (target, source)
    more = abs(len(ours) - len(theirs))
    at = parting_line(ours, theirs)
    where = (
        f"look at about line {at + 1:,}, where {longer} seems to have {_lines(more)} too many"
        if at is not None
        else f"{shorter} has {_lines(more)} too few; the lengths of the lines do not show where"
    )
    raise DataError(
        f"{source} and {target} must have the same number of lines", got=f"{len(ours):,} and {len(theirs):,}", do=where
    )


def _lines(number: int) -> str:
    return f"{number:,} line{'' if number == 1 else 's'}"


def parting_line(ours: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64]) -> int | None:
    """After how many lines two files diverge, from the lengths of their lines [L], [L']; None where it cannot be
    determined. Lines before it are paired from the beginning, lines after it from the end, and it is chosen so that the
    lengths of all pairs agree best (that translations have proportional lengths: Gale & Church 1993). It is returned
    where they then agree clearly better than lines that do not belong together.
    """
    import numpy as np

    if len(ours) > len(theirs):
        ours, theirs = theirs, ours
    count, more = len(ours), len(theirs) - len(ours)
    if count < _FEW or not more:
        return None
    one, other = np.log(ours + 1.0), np.log(theirs + 1.0)  # [L], [L + more]
    # The middle of all lines, of whatever pairs: it is the same before and after the place that is looked for.
    shift = np.median(other) - np.median(one)
    from_begin, from_end = (_unlike(one + shift, side) for side in (other[:count], other[more:]))  # [L] each
    cost = np.concatenate([[0.0], np.cumsum(from_begin - from_end)]) + from_end.sum()  # [L + 1]
    at = int(cost.argmin())
    unrelated = np.mean([_unlike(one + shift, np.roll(other, 3 * step)[:count]).mean() for step in range(1, 5)])
    return at if cost[at] / count < _CLEARLY * unrelated else None


def _unlike(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    import numpy as np

    return np.minimum(np.abs(one - other), np.log(_WORST))


def _line_lengths(path: Path) -> npt.NDArray[np.int64]:
    """The bytes of each line of a file, blank ones too; the last one may have no end. [L]"""
    import numpy as np

    found = array("q")
    held = 0
    with open_bytes(path) as handle, failing(path):
        for part in line_parts(path, handle, _BLOCK):
            held += len(part)
            if part.endswith(b"\n"):
                found.append(held - 1)
                held = 0
    if held:
        found.append(held)
    return np.array(found, np.int64)
