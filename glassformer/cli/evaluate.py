"""glassformer evaluate MODEL [FILES]."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from glassformer.cli.opened import open_model
from glassformer.cli.options import Device, Fast, Json, ModelFolder, Out, Threads
from glassformer.cli.screen import console, plain_table, record, results


def evaluate(
    model: ModelFolder,
    files: Annotated[
        list[str] | None, typer.Argument(help="Text to measure on; without, the text held out in training.")
    ] = None,
    side: Annotated[
        Literal["validation", "test"] | None,
        typer.Option("--side", help="Which held-out side, without files; validation unless told."),
    ] = None,
    out: Out = None,
    json: Json = False,
    fast: Fast = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Loss, perplexity and accuracy at hidden words, beside always guessing the most frequent piece."""
    from glassformer.artefact.evaluate import evaluate as measure
    from glassformer.artefact.witness import Screen

    opened = open_model(model, device=device, fast=fast, threads=threads)
    with results(out) as handle:  # not after: a place that takes no results is to be known before they are measured
        scores = measure(opened, files or (), side=side, witness=Screen())
        if json:
            record(scores, handle)
            return
        table = plain_table("", "loss", "perplexity", "accuracy")
        for name, prefix in (("this model", ""), ("unigram", "unigram_")):
            if f"{prefix}loss" in scores:
                table.add_row(
                    name,
                    f"{scores[f'{prefix}loss']:.4f}",
                    f"{scores[f'{prefix}perplexity']:,.1f}",
                    f"{scores[f'{prefix}accuracy']:.2%}",
                )
        screen = console(handle)
        screen.print(table)
        screen.print(f"measured at {scores['targets']:,.0f} hidden pieces")
