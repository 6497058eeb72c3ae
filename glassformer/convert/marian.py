"""Marian of Hugging Face: `transformers.models.marian`."""

from collections.abc import Mapping
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from glassformer.base.errors import CheckpointError
from glassformer.config import ModelConfig
from glassformer.convert.bart import BODY_SETTINGS, BODY_TENSORS
from glassformer.convert.family import Family
from glassformer.convert.settings import Joint, Only, Values
from glassformer.convert.table import DERIVED_TOLERANCE, Derived, Same
from glassformer.parts.position import halves


def _positions(config: ModelConfig) -> Tensor:
    """All sines before all cosines, for each position their table has: [P, W]."""
    stack = config.output_stack  # both have the same
    return halves(torch.arange(stack.embed.position.max_length), stack.width)


_SHARED = "share_encoder_decoder_embeddings"


def _read_vocabulary(values: Values) -> dict[str, Any]:
    """One vocabulary and table of word vectors for both sides, or one each."""
    vocabulary = values.get("vocab_size", 58101)
    theirs = values.get("decoder_vocab_size") or vocabulary
    shared = values.get(_SHARED, True)
    if not isinstance(shared, bool):
        raise TypeError(_SHARED)  # reported with all keys of this row
    if not shared:
        return {"vocabulary": vocabulary, "target_vocabulary": theirs}
    if theirs != vocabulary:
        raise CheckpointError(
            "decoder_vocab_size must be vocab_size: both sides share one", got=f"{theirs}, {vocabulary}"
        )
    return {"vocabulary": vocabulary}


def _write_vocabulary(config: ModelConfig) -> dict[str, Any]:
    assert config.encoder is not None
    said = {"vocab_size": config.encoder.embed.vocabulary, "decoder_vocab_size": config.output_stack.embed.vocabulary}
    return said if config.share_embeddings else {**said, _SHARED: False}


# The score of a token that is never written: a number that float16 has, since minus infinity times 0 is none.
LEAST = -1e4
_FIRST, _BIAS = "model.decoder.embed_positions.weight", "final_logits_bias"
_SOURCE_WORDS, _TARGET_WORDS = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"


def _words(config: ModelConfig) -> str:
    return "model.shared.weight" if config.share_embeddings else _TARGET_WORDS


def _scale(config: ModelConfig) -> float:
    return sqrt(config.output_stack.width) if config.output_stack.embed.scaled else 1.0


def _fold(config: ModelConfig, tensors: Mapping[str, Tensor], start: int) -> dict[str, Tensor]:
    """The same decoder, but one that begins with a vector of zeros, as Marian's own and ctranslate2's do. The first
    position is only ever that of the token `start`: its vector is added there. A vector of zeros has the score 0,
    more than an unlikely token has, so its bias keeps this token from being written.
    """
    table = tensors[_words(config)]  # [V, W]
    exact = torch.promote_types(table.dtype, torch.float32)
    positions, words, bias = _positions(config).to(exact), table.clone(), tensors[_BIAS].clone()  # [P, W] …
    positions[0] += words[start].to(exact) * _scale(config)
    words[start], bias[:, start] = 0.0, LEAST
    return {**tensors, _words(config): words, _BIAS: bias, _FIRST: positions}


def _unfold(config: ModelConfig, tensors: Mapping[str, Tensor], start: int) -> dict[str, Tensor]:
    """The vector of the token `start` where it was added to the first position: what `_fold` does, undone. Only of a
    token that is never written: what it is worth as an answer would change as well.
    """
    found, table = dict(tensors), _words(config)
    if not {table, _FIRST, _BIAS} <= found.keys() or not 0 <= start < len(found[table]):
        return found
    positions, computed = found[_FIRST], _positions(config)  # [P, W]
    if positions.shape != computed.shape or not positions.is_floating_point() or found[_BIAS][0, start] > LEAST / 2:
        return found
    moved = positions[0].double() - computed[0].double()  # [W]
    if moved.abs().max() <= max(DERIVED_TOLERANCE, torch.finfo(positions.dtype).eps):
        return found
    words, positions = found[table].clone(), positions.clone()
    words[start] = (words[start].double() + moved / _scale(config)).to(words.dtype)
    positions[0] = computed[0]
    return {**found, table: words, _FIRST: positions}


MARIAN = Family(
    name="marian",
    fold=_fold,
    unfold=_unfold,
    prefix="model.",
    heads=("lm_head.", "final_logits_bias"),
    classes={(True, False): "MarianMTModel"},
    settings=(
        *BODY_SETTINGS,
        Joint(("vocab_size", "decoder_vocab_size", _SHARED), _read_vocabulary, _write_vocabulary),
        Only("normalize_embedding", (False,), "no norm follows its embedding"),
        Only("static_position_embeddings", (True,), "its positions are sines and cosines"),
    ),
    tensors=(
        *BODY_TENSORS,
        Same("encoder.embed.word.weight", _SOURCE_WORDS, needs="decoder.embed.word.weight"),
        Same("decoder.embed.word.weight", _TARGET_WORDS, copies=("lm_head.weight",)),
        Derived("model.encoder.embed_positions.weight", _positions, "sines and cosines are computed"),
        Derived("model.decoder.embed_positions.weight", _positions, "sines and cosines are computed"),
    ),
)
