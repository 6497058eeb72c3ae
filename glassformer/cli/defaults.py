"""What --help tells of the defaults of a training: read from the recipes and the settings classes, without torch."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from glassformer.artefact.sections import ModelSection, TokenizerSection
from glassformer.data import settings as data_settings
from glassformer.settings import Settings
from glassformer.tasks import TASKS, TaskEntry
from glassformer.training.settings import TrainSection

# What no value stands for.
_NONE = {"train.threads": "all", "model.size": "the family's own"}


def told(setting: str) -> str:
    """The default of a setting, `train.batch`, in brackets; where tasks differ, first that of the first task."""
    values: dict[str, list[str]] = {}
    for task, entry in TASKS.items():
        known, value = _default(entry, setting)
        if known:
            values.setdefault(_NONE.get(setting, "none") if value is None else _shown(value), []).append(task)
    (first, _), *others = values.items()
    return f"[default: {'; '.join([first, *(f'{value} for {_listed(tasks)}' for value, tasks in others)])}]"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _listed(tasks: list[str]) -> str:
    return " and ".join(tasks)


def _default(entry: TaskEntry, setting: str) -> tuple[bool, Any]:
    """Whether a task has a setting, and its default: that of the task's recipe, else that of the class."""
    section, _, key = setting.partition(".")
    kinds: dict[str, type[Settings]] = {
        "train": TrainSection,
        "model": ModelSection,
        "tokenizer": TokenizerSection,
        "data": getattr(data_settings, entry.data),
    }
    fields = kinds[section].model_fields
    if key not in fields:
        return False, None
    return True, _recipe(entry.recipe).get(section, {}).get(key, fields[key].default)


@cache
def _recipe(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("glassformer.recipes").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
