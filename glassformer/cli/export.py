"""glassformer export MODEL OUT --to huggingface."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from glassformer.cli.options import Json, ModelFolder
from glassformer.cli.screen import note, record


def export(
    model: ModelFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write.", show_default=False)],
    to: Annotated[Literal["huggingface"], typer.Option("--to", help="The format.")] = "huggingface",
    json: Json = False,
) -> None:
    """Write a model as a folder that transformers loads as a model with the same outputs."""
    from glassformer.artefact.foreign import write_foreign
    from glassformer.artefact.open import open_as_saved

    left = write_foreign(open_as_saved(model), out)
    if json:
        record({"model": str(out), "format": to, "left_behind": list(left)}, sys.stdout)
    else:
        for sentence in left:
            note(sentence)
        print(out)
