"""A linear layer of a block, and the low-rank product that may be added to it while it is adapted.

B sentences · S tokens · I inputs · O outputs · R rank
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.parts.dropout import Dropout, DropoutKey

# Vectors [..., I], rows [O, I] and a bias [O] or None to [..., O].
Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]


class Adapter(nn.Module):
    """(alpha / R) · x downᵀ upᵀ: what is added to a frozen x Wᵀ (Hu et al. 2021, §4.1; their A is `down`, B is `up`).
    `up` begins at zero, so that nothing is added before the first step.
    """

    def __init__(self, inputs: int, outputs: int, *, rank: int, alpha: float, dropout: float) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.empty(rank, inputs))  # [R, I]
        self.up = nn.Parameter(torch.zeros(outputs, rank))  # [O, R]
        self.scale = alpha / rank
        self.dropout = Dropout(dropout)

    def draw(self, generator: torch.Generator) -> None:
        """Draw `down` from ±1/√I, as torch draws the weights of a linear layer."""
        limit = 1.0 / math.sqrt(self.down.shape[1])
        with torch.no_grad():
            self.down.copy_(torch.empty(self.down.shape).uniform_(-limit, limit, generator=generator))

    def forward(self, x: Tensor, dropout_key: DropoutKey | None, tokens: Tensor | None) -> Tensor:
        """[B, S, I] to [B, S, O]."""
        low = F.linear(self.dropout(x, dropout_key, tokens), self.down)  # [B, S, R]
        return F.linear(low, self.up) * self.scale  # [B, S, O]

    @torch.no_grad()
    def product(self) -> Tensor:
        """(alpha / R) · up down in float64 on the CPU: what it changes of the weight. [O, I]"""
        return self.scale * (self.up.cpu().double() @ self.down.cpu().double())


class Projection(nn.Linear):
    """x Wᵀ + b. `adapter` is an empty slot, except in a training that adapts the layer; `product` multiplies."""

    adapter: Adapter | None
    product: Product

    def __init__(self, inputs: int, outputs: int, *, bias: bool) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self.adapter = None
        self.product = F.linear

    def forward(self, x: Tensor, dropout_key: DropoutKey | None = None, tokens: Tensor | None = None) -> Tensor:
        """[..., I] to [..., O]; `tokens` [B, S] are places in the row where these are not 0 … S-1."""
        output = self.product(x, self.weight, self.bias)
        return output if self.adapter is None else output + self.adapter(x, dropout_key, tokens)

    @torch.no_grad()
    def merge(self) -> None:
        """Add the adapter's product to the weight and empty the slot. Sums are rounded once, from float64."""
        if self.adapter is not None:
            self.weight.copy_(self.weight.cpu().double() + self.adapter.product())
            self.adapter = None
