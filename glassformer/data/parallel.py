"""Two files of which line n of one is the translation of line n of the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from glassformer.data.lines import Line, OnBad, read_lines, stop
from glassformer.errors import DataError


class LinePair(NamedTuple):
    """Line `number` of both files."""

    source: str
    target: str
    number: int


def parallel_lines(source: Path, target: Path, *, bad: OnBad = stop) -> Iterator[LinePair]:
    """The lines of both files side by side, without those that are blank in both; `.gz` is decompressed.

    A line that cannot be read goes to `bad`, and the pair is left out. Raises DataError for files that cannot be read,
    and at the end for files of which one has more lines than the other.
    """
    left, right = read_lines(source, bad=bad), read_lines(target, bad=bad)
    one, two = next(left, None), next(right, None)
    while one is not None and two is not None:
        if one.number == two.number and (one.text.strip() or two.text.strip()):
            yield LinePair(one.text, two.text, one.number)
        behind = min(one.number, two.number)
        one, two = (
            (next(left, None) if one.number == behind else one),
            (next(right, None) if two.number == behind else two),
        )
    if one is not None:
        raise _unequal(source, target, one, left)
    if two is not None:
        raise _unequal(target, source, two, right)


def _unequal(longer: Path, shorter: Path, first: Line, rest: Iterator[Line]) -> DataError:
    """`first` is the first line of the longer file that has no partner."""
    count = first.number
    for line in rest:
        count = line.number
    return DataError(
        "parallel files must have as many lines as each other",
        got=f"{count:,} in {longer} and {first.number - 1:,} in {shorter}: line {first.number:,} of the longer, "
        f"{first.text.strip()[:60]!r}, has no translation",
        do="check that each line of one file is translated by the line of the same number in the other",
    )
