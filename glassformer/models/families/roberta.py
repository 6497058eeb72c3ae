"""RoBERTa (Liu et al. 2019): BERT's body with other position numbers."""

from glassformer.config import Activation, ModelConfig, PositionConfig
from glassformer.models.families.bert import bert


def roberta(
    *,
    vocabulary: int = 50265,
    layers: int = 12,
    width: int = 768,
    heads: int = 12,
    feed_forward: int = 3072,
    activation: Activation = "gelu",
    max_length: int = 512,
    segments: int = 1,
    epsilon: float = 1e-5,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    position_offset: int = 2,
    sentence_labels: int | None = None,
    sentence_dropout: float = 0.0,
    token_labels: int | None = None,
    token_dropout: float = 0.0,
    vocabulary_head: bool = True,
    tied: bool = True,
) -> ModelConfig:
    """RoBERTa (Liu et al. 2019): BERT's body; two unused rows stand before position 0. Its head always uses GELU."""
    model = bert(
        vocabulary=vocabulary, layers=layers, width=width, heads=heads, feed_forward=feed_forward,
        activation=activation, max_length=max_length, segments=segments, epsilon=epsilon, dropout=dropout,
        attention_dropout=attention_dropout, sentence_labels=sentence_labels, sentence_dropout=sentence_dropout,
        token_labels=token_labels, token_dropout=token_dropout, vocabulary_head=vocabulary_head, tied=tied,
    )  # fmt: skip
    assert model.encoder is not None
    position = PositionConfig(kind="learned", max_length=max_length, offset=position_offset)
    embed = model.encoder.embed.model_copy(update={"position": position})
    head = None if model.head is None else model.head.model_copy(update={"activation": "gelu"})
    return model.model_copy(
        update={"family": "roberta", "encoder": model.encoder.model_copy(update={"embed": embed}), "head": head}
    )
