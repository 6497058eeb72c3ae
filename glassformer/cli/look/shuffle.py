from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.base.errors import DataError
from glassformer.base.lines import grid, indented, label, screen_width, wrapped
from glassformer.base.wrapping import in_one_line
from glassformer.bundled.texts import notes_about
from glassformer.cli.look.matrix_printed import print_notes
from glassformer.cli.terminal.opened import Machine, split_model
from glassformer.cli.terminal.options import HTML, Device, Json, NamedModel, Notes, Seed, Texts, Threads
from glassformer.cli.terminal.screen import record
from glassformer.cli.terminal.texts import texts_to_explain

if TYPE_CHECKING:
    from glassformer.look.summaries.shuffled import Shuffled

# The sentence of the notes.
_SENTENCE = "This course is the best"


def shuffle(
    text: Texts = None,
    model: NamedModel = None,
    seed: Seed = 0,
    notes: Notes = False,
    html: Annotated[Path | None, typer.Option("--html", writable=True, help=HTML)] = None,
    json: Json = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Show what a model knows about word order: compute the vectors of a text and of the same words in random order,
    with and without positions, and with and without a causal mask. The default text is "This course is the best".
    """
    given = list(text or ()) if model else list(text or [_SENTENCE])
    which, texts = split_model("shuffle", given, model)
    read = list(texts_to_explain(texts or [_SENTENCE]))
    if len(read) > 1 and html is not None:
        raise DataError("--html draws one text", got=str(len(read)), do="give one text")
    opened = Machine(device, threads).open(which)
    from glassformer.look.summaries.shuffled import SHOWN, shuffled

    for count, each in enumerate(read):
        trace, tokens = opened.trace(each), opened.tokenizer.encode(each)
        found = shuffled(trace, seed=seed)
        is_unknown = (id_ == opened.tokenizer.unknown_id for id_ in tokens.ids)
        unknown = [each[start:end].strip() for start, end in compress(tokens.offsets, is_unknown)]
        if html is not None:
            sections = {"shuffled": {"texts": [found.to_dict(SHOWN)]}}
            place = "#level=scene&scene=shuffled"
            trace.to_html(html, title=Path(which).name, sections=sections, place=place, overwrite=True)
        if json:
            record(found.to_dict() | {"seed": seed, "unknown_words": unknown}, sys.stdout)
        else:
            print(*[""] * bool(count), *_lines(found, unknown, screen_width()), sep="\n")
    if notes and not json:
        print_notes(notes_about("verb.shuffle"))


def _lines(found: Shuffled, unknown: Sequence[str], width: int) -> Iterator[str]:
    from glassformer.look.formulas.explanation import number
    from glassformer.look.summaries.shuffled import SHOWN

    words = [label(word) for word in found.words]
    yield from wrapped(f"text:     {' '.join(words)}", width, rest=10)
    yield from wrapped(f"shuffled: {' '.join(words[place] for place in found.order)}", width, rest=10)
    if unknown:
        yield from wrapped(f"unknown:  {' '.join(map(in_one_line, unknown))}", width, rest=10)
    size, positions = found.ways[0].text.shape[1], len(found.ways) > 2
    yield ""
    both = "neither positions nor a causal mask, with one of them, with both"
    ways = both if positions else "no causal mask and with one"
    own = "" if positions else "This model has no positions. "
    yield from wrapped(
        f"{own}Largest difference of each word's vector ({size} numbers) between the two, with {ways}:", width, rest=0
    )
    apart = [way.apart for way in found.ways]
    rows = [[word, *(number(of[place]) for of in apart)] for place, word in enumerate(words)]
    yield from indented(grid([["", *(way.name for way in found.ways)], *rows], width - 2), 2)
    shown = min(SHOWN, size)
    yield from ("", *wrapped(f"The vector of {words[0]} (the first {shown} of {size} numbers):", width))
    vectors = [
        [title, *map(number, of[0, :shown].tolist())]
        for way in found.ways
        for title, of in ((way.name, way.text), ("  shuffled", way.shuffled))
    ]
    yield from indented(grid(vectors, width - 2), 2)
    none, causal, *others = (number(max(of)) for of in apart)
    with_positions = f"With positions they differ by up to {others[0]}. " if others else ""
    yield ""
    yield from wrapped(
        f"With neither, each vector moves with its word: the two differ by at most {none} (C-1). {with_positions}"
        f"Under a causal mask they differ by up to {causal} even without positions: a word sees other words before it "
        "(C-44).",
        width,
        rest=0,
    )
