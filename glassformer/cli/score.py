"""glassformer score MODEL "She likes the summer better"."""

from __future__ import annotations

from typing import TextIO

from glassformer.artefact.answers import Scored
from glassformer.cli.opened import open_model
from glassformer.cli.options import Column, Device, Fast, Json, ModelFolder, Out, TextFiles, Texts, Threads
from glassformer.cli.screen import bar, console, escaped, note_windows, plain_table, record, results
from glassformer.cli.texts import answered, texts


def score(
    model: ModelFolder,
    text: Texts = None,
    file: TextFiles = None,
    column: Column = "text",
    out: Out = None,
    json: Json = False,
    fast: Fast = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """How likely a text is: each piece is hidden in turn and the model guesses it from the others."""
    opened = open_model(model, device=device, fast=fast, threads=threads)
    with results(out) as handle:
        for _, scored in answered(texts(text, file, column), opened.score):
            note_windows(scored.windows, opened.room)
            if json:
                record(scored.to_dict(), handle)
            else:
                _show(scored, handle)


def _show(scored: Scored, handle: TextIO) -> None:
    screen = console(handle)
    screen.print(f"[dim]{escaped(scored.text)}[/dim]")
    table = plain_table("piece", "probability", "", "log-probability")
    for piece in scored.pieces:
        table.add_row(
            escaped(piece.piece), f"{piece.probability:.2%}", bar(piece.probability), f"{piece.log_probability:.3f}"
        )
    screen.print(table)
    screen.print(
        f"pseudo-log-likelihood [bold]{scored.total:.3f}[/bold] over {len(scored.pieces)} pieces, "
        f"perplexity [bold]{scored.perplexity:.2f}[/bold]\n"
    )
