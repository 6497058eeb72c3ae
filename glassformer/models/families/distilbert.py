"""DistilBERT (Sanh et al. 2019): BERT with half the layers, distilled."""

from glassformer.config import Activation, ModelConfig
from glassformer.models.families.bert import bert
from glassformer.models.families.heads import with_label_heads


def distilbert(
    *,
    vocabulary: int = 30522,
    layers: int = 6,
    width: int = 768,
    heads: int = 12,
    feed_forward: int = 3072,
    activation: Activation = "gelu",
    max_length: int = 512,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    sentence_labels: int | None = None,
    sentence_dropout: float = 0.0,
    token_labels: int | None = None,
    token_dropout: float = 0.0,
    vocabulary_head: bool = True,
    tied: bool = True,
) -> ModelConfig:
    """DistilBERT (Sanh et al. 2019): BERT with half the layers, no segments, no pooler, no dropout after attention.
    `sentence_labels` adds a classifier's head, whose layer before the labels has ReLU where BERT's has tanh,
    `token_labels` a tagger's.
    """
    model = bert(
        vocabulary=vocabulary, layers=layers, width=width, heads=heads, feed_forward=feed_forward,
        activation=activation, max_length=max_length, segments=0, dropout=dropout, attention_dropout=attention_dropout,
        vocabulary_head=vocabulary_head, tied=tied,
    )  # fmt: skip
    assert model.encoder is not None
    block = model.encoder.blocks[0]
    attention = block.self_attention.model_copy(update={"dropout": 0.0})
    blocks = (block.model_copy(update={"self_attention": attention}),) * layers
    encoder = model.encoder.model_copy(update={"blocks": blocks})
    return with_label_heads(
        model.model_copy(update={"family": "distilbert", "encoder": encoder}),
        sentence_labels,
        sentence_dropout,
        token_labels,
        token_dropout,
    )
