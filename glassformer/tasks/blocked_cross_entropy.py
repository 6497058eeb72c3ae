"""Cross-entropy over a large vocabulary, whose scores are never in memory for all tokens together.

N tokens · n tokens of a block · W width · V vocabulary
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from glassformer.data.corrupt import IGNORED
from glassformer.errors import ShapeError
from glassformer.tasks.cross_entropy import widened

# Scores of a block, tokens times vocabulary.
_SCORES = 1 << 21


def blocked_cross_entropy(
    states: Tensor, table: Tensor, bias: Tensor | None, labels: Tensor, *, smoothing: float = 0.0
) -> Tensor:
    """The sum over the labels that are not IGNORED of (1 − ε)·(−log p[label]) + ε·mean over V of (−log p), with
    p = softmax(states · tableᵀ + bias) and ε = `smoothing`, a scalar of at least float32.

    States [N, W], vectors of the vocabulary [V, W], bias [V], labels [N]. The right answer so has the probability
    1 − ε + ε/V and each other ε/V (Szegedy et al. 2016, §7; Vaswani et al. 2017, §5.4; torch's `label_smoothing`).
    Computed block by block, gradient included, so that memory holds the scores of one block. In the
    type of autocast where it is on, sums at least in float32. Raises ShapeError when the shapes do not match.
    """
    if states.dim() != 2 or labels.shape != states.shape[:1]:
        raise ShapeError("each state needs one label", got=f"states {list(states.shape)}, labels {list(labels.shape)}")
    device = states.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
    with torch.autocast(device, enabled=False):
        total: Tensor = _Blocked.apply(states.to(kind), table.to(kind), bias, labels, smoothing)  # type: ignore[no-untyped-call]
    return total


class _Blocked(torch.autograd.Function):
    """The loss and, as it is a scalar, its whole gradient in one pass: the backward pass only scales it."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, table: Tensor, bias: Tensor | None, labels: Tensor, smoothing: float
    ) -> Tensor:
        count, vocabulary = states.shape[0], table.shape[0]
        wide = torch.promote_types(states.dtype, torch.float32)
        total = torch.zeros((), dtype=wide, device=states.device)
        of_states = torch.empty_like(states)  # [N, W]
        of_table = torch.zeros(table.shape, dtype=wide, device=table.device)  # [V, W]
        of_bias = None if bias is None else torch.zeros(vocabulary, dtype=wide, device=table.device)  # [V]
        tokens = torch.arange(vocabulary, dtype=torch.int32, device=labels.device)  # [V]
        share = smoothing / vocabulary
        for start in range(0, count, block_rows(count, vocabulary)):
            block = slice(start, start + block_rows(count, vocabulary))
            scores = widened(states[block] @ table.T)  # [n, V]
            if bias is not None:
                scores = scores + bias
            asked = labels[block] != IGNORED  # [n]
            label = labels[block].where(asked, 0)  # [n]
            normalizer = scores.logsumexp(dim=-1)  # [n]
            right = scores.gather(1, label[:, None])[:, 0]  # [n]
            losses = normalizer - (1 - smoothing) * right  # [n]
            if smoothing:
                losses = losses - share * scores.sum(dim=-1)
            total = total + losses.where(asked, 0).sum()
            wanted = (tokens == label[:, None].int()).to(wide) * (1 - smoothing) + share  # [n, V]
            gradient = (((scores - normalizer[:, None]).exp() - wanted) * asked[:, None]).to(states.dtype)  # [n, V]
            of_states[block] = gradient @ table
            of_table += gradient.T @ states[block]
            if of_bias is not None:
                of_bias += gradient.sum(dim=0, dtype=wide)
        ctx.save_for_backward(of_states, of_table, of_bias)
        ctx.kinds = table.dtype, None if bias is None else bias.dtype
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        of_states, of_table, of_bias = ctx.saved_tensors
        (scale,) = gradients
        return (
            of_states * scale.to(of_states.dtype),
            (of_table * scale).to(ctx.kinds[0]),
            None if of_bias is None else (of_bias * scale).to(ctx.kinds[1]),
            None,
            None,
        )


def block_rows(count: int, vocabulary: int) -> int:
    """The tokens of a block: equal blocks, as few as keep the scores of each small."""
    blocks = -(-count * vocabulary // _SCORES)
    return -(-count // blocks)
