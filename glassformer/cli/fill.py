"""glassformer fill MODEL "She [MASK] [MASK] summer better"."""

from __future__ import annotations

from typing import Annotated, TextIO

import typer

from glassformer.artefact.answers import Filled, Hidden
from glassformer.cli.opened import open_model
from glassformer.cli.options import Column, Device, Fast, Json, ModelFolder, Out, TextFiles, Texts, Threads
from glassformer.cli.screen import bar, console, escaped, note_windows, plain_table, record, results
from glassformer.cli.texts import answered, texts
from glassformer.text.tokenizer import MASK

# Masks side by side in one table.
_BESIDE = 3


def fill(
    model: ModelFolder,
    text: Texts = None,
    file: TextFiles = None,
    column: Column = "text",
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="Guesses for each hidden word.")] = 5,
    out: Out = None,
    json: Json = False,
    fast: Fast = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Guess the words behind [MASK]. Several hidden words are guessed independently."""
    opened = open_model(model, device=device, fast=fast, threads=threads)
    with results(out) as handle:
        for _, filled in answered(texts(text, file, column), lambda batch: opened.fill(batch, top=top)):
            note_windows(filled.windows, opened.room)
            if json:
                record(filled.to_dict(), handle)
            else:
                _show(filled, handle)


def _show(filled: Filled, handle: TextIO) -> None:
    screen = console(handle)
    screen.print(f"[dim]{escaped(filled.text)}[/dim]")
    for first in range(0, len(filled.masks), _BESIDE):
        masks = filled.masks[first : first + _BESIDE]
        table = plain_table()
        for number, _ in enumerate(masks, start=first + 1):
            table.add_column(escaped(MASK) + (f" {number}" if len(filled.masks) > 1 else ""), style="bold")
            table.add_column("", justify="right")
            table.add_column("", style="cyan", min_width=12)
        for rank in range(max(len(mask.guesses) for mask in masks)):
            table.add_row(*(cell for mask in masks for cell in _cells(mask, rank)))
        screen.print(table)
    screen.print(f"[green]→[/green] {escaped(filled.filled)}\n")


def _cells(mask: Hidden, rank: int) -> tuple[str, str, str]:
    if rank >= len(mask.guesses):
        return "", "", ""
    guess = mask.guesses[rank]
    word = f"…{guess.word}" if guess.joins and guess.word.isalnum() else guess.word
    return escaped(word), f"{guess.probability:.1%}", bar(guess.probability)
