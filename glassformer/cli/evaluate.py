"""glassformer evaluate MODEL [FILES]."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from glassformer.cli.opened import open_model, split_model
from glassformer.cli.options import Device, Fast, Json, NamedModel, Out, Threads
from glassformer.cli.screen import console, plain_table, record, refuse_out_over_input, results

_AS = "[default: as in training]"


def evaluate(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL] FILES",
            help="The model, a folder, hub:owner/name or a name that `glassformer models` lists; without one, a model "
            "of the package. Then data to measure on; by default what was held out in training.",
        ),
    ] = None,
    model: NamedModel = None,
    split: Annotated[
        Literal["validation", "test"] | None,
        typer.Option("--split", help="Which held-out split, without files.  [default: validation]"),
    ] = None,
    text: Annotated[str | None, typer.Option("--text", "--column", help=f"Column with the text.  {_AS}")] = None,
    pair: Annotated[str | None, typer.Option("--pair", "--pair-column", help=f"With the second text.  {_AS}")] = None,
    label: Annotated[str | None, typer.Option("--label", "--label-column", help=f"With the label.  {_AS}")] = None,
    answers: Annotated[
        str | None, typer.Option("--answers", "--answers-column", help=f"With the words behind the masks.  {_AS}")
    ] = None,
    out: Out = None,
    json: Json = False,
    fast: Fast = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Measure a model's task, beside the baselines that it has to beat.

    The result is one record, and nothing of it is known before the last text is read: a command that was stopped begins
    again, there is no --resume.
    """
    which, paths = split_model("evaluate", files, model, is_data=_is_data)
    from glassformer.artefact.evaluate import evaluate as measure
    from glassformer.artefact.progress import ConsoleProgress
    from glassformer.tasks.score import interval

    opened = open_model(which, device=device, fast=fast, threads=threads)
    named = {"text": text, "pair": pair, "label": label, "answers": answers}
    columns = {role: column for role, column in named.items() if column is not None}
    trained = "text" if opened.data is None else opened.data.text
    refuse_out_over_input(out, paths, text=columns.get("text", trained))
    with results(out) as handle:  # opened first: an output that cannot be written must be refused before measuring
        scores = measure(opened, paths, split=split, columns=columns, progress=ConsoleProgress())
        if json:
            record(scores.flat(), handle)
            return
        systems = list(scores.of)
        table = plain_table("", *systems)
        for column in table.columns[1:]:
            column.justify = "right"
        for name, value in scores.of[systems[0]].items():
            share = name.endswith("accuracy")
            cells = [_shown(scores.of[system].get(name), share=share) for system in systems]
            if name in scores.shares:
                low, high = interval(value, scores.count)
                cells[0] += f" ({low:.2%} … {high:.2%})"
            table.add_row(name.replace("_", " "), *cells)
        screen = console(handle)
        screen.print(table)
        screen.print(f"measured on {scores.count:,} {scores.unit}; in brackets: the 95 % interval (Wilson)")


def _is_data(word: str) -> bool:
    """Whether a first word is a file or a pattern to measure on, and no model."""
    return os.path.isfile(word) or not set(word).isdisjoint("*?[")


def _shown(value: float | None, *, share: bool) -> str:
    if value is None:
        return ""
    return f"{value:.2%}" if share else f"{value:,.4f}"
