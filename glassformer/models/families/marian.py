"""Marian (Junczys-Dowmunt et al. 2018): small encoder–decoders that translate."""

from __future__ import annotations

from glassformer.config import Activation, ModelConfig, PositionConfig, VocabularyHeadConfig
from glassformer.models.families.blocks import chosen
from glassformer.models.families.encoder_decoder import encoder_decoder


def marian(
    *,
    vocabulary: int = 32000,
    layers: int = 6,
    decoder_layers: int | None = None,
    width: int = 512,
    heads: int = 8,
    decoder_heads: int | None = None,
    feed_forward: int = 2048,
    decoder_feed_forward: int | None = None,
    activation: Activation = "silu",
    max_length: int = 512,
    embed_scaled: bool = True,
    dropout: float = 0.1,
    attention_dropout: float = 0.0,
    activation_dropout: float = 0.0,
) -> ModelConfig:
    """Marian's translation models (Junczys-Dowmunt et al. 2018): sines before cosines, norm after, an output bias."""
    return encoder_decoder(
        "marian",
        vocabulary=vocabulary,
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
