"""BART (Lewis et al. 2020): an encoder–decoder that is pre-trained to restore corrupted text."""

from glassformer.config import Activation, ModelConfig, PositionConfig, VocabularyHeadConfig
from glassformer.models.families.blocks import chosen
from glassformer.models.families.encoder_decoder import encoder_decoder


def bart(
    *,
    vocabulary: int = 50265,
    layers: int = 6,
    decoder_layers: int | None = None,
    width: int = 768,
    heads: int = 12,
    decoder_heads: int | None = None,
    feed_forward: int = 3072,
    decoder_feed_forward: int | None = None,
    activation: Activation = "gelu",
    max_length: int = 1024,
    embed_scaled: bool = False,
    dropout: float = 0.1,
    attention_dropout: float = 0.0,
    activation_dropout: float = 0.0,
    vocabulary_head: bool = True,
) -> ModelConfig:
    """BART (Lewis et al. 2020): learned positions with two rows before 0, a norm on the embedding, norm after."""
    return encoder_decoder(
        "bart",
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
        position=PositionConfig(kind="learned", max_length=max_length, offset=2),
        embed_scaled=embed_scaled,
        embed_norm=True,
        head=VocabularyHeadConfig(tied=True, bias=True) if vocabulary_head else None,
    )
