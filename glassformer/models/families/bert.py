"""BERT (Devlin et al. 2019): an encoder that guesses masked words."""

from glassformer.config import (
    Activation,
    EmbedConfig,
    FeedForwardConfig,
    FillConfig,
    ModelConfig,
    NormConfig,
    PositionConfig,
    StackConfig,
    VocabularyHeadConfig,
)
from glassformer.models.families.blocks import attention_of, block_of, chosen, feasible, known_size
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
    activation: Activation = "gelu",
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
) -> ModelConfig:
    """BERT (Devlin et al. 2019): learned positions, segments, norm after, a tied head with its own transform. `size` is
    one of the published sizes (`tiny` … `large`, or layers x width such as `6x256`); other keywords override it.
    `sentence_labels` adds the pooler's head (2 = next sentence, 0 = the pooler alone), `token_labels` one for the
    labels of each token.
    """
    known_layers, known_width = known_size(size, BERT_SIZES)
    layers, width = chosen(layers, known_layers), chosen(width, known_width)
    norm = NormConfig(epsilon=epsilon)
    attention = attention_of(
        width,
        chosen(heads, max(1, width // 64)),
        fill=FillConfig(rule="add", value=fill),
        dropout=dropout if attention_dropout is None else attention_dropout,
    )
    block = block_of(
        attention,
        FeedForwardConfig(width=chosen(feed_forward, 4 * width), activation=activation),
        norm=norm,
        norm_at="after",
        dropout=dropout,
    )
    model = ModelConfig(
        family="bert",
        encoder=StackConfig(
            width=width,
            embed=EmbedConfig(
                vocabulary=vocabulary,
                position=PositionConfig(kind="learned", max_length=max_length),
                segments=segments,
                norm=norm,
                dropout=dropout,
            ),
            blocks=(block,) * feasible(layers),
        ),
        head=VocabularyHeadConfig(transform=True, activation=activation, norm=norm, tied=tied, bias=True)
        if vocabulary_head
        else None,
    )
    return with_label_heads(
        model,
        sentence=None if sentence_labels is None else (sentence_labels, sentence_dropout),
        pooling="pooler" if pooler else "first",
        token=None if token_labels is None else (token_labels, token_dropout),
    )
