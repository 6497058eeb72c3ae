"""The position-wise feed-forward network, plain or gated.

B sentences · S tokens · W width · F feed-forward width
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.config import FeedForwardConfig
from glassformer.parts.context import Context
from glassformer.parts.dropout import Dropout
from glassformer.parts.projection import Projection
from glassformer.parts.tap import tap


def gelu_tanh(x: Tensor) -> Tensor:
    """0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))) (Hendrycks & Gimpel 2016): not the exact GELU."""
    return F.gelu(x, approximate="tanh")


def relu2(x: Tensor) -> Tensor:
    """max(0, x)² (So et al. 2021)."""
    return F.relu(x).square()


def quick_gelu(x: Tensor) -> Tensor:
    """x · sigmoid(1.702 x) (Hendrycks & Gimpel 2016)."""
    return x * torch.sigmoid(1.702 * x)


def gelu_10(x: Tensor) -> Tensor:
    """The exact GELU, cut off at -10 and 10 (Wu et al. 2020, arXiv 2004.09602)."""
    return F.gelu(x).clamp(-10.0, 10.0)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": gelu_tanh,
    "silu": F.silu,
    "tanh": torch.tanh,
    "relu2": relu2,
    "quick_gelu": quick_gelu,
    "gelu_10": gelu_10,
    "mish": F.mish,
}


class FeedForward(nn.Module):
    """output(activation(hidden(x))), two layers on each token alone (Vaswani et al. 2017, eq. 2)."""

    taps: tuple[str, ...] = ("hidden", "activated", "output")

    def __init__(self, config: FeedForwardConfig, width: int) -> None:
        super().__init__()
        self.hidden = Projection(width, config.width, bias=config.bias)
        self.output = Projection(config.width, width, bias=config.bias)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """[B, S, W] to [B, S, W]."""
        activated = tap(self, "activated", self.activated(x, context))  # [B, S, F]
        kept = self.dropout(activated, context.dropout_key, context.tokens)
        return tap(self, "output", self.output(kept, context.dropout_key, context.tokens))  # [B, S, W]

    def activated(self, x: Tensor, context: Context) -> Tensor:
        """[B, S, W] to [B, S, F]."""
        return self.activation(tap(self, "hidden", self.hidden(x, context.dropout_key, context.tokens)))


class GatedFeedForward(FeedForward):
    """output(activation(gate(x)) · hidden(x)): the gate scales each number (Shazeer 2020)."""

    taps = ("gate", "hidden", "activated", "output")

    def __init__(self, config: FeedForwardConfig, width: int) -> None:
        super().__init__(config, width)
        self.gate = Projection(width, config.width, bias=config.bias)

    def activated(self, x: Tensor, context: Context) -> Tensor:
        """[B, S, W] to [B, S, F]."""
        gate = tap(self, "gate", self.gate(x, context.dropout_key, context.tokens))  # [B, S, F]
        hidden = tap(self, "hidden", self.hidden(x, context.dropout_key, context.tokens))  # [B, S, F]
        return self.activation(gate) * hidden


def build_feed_forward(config: FeedForwardConfig, width: int) -> FeedForward:
    return (GatedFeedForward if config.gated else FeedForward)(config, width)
