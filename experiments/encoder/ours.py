"""Our side: `glassformer.train` from the same encoder, and the verbs of the model that it gives."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import glassformer as gf
from experiments.encoder.plan import PLAIN, RANDOM, Plan, encoder_folder
from experiments.encoder.sets import Record
from glassformer.training.progress import Progress

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
        **({"task.several": True} if plan.kind == "several" else {}),
        # The peer's models read no case, and drop no words.
        **({"task.case": False, "task.word_dropout": 0.0} if plan.kind == "tag" else {}),
        **({"task.words": False} if plan.kind in ("classify", "several") else {}),  # and words have no scores there
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


def predict(plan: Plan, model: gf.Model, records: Sequence[Record], *, side: str) -> list[Any]:
    """A label, labels, number, choice, tags or answer for each record."""
    if side == PLAIN:
        return _plain_tags(model, records)
    return _PREDICT[plan.kind](model, records)


def _classify(model: gf.Model, records: Sequence[Record]) -> list[Any]:
    return [each.label for each in model.classify([r["text"] for r in records], _pairs(records))]


def _several(model: gf.Model, records: Sequence[Record]) -> list[Any]:
    return [list(each.chosen) for each in model.classify([r["text"] for r in records])]


def _regress(model: gf.Model, records: Sequence[Record]) -> list[Any]:
    return [each.number for each in model.classify([r["text"] for r in records], _pairs(records))]


def _choose(model: gf.Model, records: Sequence[Record]) -> list[Any]:
    return [each.index for each in model.choose([r["text"] for r in records], [r["choices"] for r in records])]


def _tag(model: gf.Model, records: Sequence[Record]) -> list[Any]:
    return [list(each.tags) for each in model.tag(words=[record["words"] for record in records])]


def _answer(model: gf.Model, records: Sequence[Record]) -> list[Any]:
    found = model.answer([r["question"] for r in records], [r["context"] for r in records], top=1)
    return [each.text for each in found]


def _plain_tags(model: gf.Model, records: Sequence[Record]) -> list[Any]:
    """The likeliest tag of each word, whether or not it may stand there."""
    from glassformer.tasks.labels.tag.task import Tag
    from glassformer.tasks.predictor import predict

    class Plain(Tag):
        def merge(self, example: Any, found: Any) -> Any:
            numbers = np.concatenate([logits for logits, _ in found]).argmax(axis=1)
            return [self.section.labels[number] for number in numbers.tolist()]

    task = Plain.of(model.module, model.tokenizer, model.context({}))
    examples = (task.example({"words": record["words"]}, "") for record in records)
    return list(predict(task, model.module, examples))


def _pairs(records: Sequence[Record]) -> list[str] | None:
    return [record["pair"] for record in records] if "pair" in records[0] else None


_PREDICT: dict[str, Callable[[gf.Model, Sequence[Record]], list[Any]]] = {
    "classify": _classify,
    "several": _several,
    "regress": _regress,
    "choose": _choose,
    "tag": _tag,
    "answer": _answer,
}
