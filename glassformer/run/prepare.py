"""From a recipe to what training needs: tokenizer, data, task, and a model with its initial weights.

Each step makes a record from those before it: what the run starts from, its vocabulary, its task with the examples, and
in the end the model. The recipe of each record is that of the one before, with what this step has found.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.config.model import Pooling
from glassformer.data.readers.files import find_files
from glassformer.data.settings import DataSection
from glassformer.data.stores.split import Split
from glassformer.models.transformer import Transformer, build
from glassformer.run.first_weights import (
    adapt,
    check_pair,
    continues,
    has_label_rows,
    has_labels_of,
    student_of,
    teacher_of,
    use_vectors,
)
from glassformer.run.learned import note_learned, note_unknown
from glassformer.run.probe import Probe, in_units, probe
from glassformer.run.vocabulary import body_config, check_length, check_memory, check_tokens, learn_tokenizer, sizes_of
from glassformer.runtime.device import choose_machine
from glassformer.runtime.threads import use_threads
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_model
from glassformer.saved.recipe import Recipe
from glassformer.saved.sections import ModelSection
from glassformer.saved.store import PROBE
from glassformer.tasks import TASKS, task_named, task_of
from glassformer.tasks.feed import TaskFeed, TaughtFeed, Teaching
from glassformer.tasks.records import sources_of
from glassformer.tasks.sentence_vectors import SentenceTeacher, SentenceVectorsFeed, with_vectors_head
from glassformer.tasks.task import Preparation, Source, Task
from glassformer.text.compatible import check_compatible
from glassformer.text.load import load_tokenizer
from glassformer.text.tokenizer import Tokenizer
from glassformer.training.progress import Progress
from glassformer.training.run import check
from glassformer.training.settings import EpochsByData
from glassformer.training.tune import check_without_start, fixes_embedding, rate_by_weights

# A start of fewer parameters is tuned for more epochs than BERT is.
_SMALL = 2_000_000
# The files whose lines are paired with those of other files, where a task reads such.
_TARGETS = {"files": "target_files", "validation_files": "validation_target_files"}


@dataclass(frozen=True)
class Start:
    """What a run starts from: a model and a teacher, each or None; `recipe` has the labels and the learning rate."""

    recipe: Recipe
    model: Artefact | None
    teacher: Artefact | None


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of a run, and the `body` that reads them, without a head; `kind` is the task."""

    recipe: Recipe
    tokenizer: Tokenizer
    body: ModelConfig
    kind: type[Task]
    shares: Mapping[str, float]


@dataclass(frozen=True)
class Lesson:
    """A task with the examples of each split; `recipe` has the labels that were found in them."""

    recipe: Recipe
    task: Task
    sources: Mapping[Split, Source]


@dataclass(frozen=True)
class Prepared:
    """All that `fit` needs, and the recipe with every setting resolved."""

    recipe: Recipe
    tokenizer: Tokenizer
    module: Transformer
    task: Task
    feed: TaskFeed
    held_out: TaskFeed | None
    teacher: Artefact | None = None
    probe: Probe | None = None
    goes_on: bool = False
    """Whether the model to start from has learned this task, with these labels."""
    pooling: Pooling = "mean"

    @property
    def start_seconds(self) -> float | None:
        """How long it took to find the initial weights; None where these know nothing of the task."""
        return self.probe.seconds if self.probe is not None else 0.0 if self.goes_on else None


def prepare_run(recipe: Recipe, folder: Path, progress: Progress, *, tokenizer: Tokenizer | None = None) -> Prepared:
    """Prepare data and model; `folder` keeps the tokens, `tokenizer` is an earlier one. Raises GlassformerError."""
    kind = task_named(recipe.task.name)
    size = _check(kind, recipe, progress)
    start = _start(recipe, kind, progress)
    vocabulary = _vocabulary(start, kind, size, tokenizer, progress)
    lesson = _lesson(start, vocabulary, folder, progress)
    if start.model is not None and continues(start.model, lesson.task.section):
        note_learned(start.model, type(lesson.task), recipe.data, vocabulary.shares, progress)
    found = _probed(start, lesson, folder, tokenizer is not None, progress)
    if found is not None:
        lesson = _with_head_of(found, lesson)
    module = _module(start, vocabulary, lesson, progress)
    if found is not None:
        found.begin(module)
    feed = _feed(start, lesson, vocabulary.tokenizer, found, progress)
    if start.model is not None:
        note_unknown(feed, vocabulary.tokenizer, progress)
    return Prepared(
        recipe=lesson.recipe, tokenizer=vocabulary.tokenizer, module=module, task=lesson.task, feed=feed,
        held_out=TaskFeed(lesson.task, lesson.sources["validation"]) if "validation" in lesson.sources else None,
        teacher=start.teacher, probe=found, goes_on=continues(start.model, lesson.task.section),
        pooling="mean" if start.model is None or recipe.distil.vectors else start.model.pooling,
    )  # fmt: skip


def _check(kind: type[Task], recipe: Recipe, progress: Progress) -> int:
    """Refuse what no text can mend; returns the bytes of the files, which are noted."""
    data, train, name = recipe.data, recipe.train, recipe.task.name
    if not data.files:
        raise ConfigError("training needs text", got="no data.files", do=f"name files: glassformer train {name} FILES")
    used = {which: _used(data, which, progress) for which in _TARGETS}
    learned = {path.resolve() for path in used["files"]}
    if both := [str(path) for path in used["validation_files"] if path.resolve() in learned]:
        raise ConfigError(
            "what is held out must not be learned from",
            got=f"{', '.join(both[:3])} among the files of both",
            do="name the files to learn from without it, or move it to another folder",
        )
    use_threads(train.threads)
    check(train, held_out=data.holds_out)
    kind.check_data(data)
    return sum(path.stat().st_size for its in used.values() for path in its)


def _used(data: DataSection, which: str, progress: Progress) -> tuple[Path, ...]:
    """The files to learn from, or to hold out, which are noted."""
    paths, targets = getattr(data, which), getattr(data, _TARGETS[which], ())
    if not paths:
        return ()
    found = find_files(paths, text=data.text, reads="text" if targets else data.reads)
    line = found.paired_with(find_files(targets)) if targets else str(found)
    progress.note(f"held out: {line}" if which == "validation_files" else line)
    return found.used


def _start(asked: Recipe, kind: type[Task], progress: Progress) -> Start:
    length = asked.data.length
    recipe, teacher = (asked, None) if asked.distil.teacher is None else teacher_of(asked)
    model = None if asked.model.start is None else _opened(asked.model.start, asked.model, length)
    if teacher is not None and not asked.distil.vectors:
        if model is None:
            model, which = student_of(teacher, recipe.distil)
            check_length(model.config, length)
            progress.note(which)
        else:
            check_length(teacher.config, length)
            segments = recipe.task.chosen.get("pooling") == "pair"  # which a student without them gets
            check_pair(teacher, model, asked.distil, pairs=kind.reads_pairs(asked.data) and not segments)
    return Start(_suited(recipe, model, progress), model, teacher)


def _opened(path: str, section: ModelSection, length: int) -> Artefact:
    if section.size is not None or section.settings or section.changes or section.vectors is not None:
        raise ConfigError(
            "a model to start from brings its own sizes and vectors",
            got="model.start together with model.size, model.settings, model.changes or model.vectors",
            do="leave one of them out",
        )
    model = open_model(path, Artefact, "cpu")
    check_length(model.config, length)
    return model


def _suited(recipe: Recipe, model: Artefact | None, progress: Progress) -> Recipe:
    """The recipe with the epochs and, where none is set, the learning rate that suit a model to start from."""
    if model is None:
        return recipe
    train, rule = recipe.train, recipe.train.epochs_by_data
    few = sum(each.numel() for each in model.module.parameters()) < _SMALL
    if rule is not None and few and rule.small > rule.least:
        rule = rule.model_copy(update={"least": rule.small})
        if train.fitted_epochs is not None:
            progress.note(f"the start has fewer than {_SMALL:,} parameters, which need {rule.small} epochs or more")
    rate = train.learning_rate
    if rate is None:
        rate = rate_by_weights(model.module)
        note = f"learning rate {rate:g}: from the size of the start model's weights; change it with --learning-rate"
        progress.note(note)
    return recipe.model_copy(update={"train": train.model_copy(update={"learning_rate": rate, "epochs_by_data": rule})})


def _vocabulary(start: Start, kind: type[Task], size: int, earlier: Tokenizer | None, progress: Progress) -> Vocabulary:
    recipe, section = start.recipe, start.recipe.tokenizer
    known = earlier if start.model is None else start.model.tokenizer
    if known is None and section.file is not None:
        known = load_tokenizer(Path(section.file))
    # Text that needs more tokens than are to be learned gets more.
    sizes = [section.vocabulary] * (2 - section.shared) if known is None else sizes_of(known)
    check_tokens(recipe, kind, len(sizes), known)
    # An impossible model must be refused before an hour of reading.
    kind = _planned(recipe, sizes, progress) if start.model is None else _checked_kind(recipe, start.model.config)
    # A resumed run keeps its split, also where the text has changed since.
    shares = kind.resolve_shares(recipe.data) if earlier is None else recipe.data.shares
    data = recipe.data.model_copy(update=dict(shares))
    if recipe.data.holds_out and not data.holds_out:
        progress.note("so few records are all learned, and none is held out; hold out a part with --validation 0.3")
    tokenizer = known
    if tokenizer is None:
        tokenizer = learn_tokenizer(section, kind, data, shares, size, progress)
    if start.model is None:
        body = body_config(recipe.model, data.length, *sizes_of(tokenizer), pad_id=tokenizer.pad_id)
    else:
        body = start.model.config
    return Vocabulary(recipe.model_copy(update={"data": data}), tokenizer, body, kind, shares)


def _planned(recipe: Recipe, sizes: Sequence[int], progress: Progress) -> type[Task]:
    """Refuse a model that is impossible or too large with these vocabularies; returns the task as it learns it."""
    check_without_start(recipe.tune)
    kind = _checked_kind(recipe, body_config(recipe.model, recipe.data.length, *sizes))
    least = body_config(recipe.model, recipe.data.length, *[1] * len(sizes))  # those to be learned may be smaller
    check_memory(least, recipe.train.device, freeze_vectors=recipe.model.freeze_vectors)
    if TASKS[recipe.task.name].tuning != TASKS[recipe.task.name].recipe:
        progress.note("no start model: training starts from random weights (give one with --start MODEL)")
    return kind


def _checked_kind(recipe: Recipe, body: ModelConfig) -> type[Task]:
    kind = task_of(recipe.task.name, body)
    kind.check_body(recipe.task, body)
    return kind


def _lesson(start: Start, vocabulary: Vocabulary, folder: Path, progress: Progress) -> Lesson:
    recipe = vocabulary.recipe
    preparation = Preparation(
        data=recipe.data, tokenizer=vocabulary.tokenizer, body=vocabulary.body, cache=folder / "tokens",
        shares=vocabulary.shares, seed=recipe.train.seed, log=progress.note, stage=progress.reading,
        templates=None if start.model is None else start.model.templates,
    )  # fmt: skip
    section = recipe.task if start.model is not None else recipe.task.from_random(recipe.data)
    section = section.with_fixed_embedding() if fixes_embedding(recipe.tune) else section
    task, sources = vocabulary.kind.prepared(section, preparation)
    lesson = Lesson(recipe.model_copy(update={"task": task.section}), task, sources)
    return lesson if start.model is None else _as_chosen_by(start.model, lesson)


def _as_chosen_by(start: Artefact, lesson: Lesson) -> Lesson:
    """With what the probe of the start model chose, where its head with the same labels is trained further."""
    section, known = lesson.task.section, start.task
    if known is None or not continues(start, lesson.task.section):
        return lesson
    missing = {name for name, value in section.chosen.items() if value is None}
    taken = {name: value for name, value in known.chosen.items() if name in missing and value is not None}
    taken |= known.units
    if not taken:
        return lesson
    task = lesson.task.with_settings(**taken)
    recipe = lesson.recipe.model_copy(update={"task": task.section})
    return Lesson(recipe, task, sources_of(task, lesson.sources))


def _probed(start: Start, lesson: Lesson, folder: Path, goes_on: bool, progress: Progress) -> Probe | None:
    """The linear probe that a run begins with: on a start model with an untrained head, and no teacher."""
    recipe, model = lesson.recipe, start.model
    if model is None or start.teacher is not None or not recipe.tune.probe:
        return None
    if goes_on and (folder / PROBE).exists():
        return Probe.read(folder, lesson.task)
    if has_labels_of(model, recipe.task) and has_label_rows(model):
        return None
    whole = not recipe.tune.freeze and recipe.tune.adapters is None
    return probe(model.module, lesson.task, lesson.sources, recipe.train, progress.note, scaled=whole)


def _with_head_of(found: Probe, lesson: Lesson) -> Lesson:
    recipe = lesson.recipe.model_copy(update={"task": found.task.section})
    return Lesson(recipe, found.task, sources_of(found.task, lesson.sources))


def _module(start: Start, vocabulary: Vocabulary, lesson: Lesson, progress: Progress) -> Transformer:
    """The model with the head of the task, and with the weights of the one that it starts from where they fit."""
    recipe, config = lesson.recipe, lesson.task.model(vocabulary.body)
    if recipe.distil.vectors and start.teacher is not None:
        config = with_vectors_head(config, start.teacher.config.output_stack.width)
    if start.model is not None:
        same = has_labels_of(start.model, recipe.task)
        adapted, summary = adapt(start.model.module, config, seed=recipe.train.seed, same_labels=same)
        if summary:
            progress.note(summary)
        if same and start.model.task is not None and has_label_rows(start.model):
            in_units(adapted, start.model.task.head_outputs, recipe.task.head_outputs)
        return adapted
    check_compatible(vocabulary.tokenizer, config)
    check_memory(config, recipe.train.device, freeze_vectors=recipe.model.freeze_vectors)
    module = build(config, seed=recipe.train.seed)
    if recipe.model.vectors is not None:
        freeze = recipe.model.freeze_vectors
        progress.note(use_vectors(module, vocabulary.tokenizer, recipe.model.vectors, freeze=freeze))
    return module


def _feed(start: Start, lesson: Lesson, tokenizer: Tokenizer, found: Probe | None, progress: Progress) -> TaskFeed:
    train, distil, source = lesson.recipe.train, lesson.recipe.distil, lesson.sources["train"]
    cut: dict[str, Any] = {"batch": train.batch, "tokens": train.batch_tokens, "seed": train.seed}
    if start.teacher is None:
        feed = TaskFeed(lesson.task, source, **cut)
    elif distil.vectors:
        machine, of = choose_machine(train.device, train.precision, train.threads), start.teacher
        longest = of.length or of.config.output_stack.max_length or lesson.recipe.data.length
        teacher = SentenceTeacher(of.module, of.tokenizer, longest, machine.autocast, of.pooling)
        feed = SentenceVectorsFeed(
            lesson.task, source, teacher, tokenizer, share=distil.vectors, hard=distil.hard,
            sentences=distil.sentences, joined=distil.joined, **cut,
        )  # fmt: skip
    else:
        teaching = Teaching(distil.temperature, distil.soft, distil.hard, distil.cosine)
        feed = TaughtFeed(lesson.task, source, start.teacher.module, teaching, **cut)
    if (rule := train.fitted_epochs) is not None:
        progress.note(_epochs_note(rule, feed.steps_per_epoch))
    elif found is not None and (few := found.too_few_epochs(train, len(source), feed.steps_per_epoch)):
        progress.note(few)
    return feed


def _epochs_note(rule: EpochsByData, steps_per_epoch: float) -> str:
    epochs = rule.epochs(steps_per_epoch)
    steps = math.ceil(epochs * steps_per_epoch)
    few = f": by the rule for small data: {rule.steps:,} steps, at most {rule.most:,} epochs" * (epochs > rule.least)
    return f"{epochs:,} epochs, {steps:,} steps{few}; change it with --epochs"
