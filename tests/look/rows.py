"""Tiny models for looking: the families of the contracts, and the options that matter to formulas."""

from collections.abc import Callable

import torch

from glassformer.api.trace import Trace, trace
from glassformer.config import (
    AttentionConfig,
    BlockConfig,
    FillConfig,
    ModelConfig,
    SentenceHeadConfig,
    StackConfig,
    TokenHeadConfig,
    VocabularyHeadConfig,
)
from glassformer.look.trace.cell import Words
from glassformer.models.families import slides
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from tests.contracts.families import ROWS, Row

VOCABULARY = ("she", "likes", "the", "summer", "better", "he", "loves", "to", "cook", "healthy",
              "they", "go", "hiking", "quite", "often")  # fmt: skip
SENTENCE = ("She", "[MASK]", "[MASK]", "summer", "better")
SHOWN = ("She", "(likes)", "(the)", "summer", "better")
ANSWERS = {(0, 1): "likes", (0, 2): "the"}
ATTENTION = "encoder.blocks.0.self_attention"


def row_named(name: str) -> Row:
    """A row of the contracts' table."""
    return next(row for row in ROWS if row.name == name)


def slides_trace(*, dtype: torch.dtype = torch.float64) -> Trace:
    """The slides' first sentence with its two masked words, through fresh weights."""
    ids = torch.tensor([[0, 0, 0, 3, 4]])
    masked_words = torch.tensor([[False, True, True, False, False]])
    words = Words(inputs=[SENTENCE], vocabulary=VOCABULARY, answers=ANSWERS)
    model = build(slides(), seed=3).to(dtype)
    return trace(model, Inputs(ids=ids, masked_words=masked_words), words=words)


def bert_model(*, dtype: torch.dtype = torch.float64) -> Transformer:
    """A BERT of two layers, three heads."""
    return row_named("bert").model(dtype=dtype)


def with_attention(config: ModelConfig, change: Callable[[AttentionConfig], AttentionConfig]) -> ModelConfig:
    """The encoder's self-attentions changed."""
    assert config.encoder is not None

    def block(one: BlockConfig) -> BlockConfig:
        body = change(one.self_attention.body)
        return one.model_copy(update={"self_attention": one.self_attention.model_copy(update={"body": body})})

    return with_stack(config, blocks=tuple(block(one) for one in config.encoder.blocks))


def with_stack(config: ModelConfig, **update: object) -> ModelConfig:
    """The encoder changed."""
    assert config.encoder is not None
    stack: StackConfig = config.encoder.model_copy(update=update)
    return config.model_copy(update={"encoder": stack})


def with_fill(rule: str, value: float | str) -> Callable[[ModelConfig], ModelConfig]:
    """Another fill."""
    fill = FillConfig.model_validate({"rule": rule, "value": value})
    return lambda config: with_attention(config, lambda body: body.model_copy(update={"fill": fill}))


def with_window(reach: int) -> Callable[[ModelConfig], ModelConfig]:
    """A window in every layer."""
    return lambda config: with_attention(config, lambda body: body.model_copy(update={"window": reach}))


def with_straight_sentence_head(config: ModelConfig) -> ModelConfig:
    """Labels without a pooler."""
    return config.model_copy(update={"sentence_head": SentenceHeadConfig(labels=3, pooling="first")})


def with_labels(**settings: object) -> Callable[[ModelConfig], ModelConfig]:
    """Labels for a text, and no other head."""
    head = SentenceHeadConfig.model_validate(settings)
    return lambda config: config.model_copy(update={"sentence_head": head, "head": None})


def with_tags(**settings: object) -> Callable[[ModelConfig], ModelConfig]:
    """Labels for each token, and no other head."""
    head = TokenHeadConfig.model_validate({"labels": 4, **settings})
    return lambda config: config.model_copy(update={"token_head": head, "head": None})


def with_plain_head(config: ModelConfig) -> ModelConfig:
    """A scaled, tied head without transform."""
    return config.model_copy(update={"head": VocabularyHeadConfig(tied=True, scaled=True, bias=True)})


FILLS = tuple(
    Row(f"bert, fill {rule} {value}", "bert", change=with_fill(rule, value))
    for rule in ("set", "add")
    for value in (-1000.0, -10000.0, "-inf", "lowest")
)
MORE = (
    *FILLS,
    Row("bert, window", "bert", change=with_window(1)),
    Row("bert, straight sentence head", "bert", change=with_straight_sentence_head),
    Row("bert, largest of the states", "bert", change=with_labels(labels=3, pooling="max")),
    Row("bert, a pair", "bert", change=with_labels(labels=3, pooling="pair")),
    Row("bert, words", "bert", change=with_labels(labels=3, words=11)),
    Row("bert, several labels", "bert", change=with_labels(labels=3, several=True)),
    Row("bert, a number", "bert", change=with_labels(labels=1, pooling="mean")),
    Row("bert, tags", "bert", change=with_tags()),
    Row("bert, tags by a CRF", "bert", change=with_tags(crf=True)),
    Row("bert, spans", "bert", change=with_tags(labels=2, spans=True)),
    Row("modernbert, tags", "modernbert", {"token_labels": 2, "vocabulary_head": False}),
    Row("bert, plain head", "bert", change=with_plain_head),
    *(Row(f"bert, {name}", "bert", {"activation": name}) for name in ("relu2", "quick_gelu", "gelu_10", "mish")),
    Row("llama, relu2", "llama", {"activation": "relu2"}),
)
ALL = ROWS + MORE
