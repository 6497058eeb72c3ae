"""Cross-entropy: the negative log-probability of the right one of V choices.

N labels · V vocabulary
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.errors import ShapeError
from glassformer.data.batches.corrupt import IGNORED


def cross_entropy(logits: Tensor | None, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """The sum of −log softmax(logits)[label] over the labels that are not IGNORED, a scalar of at least float32.

    Logits [..., V] of any float type, labels [...], and optionally a weight for each label [...]. Raises ShapeError
    when these shapes do not match, or when the model has no logits.
    """
    if logits is None:
        raise ShapeError("a loss needs logits", got="a model without the head that was asked for")
    if logits.shape[:-1] != labels.shape:
        raise ShapeError(
            "each row of logits needs one label", got=f"logits {list(logits.shape)} and labels {list(labels.shape)}"
        )
    logits, labels = widened(logits).flatten(0, -2), labels.flatten()  # [N, V], [N]
    if weights is not None:
        each = F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="none")  # [N]
        return (each * weights.flatten().to(each.dtype)).sum()
    if torch.compiler.is_compiling():
        total: Tensor = _Compiled.apply(logits, labels)  # type: ignore[no-untyped-call]
        return total
    return F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")


def widened(logits: Tensor) -> Tensor:
    """At least float32: bfloat16 is too imprecise for a sum over a vocabulary."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class _Compiled(torch.autograd.Function):
    """The same sum with its gradient in closed form, softmax(logits) − one-hot(label).

    Compiled, this needs one pass over the logits, and torch's own derivative needs three. It is used only when
    compiled: torch's eager kernels are faster, and can be differentiated twice.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        asked = labels != IGNORED  # [N]
        log_probabilities = logits.log_softmax(dim=-1)  # [N, V]
        right = log_probabilities.gather(1, labels.where(asked, 0)[:, None])[:, 0]  # [N]
        ctx.save_for_backward(log_probabilities, labels)
        return -right.where(asked, 0).sum()  # []

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        log_probabilities, labels = ctx.saved_tensors
        tokens = torch.arange(log_probabilities.shape[1], dtype=torch.int32, device=labels.device)  # [V]
        right = tokens == labels.int()[:, None]  # [N, V]
        weight = gradients[0].where(labels != IGNORED, 0)[:, None]  # [N, 1]
        return (log_probabilities.exp() - right.to(log_probabilities.dtype)) * weight, None  # [N, V]
