"""Options of a page about what was made with a model: a logistic regression, an index, the model it was tuned from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.terminal.opened import Machine
from glassformer.cli.terminal.options import START

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.page.sections.sections import Maker

_PROBE = "File that embed compare --probe-out wrote. The page shows its logistic regression.  [default: none]"
_INDEX = "Folder that search build wrote. The page shows the nearest texts of this index.  [default: none]"
_START = f"{START}  The page shows what changed.  [default: none]"
ProbeFile = Annotated[Path | None, typer.Option("--probe", help=_PROBE)]
IndexFolder = Annotated[Path | None, typer.Option("--index", file_okay=False, help=_INDEX)]
StartModel = Annotated[str | None, typer.Option("--start", metavar="MODEL", help=_START)]


def related(opened: Model, probe: Path | None, index: Path | None, start: str | None) -> Mapping[str, Maker]:
    """What makes the sections that these options ask for; raises CheckpointError for what belongs to another model."""
    if probe is None and index is None and start is None:
        return {}
    from glassformer.features.search.index import SearchIndex
    from glassformer.page.sections.related import related_makers

    before = None if start is None else Machine().open(start)
    freeze = () if opened.recipe is None else opened.recipe.tune.freeze
    near = None if index is None else SearchIndex.open(index, opened)
    return related_makers(opened.module, probe=probe, index=near, start=before, freeze=freeze, run=opened.source)
