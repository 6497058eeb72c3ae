"""LayerNorm and RMSNorm, and the class that decides where a norm is applied.

B sentences · S tokens · W width
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.config import NormConfig, SublayerConfig
from glassformer.parts.context import Context
from glassformer.parts.dropout import Dropout
from glassformer.parts.tap import tap


class LayerNorm(nn.Module):
    """Mean 0 and variance 1 over the width, then a learned scale and shift (Ba et al. 2016, eq. 4)."""

    taps = ("",)

    def __init__(self, config: NormConfig, width: int) -> None:
        super().__init__()
        self.epsilon = config.epsilon
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if config.bias else None

    def forward(self, x: Tensor) -> Tensor:
        """[..., W] to [..., W]."""
        return tap(self, "", F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon))


class RMSNorm(nn.Module):
    """Divide by the root of the mean square over the width, then scale (Zhang & Sennrich 2019, eq. 4)."""

    taps = ("",)

    def __init__(self, config: NormConfig, width: int) -> None:
        super().__init__()
        self.epsilon = config.epsilon
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """[..., W] to [..., W]."""
        return tap(self, "", F.rms_norm(x, self.weight.shape, self.weight, self.epsilon))


NORMS: dict[str, Callable[[NormConfig, int], nn.Module]] = {"layer": LayerNorm, "rms": RMSNorm}


def build_norm(config: NormConfig | None, width: int) -> nn.Module:
    return nn.Identity() if config is None else NORMS[config.kind](config, width)


class Sublayer(nn.Module):
    """A body (attention or feed-forward) with its dropout, residual and norm: the only place that knows their order."""

    def __init__(self, config: SublayerConfig, width: int, body: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.norm = build_norm(config.norm, width)
        self.dropout = Dropout(config.dropout)
        self.arrange = ARRANGEMENTS[config.norm_at]
        self.join = _add if config.residual else _replace
        self.taps = ("residual",) if config.residual else ()

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """[B, S, W] to [B, S, W], or to [B, A, W] where only some tokens are asked for."""
        return self.arrange(self, x, context)

    def add(self, x: Tensor, update: Tensor, context: Context) -> Tensor:
        """The residual stream after the update and its dropout."""
        update = self.dropout(update, context.dropout_key, context.positions_of_dropout)
        return self.join(self, context.streamed(x), update)


def _add(sublayer: Sublayer, x: Tensor, update: Tensor) -> Tensor:
    return tap(sublayer, "residual", x + update)


def _replace(sublayer: Sublayer, x: Tensor, update: Tensor) -> Tensor:
    return update


def norm_after(sublayer: Sublayer, x: Tensor, context: Context) -> Tensor:
    """LayerNorm(x + Sublayer(x)): the paper, BERT."""
    return sublayer.norm(sublayer.add(x, sublayer.body(x, context), context))


def norm_before(sublayer: Sublayer, x: Tensor, context: Context) -> Tensor:
    """x + Sublayer(LayerNorm(x)): tensor2tensor, GPT-2, T5, Llama."""
    return sublayer.add(x, sublayer.body(sublayer.norm(x), context), context)


def norm_on_branch(sublayer: Sublayer, x: Tensor, context: Context) -> Tensor:
    """x + LayerNorm(Sublayer(x))."""
    return sublayer.add(x, sublayer.norm(sublayer.body(x, context)), context)


def no_norm(sublayer: Sublayer, x: Tensor, context: Context) -> Tensor:
    """x + Sublayer(x): the slides."""
    return sublayer.add(x, sublayer.body(x, context), context)


ARRANGEMENTS: dict[str, Callable[[Sublayer, Tensor, Context], Tensor]] = {
    "after": norm_after,
    "before": norm_before,
    "branch": norm_on_branch,
    "none": no_norm,
}
