"""The tokens of a run: those of an existing model or file, or a vocabulary learned from the text."""

import inspect
from collections.abc import Mapping
from itertools import islice

import torch

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig, changed
from glassformer.data.settings import DataSection
from glassformer.models.families import FAMILIES, family_config
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import choose_device, memory_of
from glassformer.saved.recipe import Recipe
from glassformer.saved.sections import ModelSection, TokenizerSection
from glassformer.tasks.task import Task
from glassformer.text.special import NONE
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from glassformer.training.progress import Progress


def body_config(
    section: ModelSection, length: int, vocabulary: int, target: int | None = None, *, pad_id: int | None = None
) -> ModelConfig:
    """The model for these rows and vocabularies; RoBERTa counts positions after `pad_id`. Raises ConfigError."""
    settings = dict(section.settings)
    if section.size is not None:
        settings["size"] = section.size
    settings.setdefault("vocabulary", vocabulary)
    if section.family in FAMILIES:
        known = inspect.signature(FAMILIES[section.family]).parameters
        if target is not None:
            if "target_vocabulary" not in known:
                raise ConfigError(
                    "two vocabularies need a family whose encoder and decoder can have separate embeddings",
                    got=section.family,
                    do="choose marian, vaswani2017 or tensor2tensor, or leave tokenizer.shared out",
                )
            settings.setdefault("target_vocabulary", target)
        if "position_offset" in known and pad_id is not None:
            settings.setdefault("position_offset", pad_id + 1)
        numbered = known.get("max_length")
        if numbered is not None and "max_length" not in settings and length > numbered.default:
            settings["max_length"] = length
    config = changed(family_config(section.family, settings), section.changes)
    check_length(config, length)
    return config


def check_length(config: ModelConfig, length: int) -> None:
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
            f"training {count:,} parameters needs {needed / 1e9:,.1f} GB",
            got=f"one with {memory / 1e9:,.1f} GB",
            do=smaller,
        )


def sizes_of(tokenizer: Tokenizer) -> list[int]:
    return [side.vocabulary_size for side in tokenizer.sides]


def check_tokens(recipe: Recipe, kind: type[Task], sides: int, known: Tokenizer | None) -> None:
    """Refuse settings of the tokens that the task, or the tokenizer that is `known` already, does not have: they would
    be saved but have no effect. And rows too short for text, with the special tokens of one that is to be learned.
    """
    section, name, start = recipe.tokenizer, recipe.task.name, recipe.model.start is not None
    if sides > 1 and not kind.two_sided:
        raise ConfigError(
            "two vocabularies need a task with sources and targets",
            got=f"the task {name}",
            do="leave tokenizer.shared out, and name one tokenizer file",
        )
    # A long text is cut into parts, which would each begin with the blank.
    if section.leading_blank and not (kind.two_sided and section.kind == "bpe"):
        raise ConfigError(
            "tokenizer.leading_blank is for byte pairs, in tasks with sources and targets",
            got=f'kind = "{section.kind}" and the task {name}',
            do="leave it out",
        )
    usual = TokenizerSection()
    asked = [key for key, value in section if value != getattr(usual, key) and (start or key != "file")]
    if asked and (start or section.file is not None):
        raise ConfigError(
            f"{'a model to start from' if start else 'an existing tokenizer'} brings its own tokens",
            got=f"{'model.start' if start else 'tokenizer.file'} together with tokenizer.{asked[0]}",
            do="leave one of them out",
        )
    length, around = recipe.data.length, 2 * section.special if known is None else sum(known.frame)
    if length <= around:
        raise ConfigError(f"a row must be longer than its {around} special tokens", got=f"data.length = {length}")


def learn_tokenizer(
    section: TokenizerSection,
    task: type[Task],
    data: DataSection,
    shares: Mapping[str, float],
    characters: int,
    progress: Progress,
) -> Tokenizer:
    """A tokenizer from the training texts, one for each side where not `shared`. Raises TokenizerError, DataError."""
    sides = 2 - section.shared
    each = []
    for side in range(sides):
        of = "" if sides == 1 else (" for the sources", " for the targets")[side]
        with progress.reading(
            f"learning a vocabulary of {section.vocabulary:,} tokens{of}", characters // sides
        ) as advance:
            learned = train_tokenizer(
                section.kind, islice(task.training_texts(data, shares), side, None, sides),
                vocabulary=section.vocabulary, lowercase=section.lowercase, leading_blank=section.leading_blank,
                special=task.special if section.special else NONE, marks=task.marks if section.special else (),
                advance=advance, note=progress.note,
            )  # fmt: skip
        size = learned.vocabulary_size
        if size > section.vocabulary:
            progress.note(
                f"a vocabulary of {size:,} tokens, not {section.vocabulary:,}: no smaller one can encode the text"
            )
        each.append(learned)
    return each[0] if sides == 1 else each[0].with_target(each[1])
