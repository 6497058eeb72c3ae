"""Predictions for display: a small table for each verb."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from glassformer.cli.screen import bar, console, escaped, plain_table
from glassformer.text.tokenizer import MASK

if TYPE_CHECKING:
    from glassformer.tasks.fill import Filled, MaskedWord
    from glassformer.tasks.labels import Class, Classes
    from glassformer.tasks.pseudo_likelihood import Scored
    from glassformer.tasks.regress import Number

# Masks side by side in one table.
_BESIDE = 3
# Labels that are shown: the likeliest.
_LABELS = 5


def _fill(values: Mapping[str, object], filled: Filled, handle: TextIO) -> None:
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


def _cells(mask: MaskedWord, rank: int) -> tuple[str, str, str]:
    if rank >= len(mask.guesses):
        return "", "", ""
    guess = mask.guesses[rank]
    word = f"…{guess.word}" if guess.joins and guess.word.isalnum() else guess.word
    return escaped(word), f"{guess.probability:.1%}", bar(guess.probability)


def _score(values: Mapping[str, object], scored: Scored, handle: TextIO) -> None:
    screen = console(handle)
    screen.print(f"[dim]{escaped(scored.text)}[/dim]")
    table = plain_table("token", "probability", "", "log-probability")
    for token in scored.tokens:
        table.add_row(
            escaped(token.token), f"{token.probability:.2%}", bar(token.probability), f"{token.log_probability:.3f}"
        )
    screen.print(table)
    screen.print(
        f"pseudo-log-likelihood [bold]{scored.total:.3f}[/bold] over {len(scored.tokens)} tokens, "
        f"perplexity [bold]{scored.perplexity:.2f}[/bold]\n"
    )


def _classify(values: Mapping[str, object], found: Class | Classes | Number, handle: TextIO) -> None:
    screen = console(handle)
    for role in ("text", "pair"):
        if role in values:
            screen.print(f"[dim]{escaped(str(values[role]))}[/dim]")
    from glassformer.tasks.labels import Classes  # not at the top: --help must not import torch
    from glassformer.tasks.regress import Number

    if isinstance(found, Number):
        screen.print(f"[green]→[/green] [bold]{found.number:.6g}[/bold]\n")
        return
    table = plain_table("label", "probability", "")
    likeliest = sorted(found.probabilities.items(), key=lambda each: -each[1])
    for label, probability in likeliest[:_LABELS]:
        table.add_row(escaped(label), f"{probability:.1%}", bar(probability))
    if len(likeliest) > _LABELS:
        table.add_row(f"{len(likeliest) - _LABELS:,} more", "", "")
    screen.print(table)
    if isinstance(found, Classes):
        chosen = ", ".join(found.chosen) or f"none is as likely as {found.threshold:.0%}"
        screen.print(f"[green]→[/green] {escaped(chosen)}\n")


SHOW: dict[str, Callable[[Mapping[str, object], Any, TextIO], None]] = {
    "fill": _fill,
    "score": _score,
    "classify": _classify,
}
