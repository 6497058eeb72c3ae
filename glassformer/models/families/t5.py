"""T5 (Raffel et al. 2020): an encoder–decoder whose positions are distances."""

import glassformer.config as config
from glassformer.models.families.blocks import attention_of, block_of, chosen, feasible, of_size

T5_SIZES = {"small": (512, 6, 8, 2048), "base": (768, 12, 12, 3072), "large": (1024, 24, 16, 4096)}


def t5(
    *,
    size: str = "small",
    vocabulary: int = 32128,
    layers: int | None = None,
    decoder_layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    query_size: int = 64,
    feed_forward: int | None = None,
    activation: config.Activation = "relu",
    gated: bool = False,
    buckets: int = 32,
    max_distance: int = 128,
    epsilon: float = 1e-6,
    dropout: float = 0.1,
    vocabulary_head: bool = True,
    tied: bool = True,
    scaled_head: bool | None = None,
) -> config.ModelConfig:
    """T5 (Raffel et al. 2020): relative bias, unscaled scores, RMSNorm before. `gated`, untied: version 1.1.
    `scaled_head` divides the last states by the root of the width, as version 1.0 does (default: where it is tied).
    """
    width, layers, heads, feed_forward = of_size(size, T5_SIZES, width, layers, heads, feed_forward)
    norm = config.NormConfig(kind="rms", epsilon=epsilon, bias=False)
    attention = attention_of(
        width, heads, query_size=query_size, value_size=query_size, bias=False, scaled=False, dropout=dropout
    )
    biased = attention.model_copy(update={"relative_bias": True})
    feed_forward_config = config.FeedForwardConfig(
        width=feed_forward, activation=activation, gated=gated, bias=False, dropout=dropout
    )

    def stack(count: int, cross: config.AttentionConfig | None) -> config.StackConfig:
        block = block_of(biased, feed_forward_config, norm=norm, norm_at="before", dropout=dropout, cross=cross)
        return config.StackConfig(
            width=width,
            embed=config.EmbedConfig(
                vocabulary=vocabulary, position=config.PositionConfig(kind="none"), dropout=dropout
            ),
            blocks=(block,) * feasible(count),
            norm=norm,
            dropout=dropout,
            causal=cross is not None,
            relative_bias=config.RelativeBiasConfig(buckets=buckets, max_distance=max_distance),
        )

    return config.ModelConfig(
        family="t5",
        encoder=stack(layers, None),
        decoder=stack(chosen(decoder_layers, layers), attention),
        share_embeddings=True,
        head=config.VocabularyHeadConfig(tied=tied, scaled=tied if scaled_head is None else scaled_head)
        if vocabulary_head
        else None,
        initial=config.InitialConfig(kind="normal"),
    )
