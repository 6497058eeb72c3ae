"""`train`: a model from a recipe."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.api.model import Model
from glassformer.run import train as training
from glassformer.saved.recipe import Recipe
from glassformer.training.progress import Progress


def train(
    recipe: Recipe | Mapping[str, Any] | str | Path | None = None,
    *,
    out: str | Path,
    resume: bool = False,
    set: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> Model:
    """Train a model as a recipe says and save it to the folder `out`.

    With `train.seeds` above 1 several models are trained, in `out/seed-0`, `out/seed-1` …; `out/seeds.json` has their
    scores with mean and deviation, and the best of them is returned.

    `recipe` is a task (`classify`), whose recipe then depends on whether `set` has `model.start`, the name of a recipe
    of the package (`masked-lm-mini`), a TOML file, a mapping, or settings; `set` changes single settings,
    `{"train.steps": 100}`. With `resume` a run that was stopped continues from its newest checkpoint; no recipe is
    needed then, because `out` contains it. `progress` shows the progress, by default on standard error.

    Raises a GlassformerError for what cannot be done, before training where it can be known, and
    `glassformer.training.stopping.Interrupted` after Ctrl-C, with everything saved.
    """
    return Model.of(training.train(recipe, out=out, resume=resume, set=set, progress=progress))
