"""How far the answers of two models are apart, for a student that learns from a teacher (Hinton et al. 2015).

B rows · S tokens of a row · N answers · L labels · W width
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.scoring.cross_entropy import widened


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
    """Σ (1 − cosine) over the tokens [B, S] that are no padding, in rows of weight above 0: states [B, S, W]."""
    cosine = F.cosine_similarity(widened(states), widened(teacher), dim=-1)  # [B, S]
    counted = (weights > 0)[:, None] & torch.ones_like(cosine, dtype=torch.bool)  # [B, S]
    counted = counted if real is None else counted & real
    return torch.where(counted, 1 - cosine, torch.zeros((), dtype=cosine.dtype)).sum()
