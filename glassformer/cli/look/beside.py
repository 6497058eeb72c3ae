"""Options of a page about what was made with a model: a logistic regression, an index, the model it was tuned from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.terminal.opened import open_model
from glassformer.cli.terminal.options import START

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.page.sections.sections import Maker

ProbeFile = Annotated[
    Path | None,
    typer.Option(
        "--probe",
        help="File that embed compare --probe-out wrote. The page shows its logistic regression.  [default: none]",
    ),
]
IndexFolder = Annotated[
    Path | None,
    typer.Option(
        "--index",
        file_okay=False,
        help="Folder that search build wrote. The page shows the nearest texts of this index.  [default: none]",
    ),
]
StartModel = Annotated[
    str | None,
    typer.Option("--start", metavar="MODEL", help=f"{START}  The page shows what changed.  [default: none]"),
]


def beside(opened: Model, probe: Path | None, index: Path | None, start: str | None) -> Mapping[str, Maker]:
    """What makes the sections that these options ask for; raises CheckpointError for what belongs to another model."""
    if probe is None and index is None and start is None:
        return {}
    from glassformer.page.sections.beside import makers_beside

    if index is not None:
        from glassformer.features.search.index import SearchIndex

        found = SearchIndex.open(index, opened)
    before = None if start is None else open_model(start)
    freeze = () if opened.recipe is None else opened.recipe.tune.freeze
    return makers_beside(
        opened.module,
        probe=probe,
        index=None if index is None else found,
        start=before,
        freeze=freeze,
        run=opened.source,
    )
