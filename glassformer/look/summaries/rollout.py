"""Attention rollout (Abnar & Zuidema 2020, *Quantifying Attention Flow in Transformers*, §3): how the attention of all
blocks adds up, if every head counts the same and every residual connection as much as its attention.

B sentences · H heads · Q query tokens · K key tokens · S tokens of the encoder · T tokens of the decoder · L blocks
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import StackConfig
from glassformer.look.trace.tensors import Tensors, check_trace


@dataclass(frozen=True)
class Rollout:
    """How much of each token of the text is in each state after each block, as shares; float64. `encoder` [L, B, S, S]
    and `decoder` [L, B, T, T] are query by key, None where the model has no such stack. Rows sum to 1. `cross` [L, B,
    T, S] is the share of the encoder's tokens in the decoder's states: a row of it and the same row of `decoder` sum to
    1 together. None where nothing is crossed.
    """

    encoder: Tensor | None
    decoder: Tensor | None
    cross: Tensor | None


def rollout(trace: Tensors) -> Rollout:
    """The attention rollout of a run.

    After block l it is A_l · A_(l-1) · … · A_1, where A_l is the mean of the heads' weights plus the identity, its rows
    divided by their sum (the paper's equation 1 with A = 0.5 W + 0.5 I). Where a sublayer has no residual connection no
    identity is added. Norms, values and feed-forward networks are left out, as in the paper: rollout says where
    attention could have carried something from, not what it carried.

    The paper has no cross-attention. Here it is treated as the paper treats the rest: half of a state stays as it is,
    half is what the mean of the heads reads of the encoder's rollout. Raises ConfigError for a model without
    attention and for weights set below 0.
    """
    check_trace(trace)
    config = trace.config
    encoder = None if config.encoder is None else list(stack(trace, "encoder", config.encoder, None))
    if config.decoder is None:
        found = [own for own, _ in encoder or ()]
        if not found:
            raise ConfigError("rollout multiplies the attention of blocks", got="a model without blocks")
        return Rollout(torch.stack(found), None, None)
    memory = encoder[-1][0] if encoder else None
    decoder = list(stack(trace, "decoder", config.decoder, memory))
    crossed = [cross for _, cross in decoder if cross is not None]
    return Rollout(
        torch.stack([own for own, _ in encoder]) if encoder else None,
        torch.stack([own for own, _ in decoder]),
        torch.stack(crossed) if crossed else None,
    )


def stack(
    trace: Tensors, side: str, config: StackConfig, memory: Tensor | None
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """After each block the shares of the stack's own tokens, [B, T, T], and of the memory's, [B, T, S]."""
    own: Tensor | None = None
    crossed: Tensor | None = None
    for index, block in enumerate(config.blocks):
        path = f"{side}.blocks.{index}"
        mixing = mean_of_heads(trace, f"{path}.self_attention", residual=block.self_attention.residual)  # [B, T, T]
        own = mixing if own is None else mixing @ own
        crossed = None if crossed is None else mixing @ crossed
        if block.cross_attention is not None and memory is not None:
            stays = 0.5 if block.cross_attention.residual else 0.0
            reads = mean_of_heads(trace, f"{path}.cross_attention", residual=False) @ memory  # [B, T, S]
            own = stays * own
            crossed = (1 - stays) * reads if crossed is None else stays * crossed + (1 - stays) * reads
        yield own, crossed


def mean_of_heads(trace: Tensors, attention: str, *, residual: bool) -> Tensor:
    """The mean of the heads' weights, with the identity where there is a residual connection, as shares, [B, Q, K]."""
    weights = trace[f"{attention}.weights"].double().cpu().mean(1)  # [B, Q, K]
    if (weights < 0).any():
        got = f"{attention}.weights below 0, set by hand"
        raise ConfigError("rollout multiplies shares of attention", got=got, do="set weights of 0 or above")
    if residual:
        weights = weights + torch.eye(weights.shape[-1], dtype=torch.float64)
    return weights / weights.sum(-1, keepdim=True).clamp(min=torch.finfo(torch.float64).tiny)
