"""GPT-2 (Radford et al. 2019): a decoder for text generation."""

import glassformer.config as config
from glassformer.models.families.blocks import attention_of, block_of, chosen, feasible, of_size

# The published ones are small to xl; tiny and mini are those of BERT.
GPT2_SIZES = {
    "tiny": (2, 128),
    "mini": (4, 256),
    "small": (12, 768),
    "medium": (24, 1024),
    "large": (36, 1280),
    "xl": (48, 1600),
}


def gpt2(
    *,
    size: str = "small",
    vocabulary: int = 50257,
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    feed_forward: int | None = None,
    activation: config.Activation = "gelu_tanh",
    max_length: int = 1024,
    epsilon: float = 1e-5,
    dropout: float = 0.1,
    embed_dropout: float | None = None,
    attention_dropout: float | None = None,
    scaled: bool = True,
    divided_by_layer: bool = False,
    vocabulary_head: bool = True,
    tied: bool = True,
) -> config.ModelConfig:
    """GPT-2 (Radford et al. 2019): a causal stack, learned positions, norm before, a last norm. `divided_by_layer`
    divides the scores of each layer by its number, from 1, also.
    """
    layers, width = of_size(size, GPT2_SIZES, layers, width)
    norm = config.NormConfig(epsilon=epsilon)
    attention = attention_of(
        width,
        chosen(heads, max(1, width // 64)),
        scaled=scaled,
        dropout=dropout if attention_dropout is None else attention_dropout,
    )

    def block(layer: int) -> config.BlockConfig:
        return block_of(
            attention.model_copy(update={"divided_by": layer + 1}) if divided_by_layer else attention,
            config.FeedForwardConfig(width=chosen(feed_forward, 4 * width), activation=activation),
            norm=norm,
            norm_at="before",
            dropout=dropout,
        )

    return config.ModelConfig(
        family="gpt2",
        decoder=config.StackConfig(
            width=width,
            embed=config.EmbedConfig(
                vocabulary=vocabulary,
                position=config.PositionConfig(kind="learned", max_length=max_length),
                dropout=dropout if embed_dropout is None else embed_dropout,
            ),
            blocks=tuple(block(layer) for layer in range(feasible(layers))),
            norm=norm,
            causal=True,
        ),
        head=config.VocabularyHeadConfig(tied=tied) if vocabulary_head else None,
        initial=config.InitialConfig(kind="normal"),
    )
