"""A small task in memory: rows of random pieces, some hidden, a different number in each row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.models.families import bert
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from glassformer.tasks.cross_entropy import cross_entropy
from glassformer.tasks.task import Batch, evaluating
from glassformer.train.settings import TrainSection

VOCABULARY, LENGTH, ROWS = 23, 12, 20


@dataclass
class Toy:
    """Rows that follow a rule (each piece is the one before it plus the row's own stride), so that there is something
    to learn; `hide` places of each row, or a number that differs from row to row. Every fourth row ends in padding.
    """

    size: int = 8
    seed: int = 0
    hide: int | None = None
    name: str = "toy"
    fingerprint: str = "toy"
    poison_step: int | None = None
    blind_loss: float | None = math.log(VOCABULARY)

    @property
    def steps_per_epoch(self) -> float:
        return ROWS / self.size

    def rows(self, step: int) -> int:
        return self.size

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        order = np.array_split(np.arange(step * self.size, (step + 1) * self.size), parts)[part]
        return self._rows(order % ROWS, order, poison=step == self.poison_step)

    def loss(self, model: Transformer, batch: Batch) -> Tensor:
        logits = model(batch.inputs, places=batch.places).logits
        assert logits is not None
        return cross_entropy(logits, batch.labels)

    def evaluate(self, model: Transformer, *, rows: int | None = None) -> dict[str, float]:
        batch = self._rows(np.arange(ROWS), np.arange(ROWS)).to(next(model.parameters()).device)
        with evaluating(model):
            return {"loss": float(self.loss(model, batch)) / batch.targets, "rows": float(rows or 0)}

    def _rows(self, rows: np.ndarray, order: np.ndarray, *, poison: bool = False) -> Batch:
        ids, labels, real = [], [], []
        for row, place in zip(rows.tolist(), order.tolist(), strict=True):
            chance = np.random.default_rng([self.seed, row])
            start, stride = chance.integers(1, VOCABULARY), 1 + row % 3
            whole = (start + stride * np.arange(LENGTH)) % (VOCABULARY - 1) + 1
            count = self.hide if self.hide is not None else 1 + row % 4
            length = LENGTH - 2 * (row % 4 == 3)
            hidden = np.random.default_rng([self.seed, row, place]).permutation(length)[:count]
            labels.append(np.full(LENGTH, -100))
            labels[-1][hidden] = whole[hidden]
            whole[hidden] = 0
            ids.append(whole)
            real.append(np.arange(LENGTH) < length)
        vectors = torch.full((len(rows), LENGTH, 16), math.nan) if poison else None
        label = torch.tensor(np.concatenate(labels))
        return Batch(
            inputs=Inputs(ids=torch.tensor(np.array(ids)), vectors=vectors, real=torch.tensor(np.array(real))),
            labels=label,
            places=torch.arange(len(rows) * LENGTH),
            numbers=torch.tensor(order % (1 << 31), dtype=torch.int32),
            targets=int((label >= 0).sum()),
            pieces=int(np.sum(real)),
        )


def toy_config(*, dropout: float = 0.0, layers: int = 2) -> ModelConfig:
    return bert(
        vocabulary=VOCABULARY, layers=layers, width=16, heads=2, feed_forward=24, max_length=LENGTH, dropout=dropout
    )


def toy_model(*, dropout: float = 0.0, seed: int = 0, layers: int = 2) -> Transformer:
    return build(toy_config(dropout=dropout, layers=layers), seed=seed)


def toy_settings(**changes: object) -> TrainSection:
    usual: dict[str, object] = {"steps": 6, "batch": 8, "precision": "float32", "compile": "off", "learning_rate": 3e-3}
    return TrainSection.model_validate(usual | changes)
