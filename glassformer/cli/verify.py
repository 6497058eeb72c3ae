"""glassformer verify MODEL TEXT."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from glassformer.cli.opened import open_model, second_text, split_model
from glassformer.cli.options import Device, Fast, Json, NamedModel, PairOrPassage, Target, Texts, Threads
from glassformer.cli.screen import console, escaped, plain_table, print_table, record
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
    held = [_holds(opened, each, second, dtype, json=json) for each in texts_to_explain(texts)]
    if not all(held):
        raise typer.Exit(1)


def _holds(opened: Model, text: str, pair: str | None, dtype: str, *, json: bool) -> bool:
    """Whether all three checks pass for one text or pair; prints the results, or writes them as a record."""
    import torch

    from glassformer.artefact.independence import independence

    trace = opened.trace(text, pair, dtype=getattr(torch, dtype))
    verified, honesty, own = trace.verify(), trace.honesty, independence(opened, text, pair)
    holds = verified.holds and honesty.holds and own.holds
    if json:
        facts: dict[str, Any] = {
            "text": text,
            **({} if pair is None else {"pair": pair}),
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
        for each in (text, pair) if pair is not None else (text,):
            screen.print(f"[dim]{escaped(each)}[/dim]")
        print_table(screen, table)
        for result in (verified, honesty, own):
            sign = "[green]✓[/green]" if result.holds else "[red]✗[/red]"
            screen.print(f"{sign} {result}", soft_wrap=not screen.is_terminal)
    return holds
