"""Tasks, which models learn, and verbs, which they answer.

One folder for each task, described by its `entry.py` and found by looking: a new one needs no line elsewhere. An entry
holds strings only, so that --help does not have to import torch.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from glassformer.base.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from glassformer.config import ModelConfig
    from glassformer.data.settings import DataSection
    from glassformer.tasks.predictor import Predictor
    from glassformer.tasks.settings import TaskSection
    from glassformer.tasks.task import Task

CLANS = ("words", "labels", "writing")


@dataclass(frozen=True, kw_only=True)
class TaskEntry:
    """What recipes and the command line know of a task.

    `task` and `data` are where its classes are, from its folder (`.task:Classify`); `section` is where that of its
    settings is, unless it is in the module of the task, which needs torch. `recipe` and `tuning` are what `train TASK
    FILES` begins from, without and with a start model (the latter by default that of its name). `columns` are the
    options that name columns of its tables, `text` is one to look at first. `sized`: the sizes are chosen by text and
    time; `pairs`: it learns pairs of a source and a target. `alone`: class and recipe where the model is a decoder
    alone. `predictors`: what answers a verb for its models, where that is not the verb's own. `folder` is found.
    """

    name: str
    help: str
    task: str
    recipe: str
    tuning: str = ""
    section: str = ""
    data: str = "glassformer.data.settings:CorpusSection"
    columns: tuple[str, ...] = ()
    text: str = ""
    sized: bool = False
    pairs: bool = False
    alone: tuple[str, str] | None = None
    predictors: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""


@dataclass(frozen=True, kw_only=True)
class WatchEntry:
    """How sentences are watched while a model for this verb trains. `by`: the verb whose pass is looked at, where it is
    another one, with its `options`; this verb then answers in words, with `says`. `after_tab`: the role of what follows
    a tab, of which at least `needs` must be there, and more than one if `several`. `example` is such a line.
    """

    by: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    says: Mapping[str, Any] = field(default_factory=lambda: {"beams": 1})
    after_tab: str = ""
    needs: int = 0
    several: bool = False
    example: str = ""


@dataclass(frozen=True, kw_only=True)
class VerbEntry:
    """What the command line knows of a verb.

    `predictor` is where its predictor is, from its folder; `alone` that of models that are a decoder alone. `columns`
    are the roles of the columns that it reads, `of_pairs` those that only models of pairs read, `usual` their columns
    where neither the command nor the model names them. `tasks`: one of their bundled models answers where none is
    named, by default one of the verb's own task. `texts` and `second`: what its texts and its second text are called.
    `top`: what its answers are where a text has several, of which --top says how many. `files`: what it reads besides
    tables, as the end of a list. `blank`: a text of only blanks has an answer. `turns`: a text is a conversation.
    `goes_on`: the answer continues the text. `writes`: what it writes, by the options of a search. `masks`: its texts
    have [MASK]. `method`: `Model` has a method of its name. `watched`: how sentences are watched in training. `folder`
    is found.
    """

    name: str
    help: str
    predictor: str
    columns: tuple[str, ...] = ("text",)
    tasks: tuple[str, ...] = ()
    of_pairs: tuple[str, ...] = ()
    usual: Mapping[str, str] = field(default_factory=dict)
    texts: str = "texts"
    second: str = "pair"
    top: str = ""
    files: str = ""
    blank: bool = False
    turns: bool = False
    goes_on: bool = False
    writes: str = ""
    masks: bool = False
    alone: str = ""
    method: bool = False
    watched: WatchEntry | None = None
    folder: str = ""


Entry = TypeVar("Entry", TaskEntry, VerbEntry)


def _folders() -> Iterator[str]:
    place = Path(__file__).resolve().parent
    for clan in CLANS:
        for entry in sorted(place.joinpath(clan).glob("*/entry.py")):
            yield f"{__name__}.{clan}.{entry.parent.name}"


def _tables() -> tuple[Mapping[str, TaskEntry], Mapping[str, VerbEntry]]:
    tasks: dict[str, TaskEntry] = {}
    verbs: dict[str, VerbEntry] = {}
    for folder in _folders():
        entry = importlib.import_module(f"{folder}.entry")
        name = entry.TASK.name
        tasks[name] = replace(entry.TASK, folder=folder, tuning=entry.TASK.tuning or name)
        for verb in getattr(entry, "VERBS", ()):
            if verb.name in verbs:
                raise ConfigError(f"each verb belongs to one task: {folder} names {verb.name} again")
            verbs[verb.name] = replace(verb, folder=folder, tasks=verb.tasks or (name,))
    return tasks, verbs


TASKS, VERBS = _tables()


def task_named(name: str) -> type[Task]:
    """The task of this name; raises ConfigError with the nearest one, or the list."""
    entry = _entry(TASKS, name, "task")
    return cast("type[Task]", _found(entry.task, entry.folder))


def task_of(name: str, model: ModelConfig) -> type[Task]:
    kind, entry = task_named(name), TASKS[name]
    if entry.alone is None or not is_alone(model):
        return kind
    return cast("type[Task]", _found(entry.alone[0], entry.folder))


def data_of(name: str | None) -> type[DataSection]:
    """The class of the `[data]` table of a task, of any for a name that is no task's; without torch."""
    from glassformer.data.settings import DataSection

    entry = TASKS.get(name or "")
    return DataSection if entry is None else cast("type[DataSection]", _found(entry.data, entry.folder))


def section_of(name: str) -> type[TaskSection]:
    """The class of the `[task]` table of a task, without torch where its entry says where; raises as `task_named`."""
    entry = _entry(TASKS, name, "task")
    return cast("type[TaskSection]", _found(entry.section, entry.folder)) if entry.section else task_named(name).Section


def verb_of(task: str) -> str:
    """The verb that shows what models of this task have learned, "" where none does; raises as `task_named` does."""
    return next(iter(task_named(task).verbs.values()), "")


def verb_where(fits: Callable[[VerbEntry], bool]) -> str:
    """The first verb that fits, such as that whose texts have [MASK]."""
    return next(name for name, entry in VERBS.items() if fits(entry))


def verb_named(name: str) -> VerbEntry:
    """The verb of this name; raises ConfigError with the nearest one, or the list."""
    return _entry(VERBS, name, "verb")


def watch_of(verb: str) -> WatchEntry | None:
    """How sentences are watched while a model for this verb trains; None where they are not."""
    return VERBS[verb].watched if verb in VERBS else None


def task_where(fits: Callable[[type[Task]], bool]) -> str | None:
    """The name of the first task that fits, such as that whose models have a certain head; None where none does."""
    return next((name for name in TASKS if fits(task_named(name))), None)


def is_alone(model: ModelConfig) -> bool:
    return model.encoder is None and model.decoder is not None


def predictor_of(verb: str, task: str | None = None, model: ModelConfig | None = None) -> type[Predictor[Any, Any]]:
    """The predictor of a verb, for models of this task, or such a model; raises ConfigError for an unknown verb."""
    entry = verb_named(verb)
    its, learned = (entry.predictor, entry.folder), TASKS.get(task or "")
    if entry.alone and model is not None and is_alone(model):
        its = entry.alone, entry.folder
    elif learned is not None and verb in learned.predictors:
        its = learned.predictors[verb], learned.folder
    return cast("type[Predictor[Any, Any]]", _found(*its))


def _entry(table: Mapping[str, Entry], name: str, what: str) -> Entry:
    if name not in table:
        raise ConfigError(f"there is no {what} {name!r}", do=did_you_mean(name, table))
    return table[name]


def _found(where: str, folder: str) -> object:
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module, folder), name)
