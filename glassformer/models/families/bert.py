"""BERT (Devlin et al. 2019): an encoder that guesses masked words."""

import glassformer.config as config
from glassformer.models.families.blocks import attention_of, block_of, chosen, feasible, of_size
from glassformer.models.families.heads import with_label_heads

BERT_WIDTHS = {"tiny": (2, 128), "mini": (4, 256), "small": (4, 512), "medium": (8, 512), "base": (12, 768)}
BERT_SIZES: dict[str, tuple[int, int]] = {
    **BERT_WIDTHS,
    **{f"{layers}x{width}": (layers, width) for layers in (2, 4, 6, 8, 10, 12) for width in (128, 256, 512, 768)},
    "large": (24, 1024),
}


def bert(
    *,
    size: str = "base",
    vocabulary: int = 30522,
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    feed_forward: int | None = None,
    activation: config.Activation = "gelu",
    max_length: int = 512,
    segments: int = 2,
    epsilon: float = 1e-12,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    fill: float = -10000.0,
    sentence_labels: int | None = None,
    pooler: bool = True,
    sentence_dropout: float = 0.0,
    token_labels: int | None = None,
    token_dropout: float = 0.0,
    vocabulary_head: bool = True,
    tied: bool = True,
) -> config.ModelConfig:
    """BERT (Devlin et al. 2019): learned positions, segments, norm after, a tied head with its own transform. `size` is
    one of the published sizes (`tiny` … `large`, or layers x width such as `6x256`); other keywords override it.
    `sentence_labels` adds the pooler's head (2 = next sentence, 0 = the pooler alone), `token_labels` one for the
    labels of each token.
    """
    layers, width = of_size(size, BERT_SIZES, layers, width)
    norm = config.NormConfig(epsilon=epsilon)
    attention = attention_of(
        width,
        chosen(heads, max(1, width // 64)),
        fill=config.FillConfig(rule="add", value=fill),
        dropout=dropout if attention_dropout is None else attention_dropout,
    )
    block = block_of(
        attention,
        config.FeedForwardConfig(width=chosen(feed_forward, 4 * width), activation=activation),
        norm=norm,
        norm_at="after",
        dropout=dropout,
    )
    model = config.ModelConfig(
        family="bert",
        encoder=config.StackConfig(
            width=width,
            embed=config.EmbedConfig(
                vocabulary=vocabulary,
                position=config.PositionConfig(kind="learned", max_length=max_length),
                segments=segments,
                norm=norm,
                dropout=dropout,
            ),
            blocks=(block,) * feasible(layers),
        ),
        head=config.VocabularyHeadConfig(transform=True, activation=activation, norm=norm, tied=tied, bias=True)
        if vocabulary_head
        else None,
    )
    return with_label_heads(
        model, sentence_labels, sentence_dropout, token_labels, token_dropout, "pooler" if pooler else "first"
    )
