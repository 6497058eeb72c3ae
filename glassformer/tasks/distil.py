"""Learning from a teacher beside the labels (Hinton et al. 2015), as DistilBERT does (Sanh et al. 2019, §3).

B rows · S tokens of a row · N scored tokens · L labels · V vocabulary · W width
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.data.corrupt import IGNORED
from glassformer.errors import ConfigError, did_you_mean
from glassformer.models.inputs import Batch, Output
from glassformer.models.transformer import Transformer
from glassformer.tasks.classify import Classify
from glassformer.tasks.cross_entropy import widened
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.masked_lm import MaskedLM
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


class Scored(NamedTuple):
    """A task's own losses from what a model has answered, and the name of one of them; the logits [N, L] that a student
    shares with its teacher, and how much each of the N counts.
    """

    losses: Callable[[Any, Output, Batch], dict[str, Tensor]]
    loss: str
    logits: Callable[[Output], Tensor | None]
    weights: Callable[[Batch], Tensor]


# By task: what is compared with the teacher.
TAUGHT: dict[type[Task], Scored] = {
    Classify: Scored(Classify.losses_of, "label", lambda output: output.sentence_logits, lambda batch: batch.weights),
    MaskedLM: Scored(
        MaskedLM.losses_of,
        "masked_words",
        lambda output: output.logits,
        lambda batch: (batch.labels["masked_words"] != IGNORED).flatten().float(),
    ),
}


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
        self.scored, self.teaching, self.teacher = scored_of(task), teaching, teacher
        shares = {name: teaching.hard * weight for name, weight in self.weights.items()}
        shares |= {SOFT: teaching.soft, COSINE: teaching.cosine}
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
            every = {**counts, SOFT: counts[self.scored.loss], COSINE: tokens}
            return {name: count for name, count in every.items() if name in self.weights}

        return replace(batch, counts=more(batch.counts), present=more(present))

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        """By name, the weighted sums of the losses of a batch; both models read it once."""
        output = model(batch.inputs, scored_at=batch.scored_at)
        with torch.no_grad():
            taught = self.teacher(batch.inputs, scored_at=batch.scored_at)
        found = self.scored.losses(self.task, output, batch)
        logits, its = self.scored.logits(output), self.scored.logits(taught)
        assert logits is not None
        assert its is not None
        found[SOFT] = soft_loss(
            logits, its, self.scored.weights(batch), self.teaching.temperature, several=_several(self.task)
        )
        if self.teaching.cosine:
            found[COSINE] = cosine_loss(output.states, taught.states, batch.inputs.real, batch.weights)
        return {name: loss for name, loss in found.items() if name in self.weights}


def scored_of(task: Task | type[Task]) -> Scored:
    """What a task's models share with a teacher; raises ConfigError for a task that has no teachers."""
    kind = task if isinstance(task, type) else type(task)
    if kind not in TAUGHT:
        known = [each.Section.model_fields["name"].default for each in TAUGHT]
        name = kind.Section.model_fields["name"].default
        raise ConfigError("a student learns one of these tasks from a teacher", got=name, do=did_you_mean(name, known))
    return TAUGHT[kind]


def soft_loss(logits: Tensor, teacher: Tensor, weights: Tensor, temperature: float, *, several: bool = False) -> Tensor:
    """T² · Σ weight · KL(teacher ‖ student), both at the temperature T: of logits [N, L] and weights [N], a scalar.

    T² makes its gradient as large as that of hard labels (Hinton et al. 2015, §2). With `several` each label is a
    choice of its own between yes and no, and the mean over the labels counts.
    """
    student, its = widened(logits) / temperature, widened(teacher) / temperature  # [N, L]
    if several:
        yes, no = F.logsigmoid(its), F.logsigmoid(-its)  # [N, L]
        apart = yes.exp() * (yes - F.logsigmoid(student)) + no.exp() * (no - F.logsigmoid(-student))  # [N, L]
        each = apart.mean(dim=-1)  # [N]
    else:
        right = its.log_softmax(dim=-1)  # [N, L]
        each = (right.exp() * (right - student.log_softmax(dim=-1))).sum(dim=-1)  # [N]
    return temperature**2 * (each * weights.to(each.dtype)).sum()


def cosine_loss(states: Tensor, teacher: Tensor, real: Tensor | None, weights: Tensor) -> Tensor:
    """Σ (1 − cosine of both states) over the tokens [B, S] that are no padding, in rows whose weight is above 0: of
    states [B, S, W], a scalar.
    """
    cosine = F.cosine_similarity(widened(states), widened(teacher), dim=-1)  # [B, S]
    counted = (weights > 0)[:, None] & torch.ones_like(cosine, dtype=torch.bool)  # [B, S]
    counted = counted if real is None else counted & real
    return torch.where(counted, 1 - cosine, torch.zeros((), dtype=cosine.dtype)).sum()


def _several(task: Task) -> bool:
    return bool(getattr(task.section, "several", False))
