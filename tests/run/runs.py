"""A small run that every test of a training begins with, who listens to it, and what is compared."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from glassformer.api.model import Model
from glassformer.training.progress import NoProgress
from glassformer.training.record import Step


class Listener(NoProgress):
    """Remembers the notes and can stop a run as Ctrl-C does."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.notes: list[str] = []
        self.steps: list[int] = []
        self.stop_after = stop_after

    def note(self, message: str) -> None:
        self.notes.append(message)

    def training(self, steps: Iterator[Step]) -> Iterator[Step]:
        for step in steps:
            self.steps.append(step.step)
            if step.step == self.stop_after:
                signal.raise_signal(signal.SIGINT)
            yield step


def recipe(text: Path, **train_settings: Any) -> dict[str, Any]:
    return {
        "task": {"name": "masked-lm"},
        "data": {"files": [str(text)], "length": 24, "validation": 0.2, "licence": "CC0 1.0"},
        "tokenizer": {"vocabulary": 160},
        "model": {"size": "tiny", "settings": {"layers": 1, "width": 16, "heads": 2}},
        "train": {"steps": 6, "batch": 4, "precision": "float32", "compile": "off", **train_settings},
    }


def weights(model: Model) -> dict[str, torch.Tensor]:
    return {name: parameter.detach() for name, parameter in model.module.named_parameters()}


def same_weights(one: Model, two: Model) -> bool:
    left, right = dict(one.module.named_parameters()), dict(two.module.named_parameters())
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
