"""One table of tiny models, all families and their options, that every contract runs over.

B sentences · S tokens · W width
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from glassformer.config import ModelConfig, StackConfig
from glassformer.config.parts import DynamicStretch, LinearStretch, Llama3Stretch, Stretch, YarnStretch
from glassformer.models.families import family_config
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.parts.dropout import DropoutKey

VOCABULARY = 23
Padding = Literal["none", "right", "left", "uneven"]


@dataclass(frozen=True)
class Row:
    """A tiny model: a family, its keywords, and a change to the tree where no keyword says it."""

    name: str
    family: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    change: Callable[[ModelConfig], ModelConfig] | None = None

    def config(self, **more: Any) -> ModelConfig:
        """The tree of settings; `more` are further keywords of the family."""
        config = family_config(self.family, {**TINY[self.family], **self.settings, **more})
        return config if self.change is None else self.change(config)

    def with_dropout(self) -> Row:
        """The same with dropout wherever the family has a place for it."""
        rates = {"dropout": 0.2}
        if self.family in ("marian", "bart"):
            rates |= {"attention_dropout": 0.2, "activation_dropout": 0.2}
        return replace(self, name=f"{self.name}, dropout", settings={**self.settings, **rates})

    def model(self, *, seed: int = 0, dtype: torch.dtype = torch.float64, **more: Any) -> Transformer:
        """Built, with weights large enough that each of them matters, in eval mode."""
        return random_weights(Transformer(self.config(**more)), seed=seed).to(dtype).eval()

    def batch(self, *, padding: Padding = "right", seed: int = 0, **more: Any) -> tuple[Inputs, Inputs | None]:
        """Three sentences for this model; a target for each where there is an encoder and a decoder."""
        return random_batch(self.config(**more), padding=padding, seed=seed)

    def __str__(self) -> str:
        return self.name


_ENCODER = {"vocabulary": VOCABULARY, "layers": 2, "width": 12, "heads": 3, "feed_forward": 20, "dropout": 0.0}
_BOTH = {**_ENCODER, "decoder_layers": 3}
TINY: dict[str, dict[str, Any]] = {
    "slides": {},
    "mask_matrix": _ENCODER,
    "vaswani2017": _BOTH,
    "tensor2tensor": _BOTH,
    "bert": {**_ENCODER, "max_length": 16},
    "distilbert": {**_ENCODER, "max_length": 16},
    "roberta": {**_ENCODER, "max_length": 16},
    "modernbert": {**_ENCODER, "layers": 4, "reach": 2},
    "gpt2": {**_ENCODER, "max_length": 16},
    "llama": {**_ENCODER, "heads": 4, "width": 16, "key_value_heads": 2},
    "marian": {**_BOTH, "max_length": 16},
    "bart": {**_BOTH, "max_length": 16},
    "t5": {**_BOTH, "query_size": 5, "buckets": 8, "max_distance": 6},
}


def every_stack(change: Callable[[StackConfig], StackConfig]) -> Callable[[ModelConfig], ModelConfig]:
    def everywhere(config: ModelConfig) -> ModelConfig:
        return config.model_copy(
            update={
                side: change(stack) for side in ("encoder", "decoder") if (stack := getattr(config, side)) is not None
            }
        )

    return everywhere


@every_stack
def norm_on_branch(stack: StackConfig) -> StackConfig:
    """x + Norm(Sublayer(x)) in each block."""
    blocks = []
    for block in stack.blocks:
        parts = {name: getattr(block, name) for name in ("self_attention", "cross_attention", "feed_forward")}
        blocks.append(
            block.model_copy(
                update={
                    name: part.model_copy(update={"norm_at": "branch"})
                    for name, part in parts.items()
                    if part is not None
                }
            )
        )
    return stack.model_copy(update={"blocks": tuple(blocks)})


# The settings of each are such that every one of them matters in texts of seven tokens with six pairs to turn.
STRETCHES: tuple[Stretch, ...] = (
    LinearStretch(factor=2.5),
    DynamicStretch(factor=3.0, original_length=4),
    Llama3Stretch(factor=4.0, low_frequency_factor=1.0, high_frequency_factor=6.0, original_length=20),
    YarnStretch(factor=4.0, original_length=40, attention_factor=1.2, beta_fast=5.0, beta_slow=0.3, truncate=False),
)

FAMILIES: tuple[Row, ...] = tuple(Row(name, name) for name in TINY)

OPTIONS: tuple[Row, ...] = (
    Row("slides, zeroed after the position", "slides", {"zero": "sum"}),
    Row("slides, masked words visible", "slides", {"hide": False}),
    Row("slides, all they do not draw", "slides", {"scaled": True, "norm": True, "biases": True, "layers": 2,
                                                   "feed_forward_residual": True}),
    Row("slides, learned positions", "slides", {"positions": "learned", "max_length": 16}),
    Row("slides, no positions", "slides", {"positions": "none"}),
    Row("mask_matrix, each word alone", "mask_matrix", {"reading": "code"}),
    Row("slides, query and value sizes differ", "slides", {"query_size": 3, "value_size": 5}),
    *(Row(f"bert, {name}", "bert", {"activation": name}) for name in ("relu", "gelu_tanh", "silu", "tanh")),
    Row("bert, next sentence", "bert", {"sentence_labels": 2}),
    Row("bert, pooler alone", "bert", {"sentence_labels": 0, "vocabulary_head": False}),
    Row("bert, no segments", "bert", {"segments": 0}),
    Row("bert, norm on the branch", "bert", change=norm_on_branch),
    Row("roberta, two segments", "roberta", {"segments": 2}),
    Row("modernbert, all global", "modernbert", {"global_every": 1}),
    Row("gpt2, untied", "gpt2", {"tied": False}),
    Row("gpt2, exact gelu", "gpt2", {"activation": "gelu"}),
    Row("llama, one key-value head", "llama", {"key_value_heads": 1}),
    Row("llama, own query size", "llama", {"query_size": 6}),
    *(Row(f"llama, stretched {kind.kind}", "llama", {"query_size": 12, "stretch": kind}) for kind in STRETCHES),
    Row("gpt2, divided by layer", "gpt2", {"divided_by_layer": True}),
    Row("distilbert, classifier", "distilbert", {"sentence_labels": 3, "vocabulary_head": False}),
    Row("modernbert, classifier of the mean", "modernbert",
        {"sentence_labels": 3, "sentence_pooling": "mean_pooler", "vocabulary_head": False}),
    Row("llama, biases, tied", "llama", {"attention_bias": True, "feed_forward_bias": True, "tied": True}),
    Row("marian, unscaled words", "marian", {"embed_scaled": False}),
    Row("marian, stacks differ", "marian", {"decoder_heads": 2, "decoder_feed_forward": 28, "activation": "relu"}),
    Row("bart, scaled words", "bart", {"embed_scaled": True}),
    Row("bart, stacks differ", "bart", {"decoder_heads": 4, "decoder_feed_forward": 28, "activation": "relu"}),
    Row("t5, gated and untied", "t5", {"gated": True, "tied": False, "activation": "gelu_tanh"}),
    Row("t5, gated silu", "t5", {"gated": True, "activation": "silu"}),
)  # fmt: skip

ROWS: tuple[Row, ...] = FAMILIES + OPTIONS
# Angles that depend on the length of the whole row: a token that comes later turns those before it too, so no cache and
# no other document of the row can leave a document as it is alone (transformers' cache has the same limit).
OF_ANY_LENGTH: tuple[Row, ...] = tuple(row for row in ROWS if row.name != "llama, stretched dynamic")


def random_weights(model: Transformer, *, seed: int) -> Transformer:
    """Weights around 0 (norms around 1) that are large enough to saturate nothing and to hide nothing."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            center = 1.0 if parameter.dim() == 1 and name.endswith("weight") else 0.0
            parameter.normal_(center, 0.25, generator=generator)
    return model


def random_batch(config: ModelConfig, *, padding: Padding = "right", seed: int = 0) -> tuple[Inputs, Inputs | None]:
    """Three sentences, and three targets where a decoder looks at an encoder."""
    generator = torch.Generator().manual_seed(seed)
    first = config.encoder or config.decoder
    assert first is not None
    inputs = _side(first, (7, 4, 6), padding, generator)
    if config.encoder is None or config.decoder is None:
        return inputs, None
    return inputs, _side(config.decoder, (5, 3, 6), padding, generator)


def _side(stack: StackConfig, lengths: tuple[int, ...], padding: Padding, generator: torch.Generator) -> Inputs:
    longest = max(lengths)
    ids = torch.randint(3, stack.embed.vocabulary, (len(lengths), longest), generator=generator)  # [B, S]
    real = real_tokens(lengths, padding)
    segments = None
    if stack.embed.segments > 1:
        segments = (torch.arange(longest) >= longest // 2).long().expand_as(ids)  # [B, S]
    masked_words = None
    if stack.embed.masked_words != "token":
        masked_words = torch.zeros_like(ids, dtype=torch.bool)
        masked_words[:, 1:3] = True
    return Inputs(ids=ids, real=real, segments=segments, masked_words=masked_words)


def real_tokens(lengths: tuple[int, ...], padding: Padding) -> Tensor | None:
    """Which tokens are not padding, [B, S]; `uneven` pads some rows left, some right."""
    if padding == "none":
        return None
    place = torch.arange(max(lengths))[None]  # [1, S]
    length = torch.tensor(lengths)[:, None]  # [B, 1]
    right, left = place < length, place >= max(lengths) - length  # [B, S]
    if padding == "uneven":
        return torch.where(torch.arange(len(lengths))[:, None] % 2 == 0, left, right)
    return right if padding == "right" else left


def real_of(inputs: Inputs) -> Tensor:
    """Which tokens are not padding, [B, S], all of them where nothing is said."""
    return torch.ones(inputs.shape, dtype=torch.bool) if inputs.real is None else inputs.real


def cut(side: Inputs, sentence: int) -> Inputs:
    """One sentence by itself, without its padding."""
    real = real_of(side)[sentence]  # [S]
    stated = {name: getattr(side, name) for name in ("ids", "segments", "masked_words", "documents", "positions")}
    kept = {name: fact[sentence : sentence + 1, real] for name, fact in stated.items() if fact is not None}
    if side.may_look is not None:
        kept["may_look"] = side.may_look[sentence : sentence + 1, real][:, :, real]
    return Inputs(**kept)


def dropout_key(first: int, rows: int) -> DropoutKey:
    return DropoutKey(torch.tensor(11, dtype=torch.int32), torch.arange(first, first + rows, dtype=torch.int32))
