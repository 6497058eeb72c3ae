"""The encoder whose attention mask is the mask-matrix post's, in one of the three readings of its text."""

import glassformer.config as config
from glassformer.models.families.blocks import attention_of, block_of, chosen, feasible, of_size
from glassformer.models.families.modernbert import MODERNBERT_SIZES
from glassformer.parts.activity import Reading


def mask_matrix(
    *,
    reading: Reading = "stated",
    size: str = "tiny",
    vocabulary: int = 8000,
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    feed_forward: int | None = None,
    activation: config.Activation = "gelu",
    rotary_base: float = 10000.0,
    epsilon: float = 1e-5,
    dropout: float = 0.0,
    tied: bool = True,
) -> config.ModelConfig:
    """The mask of the post (Xiong 2023) in an encoder of ModernBERT's parts; the readings differ in nothing else.

    `reading` says who may look at whom, as in `gf.activity_matrix`: `code`, each word at itself alone; `stated`, each
    at itself and at those before it, never at a masked one; `pairs`, each at every word that is not masked. A word with
    nothing to look at gathers nothing (`nothing_to_see="zero"`). Words' vectors are learned, as the post's text says.
    """
    layers, width, feed_forward = of_size(size, MODERNBERT_SIZES, layers, width, feed_forward)
    norm = config.NormConfig(epsilon=epsilon, bias=False)
    attention = attention_of(
        width,
        chosen(heads, max(1, width // 64)),
        bias=False,
        rotary=config.RotaryConfig(base=rotary_base),
        window=0 if reading == "code" else None,
        dropout=dropout,
    )
    block = block_of(
        attention,
        config.FeedForwardConfig(width=feed_forward, activation=activation, gated=True, bias=False, dropout=dropout),
        norm=norm,
        norm_at="before",
        dropout=dropout,
    )
    return config.ModelConfig(
        family="mask_matrix",
        encoder=config.StackConfig(
            width=width,
            embed=config.EmbedConfig(
                vocabulary=vocabulary, position=config.PositionConfig(kind="none"), norm=norm, dropout=dropout
            ),
            blocks=(block,) * feasible(layers),
            norm=norm,
            causal=reading == "stated",
            hide_masked=reading != "code",
        ),
        head=config.VocabularyHeadConfig(
            transform=True, transform_bias=False, activation=activation, norm=norm, tied=tied, bias=True
        ),
    )
