"""From a recipe to what training needs: tokenizer, data, task, and a model with its initial weights.

Five steps, each a record that is made from those before: what was checked, what the run starts from, its vocabulary,
its task with the examples, and the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.data.readers.files import find_files
from glassformer.data.settings import DataSection
from glassformer.data.stores.split import Split
from glassformer.models.transformer import Transformer, build
from glassformer.run.body import body_config, check_length, check_memory
from glassformer.run.distil import check_pair, student_of, teacher_of
from glassformer.run.first_weights import adapt, use_vectors
from glassformer.run.vocabulary import (
    check_row,
    check_sides,
    check_unused,
    learn_tokenizer,
    planned_sizes,
    read_tokenizer,
    sizes_of,
)
from glassformer.runtime.device import use_threads
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_model
from glassformer.saved.recipe import Recipe
from glassformer.saved.sections import DistilSection, ModelSection
from glassformer.tasks import TASKS, task_named, task_of
from glassformer.tasks.distil import TaughtFeed, Teaching
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.task import Preparation, Source, Task, TaskSection
from glassformer.text.compatible import check_compatible
from glassformer.text.tokenizer import Tokenizer
from glassformer.training.progress import Progress
from glassformer.training.run import check
from glassformer.training.settings import EpochsByData, TrainSection
from glassformer.training.tune import check_without_start, rate_by_weights

# The files whose lines stand beside those of other files, where a task reads such.
_TARGETS = {"files": "target_files", "validation_files": "validation_target_files"}


@dataclass(frozen=True)
class Checked:
    """What is known before any text is read: the task that the recipe names, and the bytes of its files."""

    kind: type[Task]
    size: int


@dataclass(frozen=True)
class Start:
    """What a run starts from: a model, None where all weights are drawn, and a teacher, None without one.

    The tables of the recipe are those that they complete: `task` with the labels of the teacher, `distil` with its
    fingerprint, `train` with the learning rate for the weights of the model.
    """

    model: Artefact | None
    teacher: Artefact | None
    task: TaskSection
    distil: DistilSection
    train: TrainSection


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of a run, and the model that reads them, before it has the head of the task.

    `kind` is the task as such a model learns it, `data` are the settings with the `shares` that are held out.
    """

    tokenizer: Tokenizer
    body: ModelConfig
    kind: type[Task]
    data: DataSection
    shares: Mapping[str, float]


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
    checked = _checked(recipe.task.name, recipe.data, recipe.train, progress)
    start = _start(recipe, progress, pairs=checked.kind.reads_pairs(recipe.data))
    vocabulary = _vocabulary(recipe, checked, start, tokenizer, progress)
    task, sources = _task(vocabulary, start, folder, progress)
    module = _module(recipe.model, task, vocabulary, start, progress)
    feed = _feed(task, sources["train"], start)
    if (rule := start.train.fitted_epochs) is not None:
        progress.note(_epochs_told(rule, feed.steps_per_epoch))
    known = {"data": vocabulary.data, "task": task.section, "distil": start.distil, "train": start.train}
    return Prepared(
        recipe=recipe.model_copy(update=known),
        tokenizer=vocabulary.tokenizer,
        module=module,
        task=task,
        feed=feed,
        held_out=TaskFeed(task, sources["validation"]) if "validation" in sources else None,
        teacher=start.teacher,
    )


# --------------------------------------------------------------------------- checked


def _checked(name: str, data: DataSection, train: TrainSection, progress: Progress) -> Checked:
    """Find the files, and refuse what no text can mend."""
    kind = task_named(name)
    if not data.files:
        raise ConfigError("training needs text", got="no data.files", do=f"name files: glassformer train {name} FILES")
    size = sum(_size(data, which, progress) for which in _TARGETS)
    use_threads(train.threads)
    check(train, held_out=data.holds_out)
    kind.check_data(data)
    return Checked(kind, size)


def _size(data: DataSection, which: str, progress: Progress) -> int:
    """The bytes of the files for training, or of those for validation, which are noted."""
    paths, targets = getattr(data, which), getattr(data, _TARGETS[which], ())
    if not paths:
        return 0
    found = find_files(paths, text=data.text, reads="text" if targets else data.reads)
    progress.note(found.beside(find_files(targets)) if targets else str(found))
    return sum(path.stat().st_size for path in found.used)


# --------------------------------------------------------------------------- start


def _start(recipe: Recipe, progress: Progress, *, pairs: bool) -> Start:
    """Open the models that the recipe names; `pairs`: its rows are two texts."""
    length = recipe.data.length
    taught = None if recipe.distil.teacher is None else teacher_of(recipe.distil, recipe.task)
    own = None if recipe.model.start is None else _opened(recipe.model.start, recipe.model, length)
    if taught is None:
        return Start(own, None, recipe.task, recipe.distil, _with_rate(recipe.train, own, progress))
    if own is None:
        model, which = student_of(taught.model, recipe.distil)
        check_length(model.config, length)
        progress.note(which)
    else:
        model = own
        check_length(taught.model.config, length)
        check_pair(taught.model, own, recipe.distil, pairs=pairs)
    return Start(model, taught.model, taught.task, taught.distil, _with_rate(recipe.train, model, progress))


def _opened(path: str, section: ModelSection, length: int) -> Artefact:
    """The model to start from, for rows of `length` tokens."""
    if section.size is not None or section.settings or section.vectors is not None:
        raise ConfigError(
            "a model to start from brings its own sizes and vectors",
            got="model.start together with model.size, model.settings or model.vectors",
            do="leave one of them out",
        )
    model = open_model(path, Artefact, "cpu")
    check_length(model.config, length)
    return model


def _with_rate(train: TrainSection, model: Artefact | None, progress: Progress) -> TrainSection:
    """The settings with the learning rate for the weights of a model to start from, where none is set."""
    if model is None or train.learning_rate is not None:
        return train
    rate = rate_by_weights(model.module)
    progress.note(f"learning rate {rate:g}: by the size of the start's weights; --learning-rate chooses otherwise")
    return train.model_copy(update={"learning_rate": rate})


# --------------------------------------------------------------------------- vocabulary


def _vocabulary(
    recipe: Recipe, checked: Checked, start: Start, earlier: Tokenizer | None, progress: Progress
) -> Vocabulary:
    """Find or learn the tokens; `earlier` are those of an earlier part of this run. An impossible model is refused
    first: before an hour of reading.
    """
    length, name = recipe.data.length, recipe.task.name
    if start.model is not None:
        known: Tokenizer | None = start.model.tokenizer
    else:
        known = read_tokenizer(recipe.tokenizer) if earlier is None else earlier
    sizes = planned_sizes(recipe.tokenizer) if known is None else sizes_of(known)
    check_sides(len(sizes), checked.kind, name)
    check_unused(recipe.tokenizer, start=recipe.model.start is not None)
    check_row(length, known, special=recipe.tokenizer.special)
    if start.model is None:
        check_without_start(recipe.tune)
        planned = body_config(recipe.model, length, *sizes)
    else:
        planned = start.model.config
    kind = task_of(name, planned)
    kind.check_body(start.task, planned)
    if start.model is None:
        least = body_config(recipe.model, length, *[1] * len(sizes))  # the sizes to be learned are not known yet
        check_memory(least, recipe.train.device, freeze_vectors=recipe.model.freeze_vectors)
        if TASKS[name].tuning != TASKS[name].recipe:
            progress.note("no model to start from: it learns everything from this data alone (--start MODEL names one)")
    # A resumed run keeps its split, also where the text has changed since.
    shares = kind.resolve_shares(recipe.data) if earlier is None else recipe.data.shares
    data = recipe.data.model_copy(update=dict(shares))
    if known is None:
        tokenizer = learn_tokenizer(recipe.tokenizer, kind, data, shares, checked.size, progress)
    else:
        tokenizer = known
    if start.model is None:
        body = body_config(recipe.model, length, *sizes_of(tokenizer), pad_id=tokenizer.pad_id)
    else:
        body = start.model.config
    return Vocabulary(tokenizer, body, kind, data, shares)


# --------------------------------------------------------------------------- task and model


def _task(
    vocabulary: Vocabulary, start: Start, folder: Path, progress: Progress
) -> tuple[Task, Mapping[Split, Source]]:
    """The task with all open settings resolved, and the examples of each split."""
    return vocabulary.kind.prepared(
        start.task,
        Preparation(
            data=vocabulary.data,
            tokenizer=vocabulary.tokenizer,
            body=vocabulary.body,
            cache=folder / "tokens",
            shares=vocabulary.shares,
            seed=start.train.seed,
            log=progress.note,
            stage=progress.reading,
            templates=None if start.model is None else start.model.templates,
        ),
    )


def _module(section: ModelSection, task: Task, vocabulary: Vocabulary, start: Start, progress: Progress) -> Transformer:
    """The model with the head of the task: with the weights of the one that it starts from where they fit."""
    config, seed = task.model(vocabulary.body), start.train.seed
    if start.model is not None:
        same_labels = start.model.labels == tuple(getattr(task.section, "labels", ()))
        adapted, summary = adapt(start.model.module, config, seed=seed, same_labels=same_labels)
        if summary:
            progress.note(summary)
        return adapted
    check_compatible(vocabulary.tokenizer, config)
    check_memory(config, start.train.device, freeze_vectors=section.freeze_vectors)
    module = build(config, seed=seed)
    if section.vectors is not None:
        progress.note(use_vectors(module, vocabulary.tokenizer, section.vectors, freeze=section.freeze_vectors))
    return module


def _feed(task: Task, source: Source, start: Start) -> TaskFeed:
    """The batches to learn from, with what the teacher answers where there is one."""
    train, distil = start.train, start.distil
    cut: dict[str, Any] = {"batch": train.batch, "tokens": train.batch_tokens, "seed": train.seed}
    if start.teacher is None:
        return TaskFeed(task, source, **cut)
    teaching = Teaching(distil.temperature, distil.soft, distil.hard, distil.cosine)
    return TaughtFeed(task, source, start.teacher.module, teaching, **cut)


def _epochs_told(rule: EpochsByData, steps_per_epoch: float) -> str:
    """How many epochs a rule gives, why, and how to choose otherwise."""
    epochs = rule.epochs(steps_per_epoch)
    steps = math.ceil(epochs * steps_per_epoch)
    few = f": by the rule of {rule.steps:,} steps for small data, up to {rule.most:,} epochs" * (epochs > rule.least)
    return f"{epochs:,} epochs, which are {steps:,} steps{few}; --epochs chooses otherwise"
