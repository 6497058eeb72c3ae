"""The heads for labels as the published classifiers of each family have them.

What stands between the states and the labels belongs to the family: BERT has a layer with tanh for a text and none for
a token, DistilBERT one with ReLU for a text, ModernBERT one with its activation and a norm for both. A model that is
trained here with such a head is one that `transformers` has a class for.
"""

from dataclasses import dataclass

from glassformer.config import Activation, ModelConfig, NormConfig, SentenceHeadConfig, TokenHeadConfig


@dataclass(frozen=True)
class HeadLayer:
    """A dense layer, an activation, and a norm where there is one. `of_tokens`: for each token as well."""

    activation: Activation = "tanh"
    bias: bool = True
    norm: NormConfig | None = None
    of_tokens: bool = False


def layer_of(body: ModelConfig) -> HeadLayer:
    """The layer of a family's heads for labels: BERT's where it has none of its own."""
    if body.family == "modernbert":
        # ModernBERT's prediction head (Warner et al. 2024): no bias, the body's own activation and norm.
        stack = body.output_stack
        inner = stack.blocks[0].feed_forward
        activation: Activation = "gelu" if inner is None else inner.body.activation
        return HeadLayer(activation, bias=False, norm=stack.norm, of_tokens=True)
    return HeadLayer("relu" if body.family == "distilbert" else "tanh")


def sentence_head_of(
    body: ModelConfig, *, labels: int, pooling: str = "pooler", dropout: float = 0.0, several: bool = False
) -> SentenceHeadConfig:
    """The head of a text's labels as this family has it. `pooling`: `pooler` is the first token's state through the
    family's own layer, `mean_pooler` the mean of the states through it; every other vector goes to the labels directly.
    `several`: each label has a probability of its own.
    """
    layer = layer_of(body)
    values: dict[str, object] = {"labels": labels, "pooling": pooling, "dropout": dropout, "several": several}
    if pooling in ("pooler", "mean_pooler"):
        values |= {"activation": layer.activation, "pooler_bias": layer.bias, "norm": layer.norm}
    return SentenceHeadConfig.model_validate(values)


def token_head_of(
    body: ModelConfig,
    *,
    labels: int,
    dropout: float = 0.0,
    crf: bool = False,
    spans: bool = False,
    direct: bool = False,
) -> TokenHeadConfig:
    """The head of each token's labels as this family has it; `direct`: without the family's own layer."""
    layer = layer_of(body)
    values: dict[str, object] = {"labels": labels, "dropout": dropout, "crf": crf, "spans": spans}
    if layer.of_tokens and not direct:
        values |= {"transform": True, "transform_bias": layer.bias, "activation": layer.activation, "norm": layer.norm}
    return TokenHeadConfig.model_validate(values)


def with_segments(body: ModelConfig, segments: int) -> ModelConfig:
    """The body of an encoder with at least so many segments."""
    assert body.encoder is not None
    embed = body.encoder.embed
    embed = embed.model_copy(update={"segments": max(segments, embed.segments)})
    return body.model_copy(update={"encoder": body.encoder.model_copy(update={"embed": embed})})


def with_sentence_head(body: ModelConfig, head: SentenceHeadConfig) -> ModelConfig:
    """The body with this head alone; where it compares the texts of a pair, with the segments that tell them apart."""
    body = with_segments(body, 2) if head.pooling == "pair" else body
    return body.model_copy(update={"sentence_head": head, "head": None})


def with_label_heads(
    body: ModelConfig,
    sentence_labels: int | None,
    sentence_dropout: float,
    token_labels: int | None,
    token_dropout: float,
    pooling: str = "pooler",
) -> ModelConfig:
    """The body with a head for a text's labels and one for each token's, where their number is given."""
    heads: dict[str, object] = {}
    if sentence_labels is not None:
        heads["sentence_head"] = sentence_head_of(
            body, labels=sentence_labels, pooling=pooling, dropout=sentence_dropout
        )
    if token_labels is not None:
        heads["token_head"] = token_head_of(body, labels=token_labels, dropout=token_dropout)
    return body.model_copy(update=heads)
