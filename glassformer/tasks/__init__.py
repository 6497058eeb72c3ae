"""What can be learned and what can be asked: one small file for each task, and two tables that name them.

The tables are plain words, so that asking for help does not wait for torch.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from glassformer.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from glassformer.tasks.task import Predictor, Task


class TaskEntry(NamedTuple):
    """Where a task is, what it is in a line, the recipe that `train TASK FILES` begins from, without and with a model
    to start from, and the options that name columns of its tables.
    """

    module: str
    kind: str
    help: str
    recipe: str
    tuning: str
    columns: tuple[str, ...] = ()


class VerbEntry(NamedTuple):
    """Where a verb's predictor is, what it is in a line, and the roles of the columns that it reads from a table."""

    module: str
    kind: str
    help: str
    columns: tuple[str, ...] = ("text",)


TASKS: dict[str, TaskEntry] = {
    "masked-lm": TaskEntry(
        "masked_lm", "MaskedLM", "guess masked words, from running text", "masked-lm-mini", "masked-lm-mini"
    ),
    "annotated-masks": TaskEntry(
        "annotated_masks",
        "AnnotatedMasks",
        "guess masked words whose masks and answers stand in a table",
        "annotated-masks",
        "annotated-masks",
        ("text", "answers"),
    ),
    "bert": TaskEntry(
        "bert", "Bert", "masked words and next sentence together, from running text", "bert-mini", "bert-mini"
    ),
    "classify": TaskEntry(
        "classify",
        "Classify",
        "one label for a text or a pair, from a table",
        "classify-from-scratch",
        "classify",
        ("text", "pair", "label"),
    ),
}

VERBS: dict[str, VerbEntry] = {
    "fill": VerbEntry("fill", "Fill", "guess the words behind [MASK]"),
    "score": VerbEntry("pseudo_likelihood", "PseudoLikelihood", "how likely a text is, token by token"),
    "classify": VerbEntry("classify", "Classify", "the label of a text or a pair", ("text", "pair")),
}


def task_named(name: str) -> type[Task]:
    """The task of this name; raises ConfigError with the nearest one, or the list."""
    return cast("type[Task]", _found(TASKS, name, "task"))


def predictor_of(verb: str) -> type[Predictor[Any, Any]]:
    """What answers a verb; raises ConfigError for one that there is not."""
    return cast("type[Predictor[Any, Any]]", _found(VERBS, verb, "verb"))


def _found(table: Mapping[str, TaskEntry] | Mapping[str, VerbEntry], name: str, what: str) -> object:
    if name not in table:
        raise ConfigError(f"there is no {what} {name!r}", do=did_you_mean(name, table))
    entry = table[name]
    return getattr(importlib.import_module(f"glassformer.tasks.{entry.module}"), entry.kind)
