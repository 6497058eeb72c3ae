"""The model that a recipe asks for, before it gets the head of a task: its sizes, and whether a machine can hold it."""

from __future__ import annotations

import inspect

import torch

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.models.families import FAMILIES, family_config
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import choose_device, memory_of
from glassformer.saved.sections import ModelSection


def body_config(
    section: ModelSection, length: int, vocabulary: int, target: int | None = None, *, pad_id: int | None = None
) -> ModelConfig:
    """The model of these settings for rows of `length` tokens, for a vocabulary of this size, and one of the size
    `target` where targets have their own; raises ConfigError for an impossible one.

    A family that counts positions from its padding on (RoBERTa) begins after `pad_id`: otherwise it could not be
    exported.
    """
    settings = dict(section.settings)
    if section.size is not None:
        settings["size"] = section.size
    settings.setdefault("vocabulary", vocabulary)
    if section.family in FAMILIES:
        known = inspect.signature(FAMILIES[section.family]).parameters
        if target is not None:
            if "target_vocabulary" not in known:
                raise ConfigError(
                    "two vocabularies need a family whose stacks may have a table of word vectors each",
                    got=section.family,
                    do="choose marian, vaswani2017 or tensor2tensor, or leave tokenizer.shared out",
                )
            settings.setdefault("target_vocabulary", target)
        if "position_offset" in known and pad_id is not None:
            settings.setdefault("position_offset", pad_id + 1)
        numbered = known.get("max_length")
        if numbered is not None and "max_length" not in settings and length > numbered.default:
            settings["max_length"] = length
    config = family_config(section.family, settings)
    check_length(config, length)
    return config


def check_length(config: ModelConfig, length: int) -> None:
    """Raise ConfigError for rows of more tokens than a model has positions."""
    limit = config.output_stack.max_length
    if limit is not None and length > limit:
        raise ConfigError(
            f"rows of data.length = {length} tokens must fit the model",
            got=f"one with {limit} positions",
            do=f"lower data.length, or build a model with model.settings.max_length = {length}",
        )


def check_memory(config: ModelConfig, device: str, *, freeze_vectors: bool) -> None:
    """Raise ConfigError for a model that does not fit into the machine's memory in training on `device`."""
    smaller = "choose a smaller model.size or model.settings.width"
    try:
        with torch.device("meta"):  # without memory for weights
            count = sum(parameter.numel() for parameter in Transformer(config).parameters())
    except (RuntimeError, TypeError, OverflowError):  # these are torch's errors for sizes of more than 63 bits
        raise ConfigError("a model needs sizes that a machine can hold", got="2^63 or more", do=smaller) from None
    memory = memory_of(choose_device(device))
    # Weights, gradients and Adam's two moments, in float32; frozen vectors, most of such a model, need only the
    # weights.
    needed = 4 * count * (1 if freeze_vectors else 4)
    if memory is not None and needed > memory:
        raise ConfigError(
            f"to train {count:,} parameters a machine needs {needed / 1e9:,.1f} GB",
            got=f"one with {memory / 1e9:,.1f} GB",
            do=smaller,
        )
