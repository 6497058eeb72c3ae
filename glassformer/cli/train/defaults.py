"""The defaults of a training, as --help shows them: read from the recipes and the settings classes, without torch."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from glassformer.base.settings import Settings
from glassformer.bundled.recipes import ready_recipe
from glassformer.saved.sections import ModelSection, TokenizerSection, WatchSection
from glassformer.tasks import TASKS, TaskEntry, data_of
from glassformer.training.settings import EpochsByData, TrainSection, TuneSection

# What no value stands for.
_NONE = {"train.threads": "all", "model.size": "the family's own", "train.learning_rate": "set from the weights"}
# Tables that are absent where nothing of them is set.
_TABLES = {"tune.adapters.rank": "tune.adapters"}


def told(setting: str) -> str:
    """The default of a setting, `train.batch`, in brackets; where tasks differ, first that of the first task. What
    differs with --start comes last; it takes tokens and sizes from the model it starts from.
    """
    own = {task: value for task, entry in TASKS.items() if (value := _default(entry, setting)) is not None}
    tuned = {
        task: value
        for task, entry in TASKS.items()
        if setting.startswith(("train.", "data."))
        and (value := _default(entry, setting, tuning=True)) not in (None, own.get(task))
    }
    first, *others = _by_value(own).items()
    parts = [first[0], *(f"{value} for {_listed(tasks)}" for value, tasks in others)]
    parts += [f"{value} with --start for {_listed(tasks)}" for value, tasks in _by_value(tuned).items()]
    return f"[default: {'; '.join(parts)}]"


def _by_value(of_tasks: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for task, value in of_tasks.items():
        found.setdefault(value, []).append(task)
    return found


def _listed(tasks: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(tasks[:-1]), tasks[-1]]))


def _default(entry: TaskEntry, setting: str, *, tuning: bool = False) -> str | None:
    """The default of a task's setting: of its recipe, else of the class; None where the task has no such setting."""
    section, _, key = _TABLES.get(setting, setting).partition(".")
    kinds: dict[str, type[Settings]] = {
        "train": TrainSection,
        "tune": TuneSection,
        "watch": WatchSection,
        "model": ModelSection,
        "tokenizer": TokenizerSection,
        "data": data_of(entry.name),
    }
    fields = kinds[section].model_fields
    if key not in fields:
        return None
    table = _recipe(entry.tuning if tuning else entry.recipe).get(section, {})
    if setting == "train.epochs" and key not in table and "epochs_by_data" in table:
        return str(EpochsByData.model_validate(table["epochs_by_data"]))
    value = table.get(key, fields[key].default)
    if value is None:
        return _NONE.get(setting, "none")
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


@cache
def _recipe(name: str) -> dict[str, Any]:
    return ready_recipe(name)
