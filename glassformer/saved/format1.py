"""Names that have changed since format 1, for reading older models and for refusing older recipes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from glassformer.base.errors import ConfigError
from glassformer.tasks import task_where

# Keys of recipes, and of the tables `task` and `data` in glassformer.json.
RECIPE_KEYS: dict[str, str] = {
    "data.walls": "data.document_mask",
    "train.freeze": "tune.freeze",
    "train.layer_decay": "tune.layer_decay",
}
# The setting of the table `task` that is a separate task now.
_SEPARATE = "given"
# Keys of glassformer.json; * matches any key.
MODEL_KEYS: dict[str, str] = {"tokens": "token_settings", "model.*.embed.hidden_words": "model.*.embed.masked_words"}


def refuse_old_keys(values: Mapping[str, Any], where: str) -> None:
    """Raise ConfigError for a recipe with a key that has been renamed."""
    for old, new in RECIPE_KEYS.items():
        if _holds(values, old):
            raise ConfigError(f"{where}: the setting {new} is needed", got=f"its older name {old}", do=f"write {new}")
    if _holds(values, f"task.{_SEPARATE}"):
        name = _separate_task()
        raise ConfigError(
            f"{where}: {name.replace('-', ' ')} are a separate task",
            got=f"its older name task.{_SEPARATE}",
            do=f'write name = "{name}" in [task]',
        )


def recipe_of_format_1(values: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a recipe of format 1, with the current names."""
    now = copy.deepcopy(dict(values))
    for old, new in RECIPE_KEYS.items():
        _move(now, old, new)
    if isinstance(task := now.get("task"), dict) and task.pop(_SEPARATE, False):
        now["task"] = {"name": _separate_task()}
        if isinstance(data := now.get("data"), dict):
            for name in ("documents", "pack", "walls", "document_mask", "cache"):
                data.pop(name, None)
    return now


def _separate_task() -> str:
    """The name of the task that a setting chose in format 1."""
    return str(task_where(lambda kind: kind.formerly == _SEPARATE))


def facts_of_format_1(values: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a glassformer.json of format 1, with the current names."""
    now = recipe_of_format_1(values)
    for old, new in MODEL_KEYS.items():
        _rename(now, old.split("."), new.split(".")[-1])
    model = now.get("model")
    head = model.get("sentence_head") if isinstance(model, dict) else None
    if isinstance(head, dict) and "pooler" in head:
        head["pooling"] = "pooler" if head.pop("pooler") else "first"
    now.pop("labels", None)  # no task of format 1 had any
    return now


def _holds(values: Mapping[str, Any], key: str) -> bool:
    table, _, name = key.partition(".")
    section = values.get(table)
    return isinstance(section, Mapping) and name in section


def _move(values: dict[str, Any], old: str, new: str) -> None:
    """Put a setting where it is now: perhaps into another table."""
    table, _, name = new.partition(".")
    if _holds(values, old) and isinstance(there := values.setdefault(table, {}), dict):
        section, _, key = old.partition(".")
        there[name] = values[section].pop(key)


def _rename(values: Any, path: list[str], new: str) -> None:
    first, *rest = path
    if not isinstance(values, dict):
        return
    if not rest:
        if first in values:
            values[new] = values.pop(first)
        return
    for step in list(values) if first == "*" else [first]:
        _rename(values.get(step), rest, new)
