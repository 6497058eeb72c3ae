"""glassformer verify MODEL TEXT."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from glassformer.cli.layout import print_table
from glassformer.cli.opened import open_model, second_text, split_model
from glassformer.cli.options import Choices, Device, Fast, Json, NamedModel, PairOrPassage, Target, Texts, Threads
from glassformer.cli.screen import console, escaped, plain_table, record
from glassformer.cli.texts import texts_to_explain

if TYPE_CHECKING:
    from glassformer.artefact.model import Model

# The number of tensors shown: those that agree least.
_SHOWN = 8


def verify(
    text: Texts = None,
    model: NamedModel = None,
    pair: PairOrPassage = None,
    target: Target = None,
    choice: Choices = None,
    dtype: Annotated[
        Literal["float32", "float64"], typer.Option("--dtype", help="Precision of the check.")
    ] = "float32",
    fast: Fast = False,
    json: Json = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Check every tensor against its formula, and that tracing, padding and batch mates do not change the output.

    Exit code 1 when one of the three checks fails.
    """
    which, texts = split_model("verify", text, model)
    opened = open_model(which, device=device, fast=fast, threads=threads)
    second = second_text(opened, pair, target)
    held = [_holds(opened, each, second, choice or [], dtype, json=json) for each in texts_to_explain(texts)]
    if not all(held):
        raise typer.Exit(1)


def _holds(opened: Model, text: str, pair: str | None, choices: list[str], dtype: str, *, json: bool) -> bool:
    """Whether all three checks pass for one text or pair, or a text with each candidate; prints the results, or writes
    them as a record.
    """
    import torch

    from glassformer.artefact.independence import independence

    trace = opened.trace(text, pair, dtype=getattr(torch, dtype), choices=choices or None)
    pairs: list[str | None] = [*choices] or [pair]
    each = [independence(opened, text, second) for second in pairs]
    own = max(each, key=lambda found: max(found.padding or 0.0, found.batch_mates))
    verified, honesty = trace.verify(), trace.honesty
    holds = verified.holds and honesty.holds and own.holds
    if json:
        facts: dict[str, Any] = {
            "text": text,
            **({} if pair is None else {"pair": pair}),
            **({"choices": choices} if choices else {}),
            "holds": holds,
            "formulas": {check.name: check.error for check in verified.checks},
            "limit": verified.limit,
            "kernel_limit": verified.kernel_limit,
            "honesty": asdict(honesty),
            "independence": asdict(own),
        }
        record(facts, sys.stdout)
    else:
        table = plain_table("tensors that agree least", "error", "")
        for check in sorted(verified.checks, key=lambda each: -each.error)[:_SHOWN]:
            table.add_row(check.name, f"{check.error:.1e}", check.note)
        screen = console()
        for words in (text, *([] if pair is None else [pair]), *choices):
            screen.print(f"[dim]{escaped(words)}[/dim]")
        print_table(screen, table)
        for result in (verified, honesty, own):
            sign = "[green]✓[/green]" if result.holds else "[red]✗[/red]"
            screen.print(f"{sign} {result}")
    return holds
