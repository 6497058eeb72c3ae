"""Llama (Touvron et al. 2023): a decoder with rotary positions, RMSNorm and a gated feed-forward network."""

from __future__ import annotations

from glassformer.config import (
    Activation,
    EmbedConfig,
    FeedForwardConfig,
    InitialConfig,
    ModelConfig,
    NormConfig,
    PositionConfig,
    RotaryConfig,
    StackConfig,
    VocabularyHeadConfig,
)
from glassformer.models.families.blocks import attention_of, block_of, chosen, feasible
from glassformer.stretch import Stretch


def llama(
    *,
    vocabulary: int = 32000,
    layers: int = 16,
    width: int = 2048,
    heads: int | None = None,
    key_value_heads: int | None = None,
    query_size: int | None = None,
    feed_forward: int = 8192,
    activation: Activation = "silu",
    rotary_base: float = 10000.0,
    stretch: Stretch | None = None,
    epsilon: float = 1e-5,
    attention_bias: bool = False,
    feed_forward_bias: bool = False,
    dropout: float = 0.0,
    vocabulary_head: bool = True,
    tied: bool = False,
) -> ModelConfig:
    """Llama (Touvron et al. 2023): a causal stack, rotary, RMSNorm before, gated SiLU, fewer key-value heads.

    `stretch` changes the rotary positions so that longer texts are read (Llama 3.1: kind `llama3`).
    Without `heads` there are 32 that share 8 key-value heads; with them, as many of both by default.
    """
    if heads is None:
        heads, key_value_heads = 32, chosen(key_value_heads, 8)
    norm = NormConfig(kind="rms", epsilon=epsilon, bias=False)
    block = block_of(
        attention_of(
            width,
            heads,
            key_value_heads=key_value_heads,
            query_size=query_size,
            value_size=query_size,
            bias=attention_bias,
            rotary=RotaryConfig(base=rotary_base, stretch=stretch),
            dropout=dropout,
        ),
        FeedForwardConfig(width=feed_forward, activation=activation, gated=True, bias=feed_forward_bias),
        norm=norm,
        norm_at="before",
        dropout=0.0,
    )
    return ModelConfig(
        family="llama",
        decoder=StackConfig(
            width=width,
            embed=EmbedConfig(vocabulary=vocabulary, position=PositionConfig(kind="none")),
            blocks=(block,) * feasible(layers),
            norm=norm,
            causal=True,
        ),
        head=VocabularyHeadConfig(tied=tied) if vocabulary_head else None,
        initial=InitialConfig(kind="normal"),
    )
