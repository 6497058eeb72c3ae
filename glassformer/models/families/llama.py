"""Llama (Touvron et al. 2023): a decoder with rotary positions, RMSNorm and a gated feed-forward network."""

import glassformer.config as config
from glassformer.config.parts import Stretch
from glassformer.models.families.blocks import attention_of, block_of, chosen, feasible, of_size

# Layers, width, feed-forward width, heads, and those of keys and values. 1b is published; the small ones are ours, with
# as many weights a layer as those of ModernBERT (modernbert.py).
LLAMA_SIZES = {
    "tiny": (2, 128, 344, 2, 2),
    "mini": (6, 192, 512, 3, 3),
    "small": (4, 512, 1368, 8, 8),
    "medium": (8, 512, 1368, 8, 8),
    "1b": (16, 2048, 8192, 32, 8),
}


def llama(
    *,
    size: str = "1b",
    vocabulary: int = 32000,
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    key_value_heads: int | None = None,
    query_size: int | None = None,
    feed_forward: int | None = None,
    activation: config.Activation = "silu",
    rotary_base: float = 10000.0,
    stretch: Stretch | None = None,
    window: int | None = None,
    epsilon: float = 1e-5,
    attention_bias: bool = False,
    feed_forward_bias: bool = False,
    dropout: float = 0.0,
    vocabulary_head: bool = True,
    tied: bool = False,
) -> config.ModelConfig:
    """Llama (Touvron et al. 2023): a causal stack, rotary, RMSNorm before, gated SiLU, fewer key-value heads. `stretch`
    changes the rotary positions so that longer texts are read (Llama 3.1: kind `llama3`). With `heads` there are by
    default as many of keys and values, else those of the size. With a `window` a token attends at most so many back.
    """
    shared = key_value_heads if heads is None else chosen(key_value_heads, heads)
    layers, width, feed_forward, heads, shared = of_size(size, LLAMA_SIZES, layers, width, feed_forward, heads, shared)
    norm = config.NormConfig(kind="rms", epsilon=epsilon, bias=False)
    block = block_of(
        attention_of(
            width,
            heads,
            key_value_heads=shared,
            query_size=query_size,
            value_size=query_size,
            bias=attention_bias,
            window=window,
            rotary=config.RotaryConfig(base=rotary_base, stretch=stretch),
            dropout=dropout,
        ),
        config.FeedForwardConfig(width=feed_forward, activation=activation, gated=True, bias=feed_forward_bias),
        norm=norm,
        norm_at="before",
        dropout=0.0,
    )
    return config.ModelConfig(
        family="llama",
        decoder=config.StackConfig(
            width=width,
            embed=config.EmbedConfig(vocabulary=vocabulary, position=config.PositionConfig(kind="none")),
            blocks=(block,) * feasible(layers),
            norm=norm,
            causal=True,
        ),
        head=config.VocabularyHeadConfig(tied=tied) if vocabulary_head else None,
        initial=config.InitialConfig(kind="normal"),
    )
