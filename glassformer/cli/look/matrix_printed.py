"""What the documents print: glassformer matrix --guide, from score to weight; and the end of --post."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.base.lines import screen_width, wrapped
from glassformer.bundled.texts import notes_about
from glassformer.cli.look.matrix_lines import digits, flowing, print_notes, table
from glassformer.cli.terminal.screen import record
from glassformer.look.summaries.printed import Printed, printed, shared_out

if TYPE_CHECKING:
    from glassformer.parts.activity import ActivityMatrix


def show_guide(size: int, *, notes: bool, html: Path | None, json: bool) -> None:
    """Both tables, as lines or as records; and in the page of the slides' run, where a slider sets the size."""
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
    scaled, weights = shared_out(each.scores, size)
    own = {"document": each.document, "queries": each.queries, "keys": each.keys, "size": size, "scores": each.scores}
    made = {"scaled": scaled.tolist(), "weights": weights.tolist()}
    return {**own, **made, "printed": each.weights, "printed_sums": each.sums, "rows_not_summing_to_1": each.wrong}


def _lines(each: Printed, size: int, width: int) -> Iterator[str]:
    import torch

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
