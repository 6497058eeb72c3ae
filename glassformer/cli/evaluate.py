"""glassformer evaluate MODEL [FILES]."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from glassformer.cli.opened import open_model, split_model
from glassformer.cli.options import Device, Fast, Json, NamedModel, Out, Threads
from glassformer.cli.screen import console, plain_table, record, refuse_out_over_input, results


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
        typer.Option("--split", help="Which held-out split, without files; validation by default."),
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="Column with the text, if not as in training.")] = None,
    pair: Annotated[
        str | None, typer.Option("--pair", help="Column with the second text, if not as in training.")
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="Column with the label, if not as in training.")] = None,
    out: Out = None,
    json: Json = False,
    fast: Fast = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Measure a model's task, beside the baselines that it has to beat."""
    which, paths = split_model("evaluate", files, model, is_data=_is_data)
    from glassformer.artefact.evaluate import evaluate as measure
    from glassformer.artefact.progress import ConsoleProgress
    from glassformer.tasks.score import interval

    opened = open_model(which, device=device, fast=fast, threads=threads)
    columns = {name: value for name, value in (("text", text), ("pair", pair), ("label", label)) if value is not None}
    refuse_out_over_input(out, paths)
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
