"""Matrices as oneDNN lays them out, for a text that is written token by token on a processor.

A step multiplies a few rows by every matrix of the decoder. `F.linear` reads a matrix as it stands; laid out in blocks
it is read up to twice as fast (decisions/2026-11-23-one-row-times-a-matrix.md).

N rows · I inputs · O outputs, or tokens of a vocabulary
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.models.heads import VocabularyHead
from glassformer.models.transformer import Transformer
from glassformer.parts.projection import Projection

LEAST_NUMBERS = 2**19
"""Smaller matrices stay in the caches, and are multiplied as they are."""

MOST_ROWS = 64
"""More rows are multiplied by the matrix as it stands: oneDNN keeps some memory for each number of rows."""

MOST_BYTES = 2**30
"""The matrices stand in memory twice; larger ones together than this stay as they are."""


class LaidOut:
    """x Wᵀ + b of few rows in float32, up to rounding what `F.linear` gives; all else is left to `F.linear`."""

    def __init__(self, weight: Tensor) -> None:
        """`weight` [O, I] in float32, on a processor."""
        self.matrix: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), 1)

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Inputs [..., I] to outputs [..., O]."""
        rows = x.numel() // x.shape[-1]
        if rows > MOST_ROWS or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):
            return F.linear(x, weight, bias)  # [..., O]
        found: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.matrix, bias, "none", [], "")
        return found  # [..., O]


@contextmanager
def laid_out(model: Transformer) -> Iterator[None]:
    """Within, the large matrices of the stack that writes are laid out for float32 on a processor."""
    layers: list[tuple[Projection | VocabularyHead, Tensor]] = [
        (layer, layer.weight) for layer in model.output_stack.modules() if isinstance(layer, Projection)
    ]
    if model.head is not None:
        layers.append((model.head, model.word_table if model.head.weight is None else model.head.weight))
    chosen = [
        (layer, weight)
        for layer, weight in layers
        if layer.product is F.linear and weight.numel() >= LEAST_NUMBERS and _can_be(weight)
    ]
    if sum(weight.nbytes for _, weight in chosen) > MOST_BYTES:
        chosen = []
    try:
        for layer, weight in chosen:
            layer.product = LaidOut(weight)
        yield
    finally:
        for layer, _ in chosen:
            layer.product = F.linear


def _can_be(weight: Tensor) -> bool:
    """Whether oneDNN lays out such a matrix here, and products are of its type."""
    if weight.device.type != "cpu" or weight.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):
        return False
    return bool(torch.backends.mkldnn.is_available())
