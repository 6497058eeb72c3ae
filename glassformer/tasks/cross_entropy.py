"""The loss of a choice among V: how surprised the model was by the right one.

N places · V vocabulary
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glassformer.data.corrupt import IGNORED


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum of −log softmax(logits)[label] over the places whose label is not IGNORED, a scalar of at least float32.

    Logits [N, V] of any float type: a sum over a vocabulary would drown in bfloat16, so it is made in float32.
    """
    total: Tensor = _CrossEntropy.apply(widened(logits), labels)  # type: ignore[no-untyped-call]
    return total


def widened(logits: Tensor) -> Tensor:
    """At least float32."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class _CrossEntropy(torch.autograd.Function):
    """With its gradient in closed form, softmax(logits) − one-hot(label): compiled, one pass over the logits.

    The chain of log_softmax and a choice that torch differentiates for `F.cross_entropy` makes three of them. In return
    torch refuses to differentiate it twice.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        asked = labels != IGNORED  # [N]
        log_probabilities = logits.log_softmax(dim=-1)  # [N, V]
        right = log_probabilities.gather(1, labels.where(asked, 0)[:, None])[:, 0]  # [N]
        ctx.save_for_backward(log_probabilities, labels)
        return -right.where(asked, 0).sum()  # []

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        log_probabilities, labels = ctx.saved_tensors
        pieces = torch.arange(log_probabilities.shape[1], dtype=torch.int32, device=labels.device)  # [V]
        right = pieces == labels.int()[:, None]  # [N, V]
        weight = gradients[0].where(labels != IGNORED, 0)[:, None]  # [N, 1]
        return log_probabilities.exp().add_(right, alpha=-1).mul_(weight), None  # [N, V]
