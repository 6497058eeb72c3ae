"""Learning from a teacher beside the labels (Hinton et al. 2015), as DistilBERT does (Sanh et al. 2019, §3).

B rows · S tokens of a row · W width
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.errors import ConfigError
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import widened
from glassformer.tasks import TASKS, task_named
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.soft_losses import Both
from glassformer.tasks.task import Source, Task

SOFT, COSINE = "soft_labels", "hidden_states"


@dataclass(frozen=True)
class Teaching:
    """How much each loss counts: `hard`, the task's own; `soft`, the divergence from the teacher's probabilities at
    this `temperature`; `cosine`, 1 − the cosine between the last states of both.
    """

    temperature: float = 2.0
    soft: float = 5.0
    hard: float = 2.0
    cosine: float = 1.0


class TaughtFeed(TaskFeed):
    """A task's batches, whose losses are the task's own, and those beside a teacher that stays as it is."""

    def __init__(
        self,
        task: Task,
        source: Source,
        teacher: Transformer,
        teaching: Teaching,
        *,
        batch: int = 32,
        tokens: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(task, source, batch=batch, tokens=tokens, seed=seed)
        self.teaching, self.teacher = teaching, teacher
        # By the name of the task's loss, that of its soft one: `soft_labels` where there is one alone.
        self.soft = {name: SOFT if len(task.soft) == 1 else f"{SOFT}_{name}" for name in task.soft}
        shares = {name: teaching.hard * weight for name, weight in self.weights.items()}
        shares |= {self.soft[name]: teaching.soft * weight for name, weight in self.weights.items()}
        shares[COSINE] = teaching.cosine
        self.weights: Mapping[str, float] = {name: share for name, share in shares.items() if share}
        self.frozen = {"teacher": teacher}

    @property
    def baseline_loss(self) -> None:
        """Not known: the sum of several losses."""
        return None

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        """As the task's, with counts for the teacher's losses: as many labels, and the tokens of rows that count."""
        batch = super().batch(step, part, parts)
        rows = (batch.weights > 0)[:, None]  # [B, 1]
        real = torch.ones(batch.inputs.shape, dtype=torch.bool) if batch.inputs.real is None else batch.inputs.real
        tokens = float((real & rows).sum())
        present = batch.counts if batch.present is None else batch.present

        def more(counts: Mapping[str, float]) -> dict[str, float]:
            every = {**counts, **{soft: counts[name] for name, soft in self.soft.items()}, COSINE: tokens}
            return {name: count for name, count in every.items() if name in self.weights}

        return replace(batch, counts=more(batch.counts), present=more(present))

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        """By name, the weighted sums of the losses of a batch; both models read it once."""
        output = model(batch.inputs, scored_at=batch.scored_at)
        with torch.no_grad():
            taught = self.teacher(batch.inputs, scored_at=batch.scored_at)
        found = self.task.losses_of(model, output, batch)
        if self.teaching.soft:
            both = Both(model, self.teacher, output, taught, batch, self.teaching.temperature)
            found |= {soft: self.task.soft[name](self.task, both) for name, soft in self.soft.items()}
        if self.teaching.cosine:
            found[COSINE] = cosine_loss(output.states, taught.states, batch.inputs.real, batch.weights)
        return {name: loss for name, loss in found.items() if name in self.weights}


def check_taught(task: type[Task]) -> None:
    """Raise ConfigError for a task that has no students."""
    if not task.soft:
        raise ConfigError(
            "a student learns from a teacher what encoders answer",
            got=f"the task {task.Section.model_fields['name'].default}",
            do=f"name a teacher for one of: {', '.join(sorted(name for name in TASKS if task_named(name).soft))}",
        )


def cosine_loss(states: Tensor, teacher: Tensor, real: Tensor | None, weights: Tensor) -> Tensor:
    """Σ (1 − cosine of both states) over the tokens [B, S] that are no padding, in rows whose weight is above 0: of
    states [B, S, W], a scalar.
    """
    cosine = F.cosine_similarity(widened(states), widened(teacher), dim=-1)  # [B, S]
    counted = (weights > 0)[:, None] & torch.ones_like(cosine, dtype=torch.bool)  # [B, S]
    counted = counted if real is None else counted & real
    return torch.where(counted, 1 - cosine, torch.zeros((), dtype=cosine.dtype)).sum()
