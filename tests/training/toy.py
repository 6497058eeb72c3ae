"""A small task in memory: rows of random tokens, some masked, a different number in each row."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.config import ModelConfig
from glassformer.models.families import bert
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer, build
from glassformer.runtime.device import Machine, choose_machine
from glassformer.scoring.cross_entropy import cross_entropy
from glassformer.tasks.predictor import evaluating
from glassformer.training.settings import TrainSection

VOCABULARY, LENGTH, ROWS = 23, 12, 20


@dataclass
class Toy:
    """Rows that follow a rule (each token is the one before it plus the row's own stride), so that there is something
    to learn; `hide` places of each row, or a number that differs from row to row. Every fourth row ends in padding.
    """

    size: int = 8
    seed: int = 0
    hide: int | None = None
    name: str = "toy"
    best: str = "-loss"
    baseline_names: tuple[str, ...] = ()
    plateau_causes: tuple[str, ...] = ()
    fingerprint: str = "toy"
    poison_step: int | None = None
    baseline_loss: float | None = math.log(VOCABULARY)
    shapes: int = 1
    weights: Mapping[str, float] = field(default_factory=lambda: {"masked_words": 1.0})
    frozen: Mapping[str, nn.Module] = field(default_factory=dict)

    @property
    def steps_per_epoch(self) -> float:
        return ROWS / self.size

    @property
    def fewest_rows(self) -> int:
        return self.size

    def rows(self, step: int) -> int:
        return self.size

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        order = np.array_split(np.arange(step * self.size, (step + 1) * self.size), parts)[part]
        return self._rows(order % ROWS, order, poison=step == self.poison_step)

    def loss(self, model: Transformer, batch: Batch) -> Tensor:
        """The sum of the one loss there is."""
        return cross_entropy(model(batch.inputs, scored_at=batch.scored_at).logits, batch.labels["masked_words"])

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        return {"masked_words": self.loss(model, batch)}

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        batch = self._rows(np.arange(ROWS), np.arange(ROWS)).to(next(model.parameters()).device)
        with evaluating(model):
            return {"loss": float(self.loss(model, batch)) / batch.counts["masked_words"], "rows": float(limit or 0)}

    def _rows(self, rows: np.ndarray, order: np.ndarray, *, poison: bool = False) -> Batch:
        ids, labels, real = [], [], []
        for row, place in zip(rows.tolist(), order.tolist(), strict=True):
            rng = np.random.default_rng([self.seed, row])
            start, stride = rng.integers(1, VOCABULARY), 1 + row % 3
            whole = (start + stride * np.arange(LENGTH)) % (VOCABULARY - 1) + 1
            count = self.hide if self.hide is not None else 1 + row % 4
            length = LENGTH - 2 * (row % 4 == 3)
            masked_words = np.random.default_rng([self.seed, row, place]).permutation(length)[:count]
            labels.append(np.full(LENGTH, -100))
            labels[-1][masked_words] = whole[masked_words]
            whole[masked_words] = 0
            ids.append(whole)
            real.append(np.arange(LENGTH) < length)
        vectors = torch.full((len(rows), LENGTH, 16), math.nan) if poison else None
        label = torch.tensor(np.concatenate(labels))
        return Batch(
            inputs=Inputs(ids=torch.tensor(np.array(ids)), vectors=vectors, real=torch.tensor(np.array(real))),
            labels={"masked_words": label},
            scored_at=torch.arange(len(rows) * LENGTH),
            row_ids=torch.tensor(order % (1 << 31), dtype=torch.int32),
            weights=torch.ones(len(rows)),
            counts={"masked_words": float((label >= 0).sum())},
            tokens=int(np.sum(real)),
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


def machine_of(settings: TrainSection) -> Machine:
    """The machine that these settings ask for."""
    return choose_machine(settings.device, settings.precision, settings.threads)
