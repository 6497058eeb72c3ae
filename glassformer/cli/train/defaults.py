"""The default of each setting that is an option of `train`, as --help shows it. Those of the package are in
bundled/defaults.json, as this module imports the classes of all settings.
"""

from collections.abc import Iterable
from functools import cache

from glassformer.base.settings import Settings
from glassformer.bundled.recipes import ready_recipe
from glassformer.cli.terminal.options import ENDS, OF_TAGGED, STOPS, SUITS
from glassformer.saved.sections import ModelSection, TokenizerSection, WatchSection
from glassformer.tasks import TaskEntry, data_of
from glassformer.training.settings import EpochsByData, TrainSection, TuneSection

# What no value stands for.
_NONE = {
    "train.threads": "all",
    "model.size": "the family's own",
    "model.start": "random weights",
    "train.learning_rate": "computed from the magnitude of the weights",
    "data.rejects": STOPS,
    "data.decimal": "found in each table",
    **{f"data.{role}": value for role, value in OF_TAGGED.items()},
    **dict.fromkeys(ENDS, "no limit"),
}
# The settings that `run/sizes.py` chooses.
_SIZED = ("model.size", "tokenizer.vocabulary", "train.batch")
# Tables that are absent where nothing of them is set.
_TABLES = {"tune.adapters.rank": "tune.adapters"}


def defaults_of(entry: TaskEntry, settings: Iterable[str]) -> dict[str, tuple[str, str]]:
    """By setting the default of a task, and that with --start; a setting that the task lacks is left out."""
    found: dict[str, tuple[str, str]] = {}
    for setting in settings:
        own = tuned = _default(entry, setting)
        if own is None or tuned is None:
            continue
        if setting.startswith(("train.", "data.")):  # tokens and sizes come with the model of --start
            tuned = _default(entry, setting, tuning=True) or own
        found[setting] = own, tuned
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
        return SUITS
    value = table.get(key, fields[key].default)
    if value is None:
        return _NONE.get(setting, "none")
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


_recipe = cache(ready_recipe)
