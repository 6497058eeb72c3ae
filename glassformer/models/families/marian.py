"""Marian (Junczys-Dowmunt et al. 2018): small encoder–decoders that translate."""

from glassformer.config import Activation, ModelConfig, PositionConfig, VocabularyHeadConfig
from glassformer.models.families.blocks import chosen, of_size
from glassformer.models.families.encoder_decoder import encoder_decoder

# Layers of each stack, width, heads, feed-forward width. base is that of Marian, the others fit a processor's minutes.
MARIAN_SIZES = {
    "tiny": (4, 128, 4, 512),
    "mini": (4, 256, 4, 1024),
    "small": (6, 384, 6, 1536),
    "base": (6, 512, 8, 2048),
}


def marian(
    *,
    size: str = "base",
    vocabulary: int = 32000,
    target_vocabulary: int | None = None,
    layers: int | None = None,
    decoder_layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    decoder_heads: int | None = None,
    feed_forward: int | None = None,
    decoder_feed_forward: int | None = None,
    activation: Activation = "silu",
    max_length: int = 512,
    embed_scaled: bool = True,
    dropout: float = 0.1,
    attention_dropout: float = 0.0,
    activation_dropout: float = 0.0,
) -> ModelConfig:
    """Marian's translation models (Junczys-Dowmunt et al. 2018): sines before cosines, norm after, an output bias."""
    layers, width, heads, feed_forward = of_size(size, MARIAN_SIZES, layers, width, heads, feed_forward)
    return encoder_decoder(
        "marian",
        vocabulary=vocabulary,
        target_vocabulary=target_vocabulary,
        width=width,
        heads=heads,
        decoder_heads=decoder_heads,
        feed_forward=feed_forward,
        decoder_feed_forward=decoder_feed_forward,
        layers=(layers, chosen(decoder_layers, layers)),
        activation=activation,
        norm_at="after",
        dropout=dropout,
        attention_dropout=attention_dropout,
        activation_dropout=activation_dropout,
        position=PositionConfig(kind="sinusoidal", layout="halves", max_length=max_length),
        embed_scaled=embed_scaled,
        head=VocabularyHeadConfig(tied=True, bias=True),
    )
