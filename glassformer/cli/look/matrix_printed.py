"""Words and numbers of the masked word activity matrix as lines of a terminal; and what the documents print:
glassformer matrix --guide, from score to weight, and the end of --post.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.base.lines import columns_of, label, padded, screen_width, wrapped
from glassformer.bundled.texts import notes_about
from glassformer.cli.terminal.screen import record

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.bundled.texts import Note
    from glassformer.look.summaries.printed import Printed
    from glassformer.parts.activity import ActivityMatrix

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


def show_guide(size: int, *, notes: bool, html: Path | None, json: bool) -> None:
    """Both tables, as lines or as records; and in the page of the slides' run, where a slider sets the size."""
    from glassformer.look.summaries.printed import printed  # not at the top: --help must not import torch

    if html is not None:
        from glassformer.api.load import load
        from glassformer.bundled.texts import slides, slides_model

        trace = load(slides_model()).trace([sentence.masked for sentence in slides().sentences])
        trace.to_html(html, place=f"#level=scene&scene=printed&options=size.{size}", overwrite=True)
    for count, each in enumerate(printed()):
        if json:
            record(_record(each, size), sys.stdout)
        else:
            print(*[""] * bool(count), *_lines(each, size, screen_width()), sep="\n")
    if notes and not json:
        print_notes(notes_about("verb.guide"))


def _record(each: Printed, size: int) -> dict[str, Any]:
    from glassformer.look.summaries.printed import shared_out

    scaled, weights = shared_out(each.scores, size)
    own = {"document": each.document, "queries": each.queries, "keys": each.keys, "size": size, "scores": each.scores}
    made = {"scaled": scaled.tolist(), "weights": weights.tolist()}
    return {**own, **made, "printed": each.weights, "printed_sums": each.sums, "rows_not_summing_to_1": each.wrong}


def _lines(each: Printed, size: int, width: int) -> Iterator[str]:
    import torch

    from glassformer.look.summaries.printed import shared_out

    scaled, weights = shared_out(each.scores, size)
    root = digits(math.sqrt(size))
    yield f"{' '.join(each.keys)} ({each.document})"
    yield "1. scores: query · key, as printed"
    yield from table(each.queries, each.keys, torch.tensor(each.scores), width)
    yield from ("", f"2. scaled: scores / √{size} = scores / {root}")
    yield from table(each.queries, each.keys, scaled, width)
    yield from ("", *wrapped("3. weights: softmax of each row; each row sums to 1", width, rest=3))
    yield from table(each.queries, each.keys, weights, width)
    marks = [
        f"sum {digits(total)}{', not 1 (C-30)' if row in each.wrong else ''}" for row, total in enumerate(each.sums)
    ]
    yield from ("", "4. weights as printed")
    yield from table(each.queries, each.keys, torch.tensor(each.weights, dtype=torch.float64), width, marks)
    if each.reversed is not None:
        row, one, other = each.reversed
        (higher, lower), (less, more) = [[of[row][at] for at in (one, other)] for of in (each.scores, each.weights)]
        yield from flowing(
            f"{each.queries[row]} → {each.keys[one]} has a larger score than → {each.keys[other]} ({higher:g} > "
            f"{lower:g}) and a smaller printed weight ({less} < {more}): no size gives this table.",
            width,
        )


def against_the_post(matrices: Sequence[ActivityMatrix], width: int) -> Iterator[str]:
    """Which of the post's printed numbers are those of these matrices of its printed vectors."""
    import torch

    from glassformer.bundled.texts import quick_brown_fox

    post, found = quick_brown_fox(), matrices[0]
    same = [(each.reading, int((each.result == torch.tensor(post.matrix)).sum())) for each in matrices]
    cells = ", ".join(f"{count} of {found.result.numel()} in reading {reading}" for reading, count in same)
    yield from ("", *wrapped("9. what the post prints, compared with these numbers", width, rest=3))
    yield from flowing(f"its result, the identity: the same cells are {cells}", width)
    for name, vector in (("first", post.first_pair_vectors), ("second", post.second_pair_vectors)):
        apart = (found.pairs - torch.tensor(vector)).abs().amax(dim=1)  # [Q]
        row, least = int(apart.argmin()), float(apart.min())
        is_row = f"row {row} of the pairs, to {least:.4f}"
        is_none = f"no row of the pairs, the nearest is {least:.2f} away: another run (C-28)"
        yield from flowing(
            f"its {name} pair_vectors, {digits(vector[0])} …: {is_row if least < 1e-3 else is_none}", width
        )
