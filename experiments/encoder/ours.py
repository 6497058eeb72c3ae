"""Our side: `glassformer.train` from the same encoder, and the verbs of the model that it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import glassformer as gf
from experiments.encoder.plan import RANDOM, Plan, encoder_folder
from experiments.encoder.sets import Record
from glassformer.artefact.progress import Progress

RECIPES = {"several": "classify"}  # of a kind whose recipe has another name


def train(
    plan: Plan,
    files: Mapping[str, Any],
    out: Path,
    *,
    seed: int,
    side: str,
    start: Path | None = None,
    settings: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> gf.Model:
    """Train as the recipe of the task says, with the plan's settings, or go on where a run was stopped."""
    if (out / "recipe.toml").exists():
        return gf.load(out) if (out / "model.safetensors").exists() else gf.train(out=out, resume=True)
    chosen: dict[str, object] = {
        **{f"data.{name}": value for name, value in files.items()},
        "data.validation": 0.0,
        "data.length": plan.length,
        "train.epochs": plan.epochs,
        "train.batch": plan.batch,
        "train.learning_rate": plan.learning_rate,
        "train.seed": seed,
        **plan.variants.get(side, {}),
        **(settings or {}),
    }
    if side == RANDOM:
        chosen["tokenizer.file"] = str(encoder_folder())
        chosen["model.family"] = "bert"
        chosen["model.settings"] = {"layers": 6, "width": 384, "heads": 12, "feed_forward": 1536}
    else:
        chosen["model.start"] = str(start or encoder_folder())
    return gf.train(RECIPES.get(plan.kind, plan.kind), out=out, set=chosen, progress=progress)


def predict(plan: Plan, model: gf.Model, records: Sequence[Record]) -> list[Any]:
    """A label, labels, number, choice, tags or answer for each record."""
    return _PREDICT[plan.kind](model, records)


def _classify(model: gf.Model, records: Sequence[Record]) -> list[Any]:
    return [each.label for each in model.classify([r["text"] for r in records], _pairs(records))]


def _pairs(records: Sequence[Record]) -> list[str] | None:
    return [record["pair"] for record in records] if "pair" in records[0] else None


_PREDICT: dict[str, Callable[[gf.Model, Sequence[Record]], list[Any]]] = {"classify": _classify}
