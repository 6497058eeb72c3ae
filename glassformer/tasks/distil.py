"""Learning from a teacher beside the labels (Hinton et al. 2015), as DistilBERT does (Sanh et al. 2019, §3).

B rows · S tokens of a row · N scored tokens · L labels · V vocabulary · W width · G groups of candidates · C candidates
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.data.corrupt import IGNORED
from glassformer.errors import ConfigError
from glassformer.models.inputs import Batch, Output
from glassformer.models.transformer import Transformer
from glassformer.tasks.annotated_masks import AnnotatedMasks
from glassformer.tasks.answer import AnswerQuestions
from glassformer.tasks.bert import Bert
from glassformer.tasks.choose import Choose, grouped
from glassformer.tasks.classify import Classify
from glassformer.tasks.cross_entropy import widened
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.masked_lm import MaskedLM
from glassformer.tasks.regress import Regress, squared_error
from glassformer.tasks.sentence_order import SentenceOrder
from glassformer.tasks.tag import Tag, crf_of
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


class Both(NamedTuple):
    """A student and its teacher, what both have answered about a batch, and the temperature of their probabilities."""

    student: Transformer
    teacher: Transformer
    answered: Output
    taught: Output
    batch: Batch
    temperature: float


class Scored(NamedTuple):
    """A task's own losses from what a student has answered and, by the name of each of them, how far its answers are
    from the teacher's: a weighted sum over as many labels as that loss has.
    """

    soft: Mapping[str, Callable[[Any, Both], Tensor]]
    losses: Callable[[Any, Both], dict[str, Tensor]] = lambda task, both: task.losses_of(both.answered, both.batch)


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
        # By the name of the task's loss, that of its soft one: `soft_labels` where there is one alone.
        self.soft = {name: SOFT if len(self.scored.soft) == 1 else f"{SOFT}_{name}" for name in self.scored.soft}
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
        both = Both(model, self.teacher, output, taught, batch, self.teaching.temperature)
        found = self.scored.losses(self.task, both)
        if self.teaching.soft:
            found |= {soft: self.scored.soft[name](self.task, both) for name, soft in self.soft.items()}
        if self.teaching.cosine:
            found[COSINE] = cosine_loss(output.states, taught.states, batch.inputs.real, batch.weights)
        return {name: loss for name, loss in found.items() if name in self.weights}


def scored_of(task: Task | type[Task]) -> Scored:
    """What a task's models share with a teacher; raises ConfigError for a task that has no teachers."""
    kind = task if isinstance(task, type) else type(task)
    if kind not in TAUGHT:
        known = ", ".join(sorted(each.Section.model_fields["name"].default for each in TAUGHT))
        raise ConfigError(
            "a student learns from a teacher what encoders answer",
            got=f"the task {kind.Section.model_fields['name'].default}",
            do=f"name a teacher for one of: {known}",
        )
    return TAUGHT[kind]


# --------------------------------------------------------------------------- losses


def soft_loss(
    logits: Tensor,
    teacher: Tensor,
    weights: Tensor,
    temperature: float,
    *,
    several: bool = False,
    among: Tensor | None = None,
) -> Tensor:
    """T² · Σ weight · KL(teacher ‖ student), both at the temperature T: of logits [N, L] and weights [N], a scalar.

    T² makes its gradient as large as that of hard labels (Hinton et al. 2015, §2). With `several` each label is a
    choice of its own between yes and no, and the mean over the labels counts. Choices that are False in `among` [N, L],
    such as padding, have no probability.
    """
    student, its = widened(logits) / temperature, widened(teacher) / temperature  # [N, L]
    if among is not None:  # the lowest finite number, as the tasks have it: −inf less itself would be NaN
        lowest = torch.finfo(student.dtype).min
        student, its = student.masked_fill(~among, lowest), its.masked_fill(~among, lowest)
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


def _answers(both: Both, head: str) -> tuple[Tensor, Tensor]:
    """What one head of the student and that of its teacher have answered. No method: torch compiles none of a tuple."""
    student, teacher = getattr(both.answered, head), getattr(both.taught, head)
    assert student is not None
    assert teacher is not None
    return student, teacher


def _of_texts(task: Any, both: Both) -> Tensor:
    """The label of each row."""
    logits, its = _answers(both, "sentence_logits")  # [B, L]
    return soft_loss(logits, its, both.batch.weights, both.temperature)


def _of_label_sets(task: Any, both: Both) -> Tensor:
    """The label of each row, or its labels where it may have several."""
    logits, its = _answers(both, "sentence_logits")  # [B, L]
    return soft_loss(logits, its, both.batch.weights, both.temperature, several=task.section.several)


def _of_masked_words(task: Any, both: Both) -> Tensor:
    """The vocabulary at each masked word."""
    logits, its = _answers(both, "logits")  # [N, V]
    weights = (both.batch.labels["masked_words"] != IGNORED).flatten().float()  # [N]
    return soft_loss(logits, its, weights, both.temperature)


def _of_numbers(task: Any, both: Both) -> Tensor:
    """The squared error to the teacher's number, which has no temperature: both are in units of the deviation."""
    number, its = _answers(both, "sentence_logits")  # [B, 1]
    return squared_error(number, widened(its)[:, 0], both.batch.weights)


def _of_candidates(task: Any, both: Both) -> Tensor:
    """The candidates of each group."""
    scores, real, weights = grouped(both.answered, both.batch)  # [G, C], [G, C], [G]
    its, _, _ = grouped(both.taught, both.batch)
    return soft_loss(scores, its, weights, both.temperature, among=real)


def _of_words(task: Any, both: Both) -> Tensor:
    """The labels of each word; with a CRF, of all words of a row together."""
    logits, its = _answers(both, "token_logits")  # [B, S, L]
    asked, rows = both.batch.labels["tag"] != IGNORED, both.batch.weights  # [B, S], [B]
    crf, teacher = crf_of(both.student), crf_of(both.teacher)
    if crf is not None and teacher is not None:
        each = crf.divergence(logits, asked, teacher, its, both.temperature)  # [B]
        return both.temperature**2 * (each * rows.to(each.dtype)).sum()
    weights = (asked * rows[:, None]).flatten()  # [B · S]
    return soft_loss(logits.flatten(0, 1), its.flatten(0, 1), weights, both.temperature)


def _of_ends(side: int) -> Callable[[Any, Both], Tensor]:
    """The tokens of a row, as that at which the answer starts (0) or ends (1)."""

    def of(task: Any, both: Both) -> Tensor:
        logits, its = (each[..., side] for each in _answers(both, "token_logits"))  # [B, S]
        return soft_loss(logits, its, both.batch.weights, both.temperature, among=both.batch.inputs.real)

    return of


# By task: what is compared with the teacher.
TAUGHT: dict[type[Task], Scored] = {
    Classify: Scored({"label": _of_label_sets}),
    SentenceOrder: Scored({"sentence_order": _of_texts}),
    Regress: Scored({"number": _of_numbers}),
    Choose: Scored({"choice": _of_candidates}),
    Tag: Scored({"tag": _of_words}, lambda task, both: task.losses_of(both.student, both.answered, both.batch)),
    AnswerQuestions: Scored({"start": _of_ends(0), "end": _of_ends(1)}),
    MaskedLM: Scored({"masked_words": _of_masked_words}),
    AnnotatedMasks: Scored({"masked_words": _of_masked_words}),
    Bert: Scored({"masked_words": _of_masked_words, "next_sentence": _of_texts}),
}
