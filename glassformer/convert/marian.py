"""Marian of Hugging Face: `transformers.models.marian`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.convert.bart import BODY_SETTINGS, BODY_TENSORS
from glassformer.convert.family import Family
from glassformer.convert.settings import Joint, Only, Values
from glassformer.convert.table import Derived
from glassformer.errors import CheckpointError
from glassformer.parts.position import halves


def _positions(config: ModelConfig) -> Tensor:
    """All sines before all cosines, for each position their table has: [P, W]."""
    assert config.encoder is not None
    length = config.encoder.embed.position.max_length
    return halves(torch.arange(length), config.encoder.width)


def _read_vocabulary(values: Values) -> dict[str, Any]:
    """One vocabulary for both sides; theirs may have two."""
    vocabulary = values.get("vocab_size", 58101)
    theirs = values.get("decoder_vocab_size") or vocabulary
    if theirs != vocabulary:
        raise CheckpointError(
            "decoder_vocab_size must be vocab_size: both sides share one", got=f"{theirs}, {vocabulary}"
        )
    return {"vocabulary": vocabulary}


def _write_vocabulary(config: ModelConfig) -> dict[str, Any]:
    assert config.encoder is not None
    size = config.encoder.embed.vocabulary
    return {"vocab_size": size, "decoder_vocab_size": size}


MARIAN = Family(
    name="marian",
    prefix="model.",
    heads=("lm_head.", "final_logits_bias"),
    classes={(True, False): "MarianMTModel"},
    settings=(
        *BODY_SETTINGS,
        Joint(("vocab_size", "decoder_vocab_size"), _read_vocabulary, _write_vocabulary),
        Only("share_encoder_decoder_embeddings", (True,), "both sides share one table of word vectors"),
        Only("normalize_embedding", (False,), "no norm follows its embedding"),
        Only("static_position_embeddings", (True,), "its positions are sines and cosines"),
    ),
    tensors=(
        *BODY_TENSORS,
        Derived("model.encoder.embed_positions.weight", _positions, "sines and cosines are computed"),
        Derived("model.decoder.embed_positions.weight", _positions, "sines and cosines are computed"),
    ),
)
