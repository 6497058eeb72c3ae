"""glassformer demo."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.screen import note


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the two models are left.")] = Path("runs"),
) -> None:
    """Watch two small models learn: the slides' three sentences in seconds, then real English for about two minutes.

    Exit code 1 when one of them has not learned what was promised. Ctrl-C saves; the same command goes on.
    """
    from glassformer.demo.run import run

    try:
        broken = run(out)
    except KeyboardInterrupt as stopped:
        stopped.add_note(f"go on with: {shlex.join(['glassformer', 'demo', '--out', str(out)])}")
        raise
    for sentence in broken:
        note(f"glassformer: {sentence}")
    if broken:
        raise typer.Exit(1)
