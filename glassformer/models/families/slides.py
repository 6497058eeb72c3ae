"""The slides' own encoder: what they draw, and a switch for each thing that they do not."""

from typing import Literal

import glassformer.config as config
from glassformer.models.families.blocks import attention_of, block_of, feasible

SLIDES_DO_NOT_DRAW = {
    "loss": "cross-entropy at the masked words",
    "optimizer": "AdamW",
    "scaled": "scores divided by the root of the query size",
    "norm": "LayerNorm after each sublayer",
    "feed_forward_residual": "a residual round the feed-forward network",
    "biases": "biases in the linear layers",
    "layers": "more than one block",
    "padding": "sentences of unequal length",
    "dropout": "dropout",
}


def slides(
    *,
    vocabulary: int = 15,
    width: int = 6,
    heads: int = 2,
    query_size: int = 4,
    value_size: int = 4,
    feed_forward: int = 12,
    layers: int = 1,
    activation: config.Activation = "relu",
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal",
    max_length: int = 512,
    fill: float | Literal["-inf", "lowest"] = -1000.0,
    fill_rule: Literal["set", "add"] = "set",
    zero: Literal["word", "sum"] = "word",
    hide: bool = True,
    scaled: bool = False,
    norm: bool = False,
    feed_forward_residual: bool = False,
    biases: bool = False,
    dropout: float = 0.0,
) -> config.ModelConfig:
    """The encoder that the slides draw: 2 heads of 4 on a width of 6, no scaling, -1000, no norm, one residual.

    `fill` is what a forbidden score is set to; with `fill_rule="add"` it is added to the score (C-34).
    `zero` is where masked words lose their vector: the word's own before the position is added, or the sum.
    `hide=False` lets words look at masked words and keeps their vectors (the leak that the slides warn of).
    What the slides do not draw (`SLIDES_DO_NOT_DRAW`) is off and can be switched on.
    """
    normed = config.NormConfig(epsilon=1e-5) if norm else None
    attention = attention_of(
        width,
        heads,
        query_size=query_size,
        value_size=value_size,
        bias=biases,
        scaled=scaled,
        fill=config.FillConfig(rule=fill_rule, value=fill),
        dropout=dropout,
    )
    block = block_of(
        attention,
        config.FeedForwardConfig(width=feed_forward, activation=activation, bias=biases, dropout=dropout),
        norm=normed,
        norm_at="after" if norm else "none",
        dropout=dropout,
        feed_forward_residual=feed_forward_residual,
    )
    return config.ModelConfig(
        family="slides",
        encoder=config.StackConfig(
            width=width,
            embed=config.EmbedConfig(
                vocabulary=vocabulary,
                position=config.PositionConfig(kind=positions, max_length=max_length),
                dropout=dropout,
                masked_words=("zero_word" if zero == "word" else "zero_sum") if hide else "token",
            ),
            blocks=(block,) * feasible(layers),
            hide_masked=hide,
        ),
        head=config.VocabularyHeadConfig(tied=False, bias=biases),
        initial=config.InitialConfig(kind="xavier_uniform"),
    )
