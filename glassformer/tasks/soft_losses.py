"""How far a student's answers are from its teacher's: a loss beside each loss of a task (Hinton et al. 2015).

B rows · N answers · L labels · V vocabulary
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.inputs import Batch, Output
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import widened


class Both(NamedTuple):
    """A student and its teacher, what both have answered about a batch, and the temperature of their probabilities."""

    student: Transformer
    teacher: Transformer
    answered: Output
    taught: Output
    batch: Batch
    temperature: float


SoftLoss = Callable[[Any, Both], Tensor]
"""Of a task and what both have answered, a weighted sum over as many labels as the loss has that it stands beside."""


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


def answers(both: Both, head: str) -> tuple[Tensor, Tensor]:
    """What one head of the student and that of its teacher have answered. No method: torch compiles none of a tuple."""
    student, teacher = getattr(both.answered, head), getattr(both.taught, head)
    assert student is not None
    assert teacher is not None
    return student, teacher


def of_texts(task: Any, both: Both) -> Tensor:
    """The label of each row."""
    logits, its = answers(both, "sentence_logits")  # [B, L]
    return soft_loss(logits, its, both.batch.weights, both.temperature)


def of_masked_words(task: Any, both: Both) -> Tensor:
    """The vocabulary at each masked word."""
    logits, its = answers(both, "logits")  # [N, V]
    weights = (both.batch.labels["masked_words"] != IGNORED).flatten().float()  # [N]
    return soft_loss(logits, its, weights, both.temperature)
