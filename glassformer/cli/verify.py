"""glassformer verify MODEL TEXT."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from glassformer.cli.opened import open_model
from glassformer.cli.options import Device, Fast, Json, ModelFolder, Threads
from glassformer.cli.screen import console, plain_table, record

# Tensors shown: those that agree least.
_SHOWN = 8


def verify(
    model: ModelFolder,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A text of your own.", show_default=False)],
    dtype: Annotated[
        Literal["float32", "float64"], typer.Option("--dtype", help="Precision of the check.")
    ] = "float32",
    fast: Fast = False,
    json: Json = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Check every tensor against its formula, that looking changes nothing, and that company changes nothing.

    Exit code 1 when one of the three does not hold.
    """
    import torch

    from glassformer.artefact.independence import independence

    opened = open_model(model, device=device, fast=fast, threads=threads)
    trace = opened.trace(text, dtype=getattr(torch, dtype))
    verified, honesty, own = trace.verify(), trace.honesty, independence(opened, text)
    holds = verified.holds and honesty.holds and own.holds
    if json:
        facts: dict[str, Any] = {
            "holds": holds,
            "formulas": {check.name: check.error for check in verified.checks},
            "limit": verified.limit,
            "honesty": asdict(honesty),
            "independence": asdict(own),
        }
        record(facts, sys.stdout)
    else:
        table = plain_table("tensors that agree least", "error", "")
        for check in sorted(verified.checks, key=lambda each: -each.error)[:_SHOWN]:
            table.add_row(check.name, f"{check.error:.1e}", check.note)
        screen = console()
        screen.print(table)
        for told in (verified, honesty, own):
            screen.print(f"{'[green]✓[/green]' if told.holds else '[red]✗[/red]'} {told}", soft_wrap=True)
    if not holds:
        raise typer.Exit(1)
