from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from glassformer.base.errors import DataError
from glassformer.cli.terminal.opened import Machine, split_model
from glassformer.cli.terminal.options import ROWS, STDIN, Device, Json, NamedModel, Seed, Threads, held_out_texts
from glassformer.cli.terminal.readers import TableReader
from glassformer.cli.terminal.screen import console, escaped, note, print_table, record
from glassformer.cli.terminal.texts import find_inputs, records, texts_to_explain

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.look.summaries.head_jobs import Head
    from glassformer.look.texts.importance import HeadImportance, Importance

MOST_TEXTS = 64


class Given(NamedTuple):
    """Texts with their second texts, None where there are none, and what they are called; `hidden`: the words of each
    that the model was trained to predict, where it knows no others.
    """

    texts: list[str]
    seconds: list[str] | None
    title: str
    hidden: list[tuple[int, ...]] | None = None


_TEXT = f"Texts to measure attention on. {STDIN}  [default: bundled texts]"
_ROWS = f"{ROWS}  Of the --held-out texts, the first ones are used."
_IMPORTANCE = "Measure the loss without each head (slow)."


def heads(
    text: Annotated[list[str] | None, typer.Argument(metavar="[MODEL] TEXT", help=_TEXT, show_default=False)] = None,
    model: NamedModel = None,
    held_out: Annotated[list[str] | None, held_out_texts("[default: TEXT, if given, else bundled texts]")] = None,
    rows: Annotated[int, typer.Option("--rows", min=1, help=_ROWS)] = MOST_TEXTS,
    importance: Annotated[bool, typer.Option("--importance/--no-importance", help=_IMPORTANCE)] = True,
    seed: Seed = 0,
    json: Json = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """List where each attention head looks, and the loss without it. Heads are grouped by where most of their attention
    goes. This does not show what a head contributes, so each head in turn is switched off (ablated), and the loss on
    held-out texts is measured.
    """
    which, texts = split_model("heads", text, model)
    opened = Machine(device, threads).open(which)
    typed = list(texts_to_explain(texts)) if texts else []
    measured = Given(typed, None, "the text" if len(typed) == 1 else f"the {len(typed)} texts") if texts else None
    held = None if held_out is None else of_files(opened, held_out, rows)
    given = measured or held or of_package(opened)
    found = jobs(opened, given)
    lost = None
    if importance:
        from glassformer.look.texts.importance import head_importance
        from glassformer.training.progress import ConsoleProgress

        source = held or given
        lost = head_importance(
            opened, source.texts, source.seconds, hidden=source.hidden, seed=seed, progress=ConsoleProgress()
        )
        if len(source.texts) == 1:
            note("a confidence interval needs several texts: name more, or a file of texts with --held-out")
        if lost.unit == "nats" and lost.baseline > math.log(opened.tokenizer.vocabulary_size):
            note(
                "on these texts the model is worse than if all tokens were equally likely, so the losses say little: "
                "measure on text such as it was trained on, with --held-out FILE"
            )
    if json:
        for row in as_records(found, lost):
            record(row, sys.stdout)
    else:
        show(found, lost, given.title, (held or given).title)


def jobs(model: Model, given: Given) -> Sequence[Head]:
    from glassformer.look.summaries.head_jobs import in_groups, listed
    from glassformer.look.summaries.head_measures import Mean

    mean = Mean()
    for begin in range(0, len(given.texts), 16):
        part = slice(begin, begin + 16)
        seconds = None if given.seconds is None else given.seconds[part]
        mean.add(model.trace(given.texts[part], seconds, keep=()))
    return in_groups(listed(mean.measures))


def of_files(model: Model, files: Sequence[str], rows: int) -> Given:
    columns = {"text": "text"}
    if model.config.encoder is not None and model.config.decoder is not None:
        columns["target"] = "target"
    inputs = find_inputs((), files, TableReader(columns, pairs=len(columns) > 1))
    read = [each.values for each in islice(records(inputs), min(rows, sys.maxsize))]
    if not read:
        raise DataError("--held-out needs a file with a text", got=", ".join(files))
    seconds = [str(values["target"]) for values in read] if "target" in columns else None
    names = ", ".join(Path(file).name for file in files)
    title = f"{'the first ' if len(read) == rows else ''}{len(read)} texts of {names}"
    return Given([str(values["text"]) for values in read], seconds, title)


def of_package(model: Model) -> Given:
    from glassformer.bundled.texts import slides
    from glassformer.look.texts.trace import reads_by_word
    from glassformer.page.sections.summed import held_out

    if reads_by_word(model.config, model.tokenizer):
        texts, hidden = zip(*((each.text, each.masked_words) for each in slides().sentences), strict=True)
        title = f"the slides' {len(texts)} sentences; it was trained to predict four of their words"
        return Given(list(texts), None, title, list(hidden))
    pairs = held_out()
    translates = model.config.encoder is not None and model.config.decoder is not None
    title = f"{len(pairs)} bundled sentences, {'with their French' if translates else 'in English'}"
    return Given([one for one, _ in pairs], [two for _, two in pairs] if translates else None, title)


def name_of(head: Head, sides: set[str]) -> str:
    """`0·3`, with `encoder`, `decoder` or `cross` before it where a model has several of them."""
    side, _, block, attention = head.attention.split(".")
    kind = "cross " if attention == "cross_attention" else f"{side} "
    return f"{kind if len(sides) > 1 else ''}{block}·{head.head}"


SHORT: Mapping[str, str] = {
    "previous": "one back",
    "next": "one ahead",
    "self": "itself",
    "first": "first token",
    "separator": "end mark",
    "same_word": "same word",
    "few": "a few tokens",
    "many": "broadly",
}


def show(found: Sequence[Head], lost: Importance | None, attention_on: str, lost_on: str) -> None:
    from glassformer.look.summaries.head_jobs import RULE

    screen = console()
    sides = {f"{head.attention.split('.')[0]} {head.attention.split('.')[-1]}" for head in found}
    by_head = {} if lost is None else {(each.attention, each.head): each for each in lost.heads}
    last = [] if lost is None else ["lost without it"]
    rows = []
    for head in found:
        share = "" if head.job in ("few", "many") else f"{head.value:.0%}"
        away = head.measures["distance"]
        cells = [name_of(head, sides), SHORT[head.job], share, f"{head.measures['entropy']:.2f}"]
        cells.append("" if math.isnan(away) else f"{away:.1f}")
        if lost is not None:
            cells.append(with_interval(by_head[head.attention, head.head]))
        rows.append(cells)
    print_table(screen, ("head", "looks mostly", "share", "entropy", "away", *last), rows, slice(2, None))
    screen.print(f"looks mostly: {RULE} Measured on {escaped(attention_on)}.", markup=False)
    screen.print(
        "share: the attention that this place gets. Heads with the largest share come first, the others by entropy."
    )
    screen.print("entropy: of the attention, in nats; away: mean distance in tokens.")
    if lost is not None:
        interval = "" if lost.texts == 1 else ", with its 95 % interval (bootstrap over the texts)"
        tokens = f", {lost.scored:,} tokens predicted" if lost.scored else ""
        base = f" ({lost.baseline:.3f} with all heads)" if lost.scored else ""
        screen.print(
            f"lost without it: {lost.measure}{base} with the head switched off, minus that with it, in {lost.unit}"
            f"{interval}. Measured on {lost_on}{tokens}.",
            markup=False,
        )


def with_interval(head: HeadImportance) -> str:
    """`+0.031 (0.010 … 0.055)`"""
    value = f"{head.difference:+.3f}"
    return value if math.isnan(head.low) else f"{value} ({head.low:.3f} … {head.high:.3f})"


def as_records(found: Sequence[Head], lost: Importance | None) -> list[dict[str, Any]]:
    """A record for each head, in the order of the table; numbers that are not known are null."""
    by_head = {} if lost is None else {(each.attention, each.head): each for each in lost.heads}
    records = []
    for head in found:
        row: dict[str, Any] = asdict(head)
        row["measures"] = {name: known(value) for name, value in head.measures.items()}
        if lost is not None:
            each = by_head[head.attention, head.head]
            row["lost"] = {
                "measure": lost.measure,
                "unit": lost.unit,
                "baseline": lost.baseline,
                "texts": lost.texts,
                "scored": lost.scored,
                **{name: known(getattr(each, name)) for name in ("difference", "low", "high")},
            }
        records.append(row)
    return records


def known(value: float) -> float | None:
    return None if math.isnan(value) else value
