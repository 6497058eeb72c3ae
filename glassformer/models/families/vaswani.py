"""*Attention Is All You Need* (Vaswani et al. 2017): as the paper draws it, and as its authors' code later had it."""

from collections.abc import Callable
from typing import Literal

from glassformer.config import Activation, ModelConfig, PositionConfig
from glassformer.models.families.blocks import NormAt, chosen, of_size
from glassformer.models.families.encoder_decoder import encoder_decoder

VASWANI_SIZES = {"base": (512, 8, 2048), "big": (1024, 16, 4096)}
DROPOUT = {"base": 0.1, "big": 0.3}


def _of_the_paper(name: str, layout: Literal["paper", "tensor2tensor"], norm_at: NormAt) -> Callable[..., ModelConfig]:
    """A family with these sinusoids and norms; with norms before the sublayers there is one after each stack too."""

    def family(
        *,
        size: str = "base",
        vocabulary: int = 37000,
        target_vocabulary: int | None = None,
        layers: int = 6,
        decoder_layers: int | None = None,
        width: int | None = None,
        heads: int | None = None,
        feed_forward: int | None = None,
        activation: Activation = "relu",
        dropout: float | None = None,
        max_length: int = 512,
        bias: bool = False,
    ) -> ModelConfig:
        width, heads, feed_forward = of_size(size, VASWANI_SIZES, width, heads, feed_forward)
        return encoder_decoder(
            name,
            vocabulary=vocabulary,
            target_vocabulary=target_vocabulary,
            width=width,
            heads=heads,
            feed_forward=feed_forward,
            layers=(layers, chosen(decoder_layers, layers)),
            activation=activation,
            norm_at=norm_at,
            dropout=DROPOUT[size] if dropout is None else dropout,
            attention_bias=bias,
            position=PositionConfig(kind="sinusoidal", layout=layout, max_length=max_length),
            embed_scaled=True,
            last_norm=norm_at == "before",
            epsilon=1e-6,
        )

    family.__name__ = family.__qualname__ = name
    return family


vaswani2017 = _of_the_paper("vaswani2017", "paper", "after")
"""*Attention Is All You Need*: sinusoids in the paper's layout, norm after, one vocabulary table for three uses."""
tensor2tensor = _of_the_paper("tensor2tensor", "tensor2tensor", "before")
"""The later default of the authors' code: norm before each sublayer and after each stack, and its own sinusoids."""
