"""glassformer demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the two models are left.")] = Path("runs"),
) -> None:
    """Watch two small models learn: the slides' three sentences in seconds, then real English for about two minutes."""
    from glassformer.demo.run import run

    run(out)
