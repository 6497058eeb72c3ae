"""Names that have changed since format 1, for reading older models and for refusing older recipes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from glassformer.base.errors import ConfigError

# Keys of recipes, and of the tables `task` and `data` in glassformer.json.
RECIPE_KEYS: dict[str, str] = {
    "data.walls": "data.document_mask",
    "train.freeze": "tune.freeze",
    "train.layer_decay": "tune.layer_decay",
}
# Keys of glassformer.json; * matches any key.
MODEL_KEYS: dict[str, str] = {
    "tokens": "token_settings",
    "model.*.embed.hidden_words": "model.*.embed.masked_words",
}
# A setting of format 1 that is a separate task now.
_ANNOTATED = "task.given"


def refuse_old_keys(values: Mapping[str, Any], where: str) -> None:
    """Raise ConfigError for a recipe with a key that has been renamed."""
    for old, new in RECIPE_KEYS.items():
        if _holds(values, old):
            raise ConfigError(f"{where}: the setting {new} is needed", got=f"its older name {old}", do=f"write {new}")
    if _holds(values, _ANNOTATED):
        raise ConfigError(
            f"{where}: annotated masks are a separate task",
            got="its older name task.given",
            do='write name = "annotated-masks" in [task]',
        )


def recipe_of_format_1(values: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a recipe of format 1, with the current names."""
    now = copy.deepcopy(dict(values))
    for old, new in RECIPE_KEYS.items():
        _move(now, old, new)
    if isinstance(task := now.get("task"), dict):
        annotated = task.pop("given", False)
        if annotated:
            now["task"] = {"name": "annotated-masks"}
            if isinstance(data := now.get("data"), dict):
                for name in ("documents", "pack", "walls", "document_mask", "cache"):
                    data.pop(name, None)
    return now


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
