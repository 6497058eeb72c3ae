"""From a recipe to what training needs: tokenizer, data, task, and a model with its initial weights."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.data.readers.files import find_files
from glassformer.models.families import FAMILIES, family_config
from glassformer.models.transformer import Transformer, build
from glassformer.run.adapt import adapt
from glassformer.run.distil import check_pair, student_of, teacher_of, teaching_of
from glassformer.run.vectors import use_vectors
from glassformer.runtime.device import choose_device, memory_of, use_threads
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_model
from glassformer.saved.recipe import Recipe
from glassformer.saved.sections import TokenizerSection
from glassformer.tasks import TASKS, task_named, task_of
from glassformer.tasks.distil import TaughtFeed
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.task import Preparation, Task
from glassformer.text.compatible import check_compatible
from glassformer.text.load import load_tokenizer
from glassformer.text.special import NONE
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from glassformer.training.progress import Advance, Progress
from glassformer.training.run import check
from glassformer.training.settings import EpochsByData
from glassformer.training.tune import check_without_start, rate_by_weights

# The files whose lines stand beside those of other files, where a task reads such.
_TARGETS = {"files": "target_files", "validation_files": "validation_target_files"}


@dataclass(frozen=True)
class Prepared:
    """All that `fit` needs, and the recipe with all open settings resolved."""

    recipe: Recipe
    tokenizer: Tokenizer
    module: Transformer
    task: Task
    feed: TaskFeed
    held_out: TaskFeed | None
    teacher: Artefact | None = None


def prepare_run(recipe: Recipe, folder: Path, progress: Progress, *, tokenizer: Tokenizer | None = None) -> Prepared:
    """Read, tokenize and split the data, and build the model. The tokenized text is kept in `folder`.

    `tokenizer` is one that an earlier part of the same run has made. Raises DataError, ConfigError, TokenizerError,
    DeviceError.
    """
    kind, data = task_named(recipe.task.name), recipe.data
    if not data.files:
        do = f"name files: glassformer train {recipe.task.name} FILES"
        raise ConfigError("training needs text", got="no data.files", do=do)
    size = 0
    for name in ("files", "validation_files"):
        if not (paths := getattr(data, name)):
            continue
        targets = getattr(data, _TARGETS[name], ())
        found = find_files(paths, text=data.text, reads="text" if targets else data.reads)
        size += sum(path.stat().st_size for path in found.used)
        progress.note(found.beside(find_files(targets)) if targets else str(found))
    use_threads(recipe.train.threads)
    check(recipe.train, held_out=data.holds_out)
    kind.check_data(data)
    going_on = tokenizer is not None
    teacher = None
    if recipe.distil.teacher is not None:
        teacher, recipe = teacher_of(recipe)
    start = None if recipe.model.start is None else _start(recipe)
    if teacher is not None and start is not None:
        _check_length(teacher.config, recipe.data.length)
        check_pair(teacher, start, recipe.distil, pairs=kind.reads_pairs(recipe.data))
    elif teacher is not None:
        start, which = student_of(teacher, recipe.distil)
        _check_length(start.config, recipe.data.length)
        progress.note(which)
    if start is not None:
        tokenizer = start.tokenizer
        if recipe.train.learning_rate is None:
            recipe = _with_rate(recipe, rate_by_weights(start.module), progress)
    elif tokenizer is None and recipe.tokenizer.file is not None:
        tokenizer = load_tokenizer(Path(recipe.tokenizer.file))
    _check_tokenizer(recipe, tokenizer)
    _check_row(recipe, tokenizer)
    if start is None:  # an impossible model must be refused before an hour of reading
        check_without_start(recipe.tune)
        sizes = [recipe.tokenizer.vocabulary] * _sides(recipe, tokenizer) if tokenizer is None else _sizes(tokenizer)
        planned = body_config(recipe, *sizes)
        kind = task_of(recipe.task.name, planned)
        kind.check_body(recipe.task, planned)
        check_memory(recipe, body_config(recipe, *[1] * len(sizes)))  # the sizes of the vocabularies are not known yet
        if TASKS[recipe.task.name].tuning != TASKS[recipe.task.name].recipe:
            progress.note("no model to start from: it learns everything from this data alone (--start MODEL names one)")
    else:
        kind = task_of(recipe.task.name, start.config)
        kind.check_body(recipe.task, start.config)
    shares = data.shares
    if not going_on:  # a resumed run keeps its split, also where the text has changed since
        shares = kind.resolve_shares(data)
    data = data.model_copy(update=shares)
    if tokenizer is None:
        tokenizers = []
        for side in range(count := _sides(recipe, None)):
            of = "" if count == 1 else (" for the sources", " for the targets")[side]
            title = f"learning a vocabulary of {recipe.tokenizer.vocabulary:,} tokens{of}"
            with progress.reading(title, size // count) as advance:
                texts = islice(kind.training_texts(data, shares), side, None, count)
                tokenizers.append(_learned(recipe.tokenizer, texts, kind, advance, progress))
            _note_size(recipe.tokenizer, tokenizers[-1], progress)
        tokenizer = tokenizers[0] if count == 1 else tokenizers[0].with_target(tokenizers[1])
    body = start.config if start is not None else body_config(recipe, *_sizes(tokenizer), pad_id=tokenizer.pad_id)
    task, sources = kind.prepared(
        recipe.task,
        Preparation(
            data=data,
            tokenizer=tokenizer,
            body=body,
            cache=folder / "tokens",
            shares=shares,
            seed=recipe.train.seed,
            log=progress.note,
            stage=progress.reading,
            templates=None if start is None else start.templates,
        ),
    )
    recipe = recipe.model_copy(update={"data": data, "task": task.section})
    same_labels = start is None or start.labels == tuple(getattr(task.section, "labels", ()))
    module = _module(recipe, task.model(body), tokenizer, start, progress, same_labels=same_labels)
    settings = recipe.train
    cut: dict[str, Any] = {"batch": settings.batch, "tokens": settings.batch_tokens, "seed": settings.seed}
    if teacher is None:
        feed = TaskFeed(task, sources["train"], **cut)
    else:
        feed = TaughtFeed(task, sources["train"], teacher.module, teaching_of(recipe.distil), **cut)
    if (rule := settings.fitted_epochs) is not None:
        progress.note(_epochs_told(rule, feed.steps_per_epoch))
    held_out = TaskFeed(task, sources["validation"]) if "validation" in sources else None
    return Prepared(recipe, tokenizer, module, task, feed, held_out, teacher)


def _epochs_told(rule: EpochsByData, steps_per_epoch: float) -> str:
    """How many epochs a rule gives, why, and how to choose otherwise."""
    epochs = rule.epochs(steps_per_epoch)
    steps = math.ceil(epochs * steps_per_epoch)
    few = f": by the rule of {rule.steps:,} steps for small data, up to {rule.most:,} epochs" * (epochs > rule.least)
    return f"{epochs:,} epochs, which are {steps:,} steps{few}; --epochs chooses otherwise"


# --------------------------------------------------------------------------- tokenizer


def _sides(recipe: Recipe, tokenizer: Tokenizer | None) -> int:
    """How many vocabularies there are, or are to be learned."""
    return 2 - recipe.tokenizer.shared if tokenizer is None else len(tokenizer.sides)


def _sizes(tokenizer: Tokenizer) -> list[int]:
    """The size of the vocabulary, or of those of source and target."""
    return [side.vocabulary_size for side in tokenizer.sides]


def _check_tokenizer(recipe: Recipe, tokenizer: Tokenizer | None) -> None:
    """Refuse two vocabularies where there are no pairs, and settings for a tokenizer that is not learned: they would
    have no effect, but would be saved in recipe.toml.
    """
    if _sides(recipe, tokenizer) > 1 and not task_named(recipe.task.name).two_sided:
        raise ConfigError(
            "two vocabularies are those of a source and its translation",
            got=f"the task {recipe.task.name}",
            do="leave tokenizer.shared out, and name one file of a tokenizer",
        )
    section, usual = recipe.tokenizer, TokenizerSection()
    start = recipe.model.start is not None
    if start or section.file is not None:
        asked = [key for key, value in section if value != getattr(usual, key) and (start or key != "file")]
        if asked:
            brought = "a model to start from" if start else "an existing tokenizer"
            raise ConfigError(
                f"{brought} brings its own tokens",
                got=f"{'model.start' if start else 'tokenizer.file'} together with tokenizer.{asked[0]}",
                do="leave one of them out",
            )


def _check_row(recipe: Recipe, tokenizer: Tokenizer | None) -> None:
    """Refuse rows that are too short for text; a tokenizer that is still to be learned will add two special tokens."""
    around = (2 if recipe.tokenizer.special else 0) if tokenizer is None else sum(tokenizer.frame)
    if recipe.data.length <= around:
        raise ConfigError(
            f"a row must be longer than its {around} special tokens", got=f"data.length = {recipe.data.length}"
        )


def _learned(
    section: TokenizerSection,
    texts: Iterable[str],
    kind: type[Task],
    advance: Advance | None,
    progress: Progress,
) -> Tokenizer:
    return train_tokenizer(
        section.kind,
        texts,
        vocabulary=section.vocabulary,
        lowercase=section.lowercase,
        special=kind.special if section.special else NONE,
        marks=kind.marks if section.special else (),
        advance=advance,
        note=progress.note,
    )


def _note_size(section: TokenizerSection, tokenizer: Tokenizer, progress: Progress) -> None:
    size = tokenizer.vocabulary_size
    if section.file is None and size > section.vocabulary:
        progress.note(
            f"a vocabulary of {size:,} tokens, not {section.vocabulary:,}: fewer tokens cannot write the text"
        )


# --------------------------------------------------------------------------- model


def body_config(
    recipe: Recipe, vocabulary: int, target: int | None = None, *, pad_id: int | None = None
) -> ModelConfig:
    """The model that a recipe asks for, for a vocabulary of this size, and one of the size `target` where targets have
    their own; raises ConfigError for an impossible one.

    A family that counts positions from its padding on (RoBERTa) begins after `pad_id`: otherwise it could not be
    exported.
    """
    section, length = recipe.model, recipe.data.length
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
    _check_length(config, length)
    return config


def _check_length(config: ModelConfig, length: int) -> None:
    limit = config.output_stack.max_length
    if limit is not None and length > limit:
        raise ConfigError(
            f"rows of data.length = {length} tokens must fit the model",
            got=f"one with {limit} positions",
            do=f"lower data.length, or build a model with model.settings.max_length = {length}",
        )


def check_memory(recipe: Recipe, config: ModelConfig) -> None:
    """Raise ConfigError for a model that does not fit into the machine's memory in training."""
    smaller = "choose a smaller model.size or model.settings.width"
    try:
        with torch.device("meta"):  # without memory for weights
            count = sum(parameter.numel() for parameter in Transformer(config).parameters())
    except (RuntimeError, TypeError, OverflowError):  # these are torch's errors for sizes of more than 63 bits
        raise ConfigError("a model needs sizes that a machine can hold", got="2^63 or more", do=smaller) from None
    memory = memory_of(choose_device(recipe.train.device))
    # Weights, gradients and Adam's two moments, in float32; frozen vectors, most of such a model, need only the
    # weights.
    needed = 4 * count * (1 if recipe.model.freeze_vectors else 4)
    if memory is not None and needed > memory:
        raise ConfigError(
            f"to train {count:,} parameters a machine needs {needed / 1e9:,.1f} GB",
            got=f"one with {memory / 1e9:,.1f} GB",
            do=smaller,
        )


def _module(
    recipe: Recipe,
    config: ModelConfig,
    tokenizer: Tokenizer,
    start: Artefact | None,
    progress: Progress,
    *,
    same_labels: bool,
) -> Transformer:
    if start is not None:
        module, summary = adapt(start.module, config, seed=recipe.train.seed, same_labels=same_labels)
        if summary:
            progress.note(summary)
        return module
    check_compatible(tokenizer, config)
    check_memory(recipe, config)
    module = build(config, seed=recipe.train.seed)
    if recipe.model.vectors is not None:
        freeze = recipe.model.freeze_vectors
        progress.note(use_vectors(module, tokenizer, recipe.model.vectors, freeze=freeze))
    return module


def _with_rate(recipe: Recipe, rate: float, progress: Progress) -> Recipe:
    progress.note(f"learning rate {rate:g}: by the size of the start's weights; --learning-rate chooses otherwise")
    return recipe.model_copy(update={"train": recipe.train.model_copy(update={"learning_rate": rate})})


def _start(recipe: Recipe) -> Artefact:
    section = recipe.model
    if section.size is not None or section.settings or section.vectors is not None:
        raise ConfigError(
            "a model to start from brings its own sizes and vectors",
            got="model.start together with model.size, model.settings or model.vectors",
            do="leave one of them out",
        )
    assert section.start is not None
    model = open_model(section.start, Artefact, "cpu")
    _check_length(model.config, recipe.data.length)
    return model
