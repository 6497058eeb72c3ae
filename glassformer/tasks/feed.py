"""Batches for training: which examples are in which step, how many shapes there are, and how a step is cut into parts.

The losses of a step are the task's own, or those with a teacher in addition (Hinton et al. 2015), as DistilBERT has
them (Sanh et al. 2019, §3).

E examples · B rows of a batch · S tokens of a row
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.base.errors import ConfigError
from glassformer.data.batches.batch import Integers, Order
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.batches.pack import BucketOrder, choose_lengths
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import cosine_loss
from glassformer.tasks import TASKS, task_named
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.task import Both, Source, Task

SOFT, COSINE = "soft_labels", "hidden_states"
"""Losses with a teacher."""


class Feed(Protocol):
    """All that training sees of a task and its data. Two runs with the same `fingerprint` see the same examples;
    `shapes` is how many shapes the batches of a run have; a step is cut into `parts`, of which `rows` is the largest
    number, and `fewest_rows` that of the smallest step.
    """

    name: str
    best: str
    baseline_names: tuple[str, ...]
    plateau_causes: tuple[str, ...]
    weights: Mapping[str, float]
    frozen: Mapping[str, nn.Module]

    @property
    def fingerprint(self) -> str: ...
    @property
    def steps_per_epoch(self) -> float: ...
    @property
    def shapes(self) -> int: ...
    @property
    def fewest_rows(self) -> int: ...
    @property
    def baseline_loss(self) -> float | None: ...
    def rows(self, step: int) -> int: ...
    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        """One of the `parts` of a step: a pure function of data, seed and these numbers."""

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]: ...
    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]: ...


class TaskFeed:
    """A task's source as batches of `batch` examples, or of `tokens` tokens with padding (of the target where there is
    one). Rows are sorted into at most twelve lengths, filled with rows of weight 0: a compiled step sees no other
    shape.
    """

    def __init__(
        self, task: Task, source: Source, *, batch: int = 32, tokens: int | None = None, seed: int = 0
    ) -> None:
        self.task, self.source = task, source
        self.name, self.best = task.section.name, task.section.kept_by
        self.baseline_names, self.plateau_causes = task.baseline_names, task.plateau_causes
        self.weights, self.frozen = task.weights, task.frozen
        lengths = source.lengths
        self._order: Order | BucketOrder
        if isinstance(lengths, int):
            self._lengths = np.array([[lengths]])
            self._order = Order(len(source), int(self._rows(tokens, batch)[0]), source.fingerprint, seed)
        else:
            if lengths.ndim == 1:
                usual = batch if tokens is None else max(1, int(tokens / max(1.0, float(lengths.mean()))))
                self._lengths = choose_lengths(lengths, usual)[:, None]
                bucket_of = np.searchsorted(self._lengths[:, 0], lengths)
            else:
                self._lengths, bucket_of = np.unique(lengths, axis=0, return_inverse=True)
            self._order = BucketOrder(
                bucket_of.reshape(-1), self._rows(tokens, batch), fingerprint=source.fingerprint, seed=seed
            )
        # Where the weights of examples differ (the windows of a long text share one), a step is divided by the mean of
        # the epoch, not by its own sum: else the windows that fill a batch would weigh as much as whole texts.
        slots = self._order.slots if isinstance(self._order, BucketOrder) else len(self._order) * self._order.batch
        self._counts = {name: total / slots for name, total in (source.total_counts or {}).items()}

    def _rows(self, tokens: int | None, batch: int) -> Integers:
        """The examples of a batch of each shape [N]."""
        if tokens is None:
            return np.full(len(self._lengths), batch, np.int64)
        return np.maximum(1, tokens // (self._lengths[:, -1] * self.source.rows_of_each))

    @property
    def fingerprint(self) -> str:
        return self.source.fingerprint

    @property
    def steps_per_epoch(self) -> float:
        return len(self.source) / self._order.batch if isinstance(self._order, Order) else float(len(self._order))

    @property
    def shapes(self) -> int:
        """How many different shapes the batches of a run have, as long as its steps are cut into equal parts."""
        return len(self._lengths)

    @property
    def fewest_rows(self) -> int:
        return self._order.batch if isinstance(self._order, Order) else int(self._order.rows.min())

    @property
    def baseline_loss(self) -> float | None:
        return self.task.baseline_loss

    def rows(self, step: int) -> int:
        return self._shape(step)[0]

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        """One of the `parts` of a step; raises ConfigError when there are fewer examples in a batch than parts."""
        rows, *lengths = self._shape(step)
        if not 0 < parts <= rows:
            raise ConfigError("each part of a step needs an example", got=f"{rows} examples for {parts} parts")
        examples, epochs = self._order.of_step(step)
        mine = np.array_split(np.arange(rows), parts)[part]
        here = mine[mine < len(examples)]
        each = self.source.rows_of_each
        count = -(-rows // parts) * each
        chosen = here if len(here) else np.zeros(1, np.int64)
        batch = self.source.batch(examples[chosen], epochs[chosen], shape=(count, *lengths))
        numbered = mine[:1] * each + np.arange(count)  # [B]
        if not len(here):  # no example is left for this part of the step: its shape is that of the others
            batch = replace(
                batch,
                labels={name: torch.full_like(labels, IGNORED) for name, labels in batch.labels.items()},
                counts=dict.fromkeys(batch.counts, 0.0),
                weights=torch.zeros_like(batch.weights),
                tokens=0,
            )
        counts = {**batch.counts, **{name: count * len(mine) for name, count in self._counts.items()}}
        return replace(batch, counts=counts, present=batch.counts, row_ids=torch.from_numpy(numbered.astype(np.int32)))

    def examples(self, step: int) -> Integers:
        """The numbers in the source of what a step has, in order."""
        return self._order.of_step(step)[0]

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        return self.task.losses(model, batch)

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        """The task's scores and its loss, which decides between models of equal scores (F1 is often 0 at first)."""
        scores = self.task.evaluate_in_training(model, self.source, limit=limit).flat()
        return scores if "loss" in scores else scores | {"loss": self._loss(model, limit)}

    def _loss(self, model: Transformer, limit: int | None) -> float:
        """The weighted sum of the mean losses over the batches of an epoch, or over the first `limit` rows of them."""
        sums: dict[str, float] = defaultdict(float)
        counts: dict[str, float] = defaultdict(float)
        rows = 0
        device = next(model.parameters()).device
        with evaluating(model):
            for step in range(math.ceil(self.steps_per_epoch)):
                batch = self.batch(step)
                for name, loss in self.losses(model, batch.to(device)).items():
                    sums[name] += loss.item()
                    counts[name] += (batch.counts if batch.present is None else batch.present)[name]
                rows += self.rows(step)
                if limit is not None and rows >= limit:
                    break
        return math.fsum(self.weights[name] * each / counts[name] for name, each in sums.items() if counts[name])

    def _shape(self, step: int) -> list[int]:
        if isinstance(self._order, Order):
            return [self._order.batch, *self._lengths[0].tolist()]
        bucket = self._order.bucket_of_step(step)
        return [int(self._order.rows[bucket]), *self._lengths[bucket].tolist()]


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
    """A task's batches, with the task's own losses and those with a frozen teacher."""

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
    if not task.soft:
        raise ConfigError(
            "only a student that is an encoder can learn from a teacher",
            got=f"the task {task.Section.model_fields['name'].default}",
            do=f"name a teacher for one of: {', '.join(sorted(name for name in TASKS if task_named(name).soft))}",
        )
