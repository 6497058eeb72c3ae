"""glassformer/bundled/defaults.json: the default of each setting that is an option of `train`, by task, as --help shows
it, and that with --start.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from glassformer.base.settings import Settings
from glassformer.bundled.recipes import ready_recipe
from glassformer.cli.terminal.options import OF_TAGGED, STOPS
from glassformer.cli.train.training_options import _OPTIONS, _SUITS, ENDS
from glassformer.saved.sections import ModelSection, TokenizerSection, WatchSection
from glassformer.tasks import TASKS, TaskEntry, data_of
from glassformer.training.settings import EpochsByData, TrainSection, TuneSection

# What no value stands for.
_NONE = {
    "train.threads": "all",
    "model.size": "the family's own",
    "model.start": "random weights",
    "train.learning_rate": "computed from the magnitude of the weights",
    "data.rejects": STOPS,
    **{f"data.{role}": value for role, value in OF_TAGGED.items()},
    **dict.fromkeys(ENDS, "no limit"),
}
# The settings that `run/sizes.py` chooses.
_SIZED = ("model.size", "tokenizer.vocabulary", "train.batch")
# Tables that are absent where nothing of them is set.
_TABLES = {"tune.adapters.rank": "tune.adapters"}


def table() -> dict[str, dict[str, tuple[str, str]]]:
    """By setting and task; a task that lacks the setting is left out."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for _, _, setting, _ in _OPTIONS:
        found[setting] = {}
        for task, entry in TASKS.items():
            own = tuned = _default(entry, setting)
            if own is None or tuned is None:
                continue
            if setting.startswith(("train.", "data.")):  # tokens and sizes come with the model of --start
                tuned = _default(entry, setting, tuning=True) or own
            found[setting][task] = own, tuned
    return found


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
    if setting == "train.batch" and "batch_tokens" in table:
        return "none: train.batch_tokens is used"
    if setting in _SIZED and entry.sized and not tuning:
        return _SUITS
    value = table.get(key, fields[key].default)
    if value is None:
        return _NONE.get(setting, "none")
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


@cache
def _recipe(name: str) -> dict[str, Any]:
    return ready_recipe(name)
