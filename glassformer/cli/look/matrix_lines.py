"""Words and numbers of the masked word activity matrix as lines of a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from glassformer.base.lines import columns_of, label, padded, screen_width, wrapped

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.bundled.texts import Note

LONGEST_WORD, _LEAST_WORD = 12, 7


def table(
    labels: Sequence[str], heads: Sequence[str], matrix: Tensor, width: int, marks: Sequence[str] = ()
) -> Iterator[str]:
    """A row of numbers for each label, followed by its mark; columns that do not fit form a further block."""
    rows = [[digits(value) for value in row] for row in matrix.tolist()]
    shown = [label(each, LONGEST_WORD) for each in labels]
    side = max(map(columns_of, shown))
    room = width - 2 - side - max(map(columns_of, marks), default=-2) - 2
    most = max(_LEAST_WORD, min(LONGEST_WORD, room // len(rows[0]) - 1))
    cell = max([*(len(text) for row in rows for text in row), min(max(map(columns_of, heads), default=0), most)])
    fitting = max(1, room // (cell + 1))
    for first in range(0, len(rows[0]), fitting):
        block = slice(first, first + fitting)
        if first:
            yield ""
        if heads:
            yield " ".join([" " * (side + 2), *(padded(label(head, cell), cell, right=True) for head in heads[block])])
        for name, row, mark in zip(shown, rows, marks or [""] * len(rows), strict=True):
            line = " ".join([f"  {padded(name, side)}", *(text.rjust(cell) for text in row[block])])
            yield f"{line}  {mark}".rstrip()


def digits(value: float) -> str:
    """As the post prints it: four decimals, a whole number without."""
    from glassformer.look.formulas.explanation import number

    whole = not math.isfinite(value) or value == int(value)
    return number(value) if whole or abs(value) >= 1e4 else f"{value:.4f}".replace("-", "−")


def flowing(text: str, width: int) -> Iterator[str]:
    return wrapped(text, width, first=3, rest=3)


def print_notes(notes: Iterable[Note]) -> None:
    for each in notes:
        print("", *flowing(f"Note {each}", screen_width()), sep="\n")
