"""Our side: what `glassformer train translate` does with these pairs and these minutes, nothing else set."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import glassformer as gf
from experiments.translation.plan import SNAPSHOTS, Budget, Pairs
from glassformer.cli.train.recipe_options import requested_recipe
from glassformer.saved.recipe import RECIPE, Recipe, read_saved_recipe
from glassformer.training.checkpoint import Checkpoints
from glassformer.training.progress import ConsoleProgress
from glassformer.training.record import Step

# Of a checkpoint, what the curve needs: the mean of the weights.
_KEPT = ("average.safetensors", "state.json")


def recipe(pairs: Pairs, budget: Budget) -> Recipe:
    """The recipe of the command, with its sizes chosen by the text and the minutes."""
    settings: dict[str, object] = {**pairs.settings(), "train.seed": budget.seed}
    if budget.steps is None:
        settings["train.minutes"] = budget.minutes
        settings["train.checkpoint_minutes"] = budget.minutes / SNAPSHOTS
    else:
        settings["train.steps"] = budget.steps
    if budget.threads is not None:
        settings["train.threads"] = budget.threads
    files = settings.pop("data.files")
    assert isinstance(files, list)
    return requested_recipe("translate", files, settings=settings, assignments=())


class Snapshots(ConsoleProgress):
    """Keeps the averaged weights of each checkpoint in another folder, outside the clock of the run."""

    def __init__(self, run: Path) -> None:
        super().__init__()
        self._checkpoints, self._kept = run / "checkpoints", run / "curve"

    def training(self, steps: Iterator[Step]) -> Iterator[Step]:
        """The same steps."""
        for step in super().training(steps):
            self.keep()
            yield step

    def keep(self) -> None:
        """A checkpoint is removed later, its files that have two names are not."""
        for checkpoint in self._checkpoints.glob("step-*"):
            snapshot = self._kept / checkpoint.name
            if snapshot.exists() or not all((checkpoint / name).exists() for name in _KEPT):
                continue
            draft = self._kept / f"draft-{checkpoint.name}"
            draft.mkdir(parents=True, exist_ok=True)
            for name in _KEPT:
                (draft / name).unlink(missing_ok=True)
                os.link(checkpoint / name, draft / name)
            draft.rename(snapshot)


def train(pairs: Pairs, budget: Budget, run: Path) -> gf.Model:
    """Train, or go on where the run was stopped; nothing where it has ended."""
    if (run / "model.safetensors").exists():
        return gf.load(run, device="cpu")
    progress = Snapshots(run)
    if (run / RECIPE).exists():
        return gf.train(out=run, resume=True, progress=progress)
    return gf.train(recipe(pairs, budget), out=run, progress=progress)


def translate(model: gf.Model, sources: Sequence[str], *, beams: int | None = None) -> list[str]:
    """A translation of each source, searched as the model was trained to unless `beams` asks for another search."""
    return [each.translation for each in model.translate(list(sources), beams=beams)]


def facts(model: gf.Model, run: Path) -> dict[str, Any]:
    """What was trained, and for how long by its own clock."""
    known = read_saved_recipe(run)
    assert known is not None
    last = Checkpoints(run / "checkpoints").newest()
    assert last is not None
    return {
        "seconds": model.metrics["seconds"],
        "steps": model.metrics["steps"],
        "bfloat16": last.facts["bfloat16"],
        "compiled": last.facts["compiled"],
        "seconds of compiling": round(last.facts["progress"]["setup"], 1),
        **settings_of(known),
        "vocabulary": model.tokenizer.vocabulary_size,
        "tokenizer": model.tokenizer.fingerprint[:12],
        "parameters": sum(parameter.numel() for parameter in model.module.parameters()),
    }


def settings_of(known: Recipe) -> dict[str, Any]:
    """What both sides share of a recipe."""
    return {
        "size": known.model.size,
        "dropout": known.model.settings.get("dropout"),
        "batch_tokens": known.train.batch_tokens,
        "threads": known.train.threads,
    }
