"""The encoder whose attention mask is the mask-matrix post's, in one of the three readings of its text."""

from glassformer.config import (
    Activation,
    EmbedConfig,
    FeedForwardConfig,
    ModelConfig,
    NormConfig,
    PositionConfig,
    RotaryConfig,
    StackConfig,
    VocabularyHeadConfig,
)
from glassformer.models.families.blocks import attention_of, block_of, chosen, feasible, known_size
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
    activation: Activation = "gelu",
    rotary_base: float = 10000.0,
    epsilon: float = 1e-5,
    dropout: float = 0.0,
    tied: bool = True,
) -> ModelConfig:
    """The mask of the post (Xiong 2023) in an encoder of ModernBERT's parts; the readings differ in nothing else.

    `reading` says who may look at whom, as in `gf.activity_matrix`: `code`, each word at itself alone; `stated`, each
    at itself and at those before it, never at a masked one; `pairs`, each at every word that is not masked. A word with
    nothing to look at gathers nothing (`nothing_to_see="zero"`). Words' vectors are learned, as the post's text says.
    """
    known_layers, known_width, known_feed_forward = known_size(size, MODERNBERT_SIZES)
    layers, width = chosen(layers, known_layers), chosen(width, known_width)
    heads, feed_forward = chosen(heads, max(1, width // 64)), chosen(feed_forward, known_feed_forward)
    norm = NormConfig(epsilon=epsilon, bias=False)
    attention = attention_of(
        width,
        heads,
        bias=False,
        rotary=RotaryConfig(base=rotary_base),
        window=0 if reading == "code" else None,
        dropout=dropout,
    )
    block = block_of(
        attention,
        FeedForwardConfig(width=feed_forward, activation=activation, gated=True, bias=False, dropout=dropout),
        norm=norm,
        norm_at="before",
        dropout=dropout,
    )
    return ModelConfig(
        family="mask_matrix",
        encoder=StackConfig(
            width=width,
            embed=EmbedConfig(vocabulary=vocabulary, position=PositionConfig(kind="none"), norm=norm, dropout=dropout),
            blocks=(block,) * feasible(layers),
            norm=norm,
            causal=reading == "stated",
            hide_masked=reading != "code",
        ),
        head=VocabularyHeadConfig(
            transform=True, transform_bias=False, activation=activation, norm=norm, tied=tied, bias=True
        ),
    )
