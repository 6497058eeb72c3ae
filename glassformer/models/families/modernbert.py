"""ModernBERT (Warner et al. 2024): BERT with rotary positions, norm before, gating and local attention."""

from typing import Literal

import glassformer.config as config
from glassformer.base.errors import ConfigError
from glassformer.config.parts import Stretch
from glassformer.models.families.blocks import attention_of, block_of, chosen, feasible, of_size
from glassformer.models.families.heads import with_label_heads

# The published ones are base and large. The small ones are ours: BERT's small sizes with as many weights a layer; mini
# is deeper and narrower than BERT's, which learns more in the same minutes (decisions/2026-11-21-half-the-minutes.md).
MODERNBERT_SIZES = {
    "tiny": (2, 128, 344),
    "mini": (6, 192, 512),
    "small": (4, 512, 1368),
    "medium": (8, 512, 1368),
    "base": (22, 768, 1152),
    "large": (28, 1024, 2624),
}


def modernbert(
    *,
    size: str = "base",
    vocabulary: int = 50368,
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    feed_forward: int | None = None,
    activation: config.Activation = "gelu",
    reach: int = 64,
    global_every: int = 3,
    global_base: float = 160000.0,
    local_base: float = 10000.0,
    global_stretch: Stretch | None = None,
    local_stretch: Stretch | None = None,
    epsilon: float = 1e-5,
    dropout: float = 0.0,
    embed_dropout: float | None = None,
    attention_dropout: float | None = None,
    sentence_labels: int | None = None,
    sentence_pooling: Literal["pooler", "mean_pooler"] = "pooler",
    sentence_dropout: float = 0.0,
    token_labels: int | None = None,
    token_dropout: float = 0.0,
    vocabulary_head: bool = True,
    tied: bool = True,
) -> config.ModelConfig:
    """ModernBERT (Warner et al. 2024): rotary, norm before, gated GELU, windows except in every third layer. `dropout`
    falls inside the feed-forward network; `attention_dropout` on the weights and on what attention adds.
    `sentence_labels` adds a classifier's head: a dense layer without bias, the activation and a norm, then the labels;
    `token_labels` adds the same for each token.
    """
    if global_every < 1:
        raise ConfigError(f"global_every must be greater than or equal to 1, got {global_every}")
    if reach < 1:  # with 0 a token would see itself alone in most layers
        raise ConfigError("modernbert: reach must be greater than or equal to 1", got=str(reach))
    layers, width, feed_forward = of_size(size, MODERNBERT_SIZES, layers, width, feed_forward)
    heads = chosen(heads, max(1, width // 64))
    attention_dropout = dropout if attention_dropout is None else attention_dropout
    norm = config.NormConfig(epsilon=epsilon, bias=False)
    turned_everywhere = config.RotaryConfig(base=global_base, stretch=global_stretch)
    turned_nearby = config.RotaryConfig(base=local_base, stretch=local_stretch)

    def block(layer: int) -> config.BlockConfig:
        everywhere = layer % global_every == 0
        return block_of(
            attention_of(
                width,
                heads,
                bias=False,
                rotary=turned_everywhere if everywhere else turned_nearby,
                window=None if everywhere else reach,
                dropout=attention_dropout,
            ),
            config.FeedForwardConfig(
                width=feed_forward, activation=activation, gated=True, bias=False, dropout=dropout
            ),
            norm=norm,
            norm_at="before",
            dropout=0.0,
            attention_update_dropout=attention_dropout,
            first_norm=layer > 0,
        )

    model = config.ModelConfig(
        family="modernbert",
        encoder=config.StackConfig(
            width=width,
            embed=config.EmbedConfig(
                vocabulary=vocabulary,
                position=config.PositionConfig(kind="none"),
                norm=norm,
                dropout=dropout if embed_dropout is None else embed_dropout,
            ),
            blocks=tuple(block(layer) for layer in range(feasible(layers))),
            norm=norm,
        ),
        head=config.VocabularyHeadConfig(
            transform=True, transform_bias=False, activation=activation, norm=norm, tied=tied, bias=True
        )
        if vocabulary_head
        else None,
    )
    return with_label_heads(model, sentence_labels, sentence_dropout, token_labels, token_dropout, sentence_pooling)
