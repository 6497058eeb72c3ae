"""Recipes: read from a file, a mapping or settings, with single settings changed and all paths absolute.

The tables `[task]` and `[data]` are those of the task that `task.name` chooses.
"""

import os
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import create_model

from glassformer.base.atomic import atomic_write, current
from glassformer.base.errors import ConfigError, TokenizerError, from_system
from glassformer.base.json_text import check_sealed_text, sealed_text
from glassformer.base.paths import check_path, refuse_endless
from glassformer.base.settings import PublicSettings, parse_toml, read_settings, read_toml, toml_of
from glassformer.bundled.recipes import ready_recipe, ready_recipes, recipe_files
from glassformer.bundled.travelling import travels
from glassformer.data.settings import DataSection
from glassformer.saved.sections import DistilSection, ModelSection, TokenizerSection, WatchSection
from glassformer.tasks import TASKS, task_named
from glassformer.tasks.settings import TaskSection
from glassformer.text.load import load_tokenizer
from glassformer.text.tokenizer import Tokenizer
from glassformer.training.settings import TrainSection, TuneSection

# Where the resolved recipe of a run or a saved model is kept.
RECIPE = "recipe.toml"

# The comment in it that names the tokenizer next to it.
_OF_TOKENIZER = "# tokenizer "

# The prefix of a hub id: without it, nothing is downloaded.
HUB = "hub:"

# Settings that name files and folders. In a recipe file they are relative to the folder of this file.
_PATHS = (
    ("data", "files"),
    ("data", "validation_files"),
    ("data", "target_files"),
    ("data", "validation_target_files"),
    ("data", "cache"),
    ("data", "rejects"),
    ("tokenizer", "file"),
    ("model", "start"),
    ("model", "vectors"),
    ("distil", "teacher"),
)

# Those of them that name models, which may also travel in the package.
_MODELS = (("model", "start"), ("distil", "teacher"))


class Recipe(PublicSettings):
    """Everything a run is made from; `recipe_class` has the types of a task's own tables."""

    task: TaskSection
    data: DataSection
    tokenizer: TokenizerSection = TokenizerSection()
    model: ModelSection = ModelSection()
    train: TrainSection = TrainSection()
    tune: TuneSection = TuneSection()
    distil: DistilSection = DistilSection()
    watch: WatchSection = WatchSection()


@cache
def recipe_class(task: str) -> type[Recipe]:
    """Recipes of a task, with its own `[task]` and `[data]`; raises ConfigError for an unknown task."""
    kind = task_named(task)
    return create_model("Recipe", __base__=Recipe, task=(kind.Section, ...), data=(kind.Data, kind.Data()))


def read_recipe(values: Mapping[str, Any], *, where: str) -> Recipe:
    """A recipe from its tables; raises ConfigError in one sentence, also for a recipe that names no task."""
    section = values.get("task")
    name = section.get("name") if isinstance(section, Mapping) else None
    if not isinstance(name, str):
        raise ConfigError(
            f"{where}: a recipe must name its task", got="none", do=f"set name in [task] to one of: {', '.join(TASKS)}"
        )
    return read_settings(recipe_class(name), values, where=where)


def write_recipe(directory: Path, recipe: Recipe, tokenizer: Tokenizer | None) -> None:
    """Write what a model was made from, with its tokenizer's fingerprint in a comment; raises OSError."""
    comment = "" if tokenizer is None else f"{_OF_TOKENIZER}{tokenizer.fingerprint}\n"
    with atomic_write(directory / RECIPE) as draft:
        draft.write_text(sealed_text(toml_of(recipe) + comment), encoding="utf-8")


def read_saved_recipe(directory: str | Path) -> Recipe | None:
    """What a model or a run was made from, None where that is not known; raises ConfigError when it is damaged."""
    path = current(Path(directory)) / RECIPE
    if not os.path.isfile(path):  # not path.is_file(), which raises for a name that is too long
        return None
    try:
        check_sealed_text(_lenient(path))
    except ValueError as error:
        raise ConfigError(
            f"{path} must be unchanged since it was written",
            got=str(error),
            do="copy it again; if you changed it yourself, delete its last line",
        ) from None
    return read_recipe(read_toml(path), where=str(path))


def tokenizer_of_run(directory: Path) -> Tokenizer:
    """The tokenizer in the folder of a run; raises TokenizerError unless it is the one with which the run began."""
    comments = _lenient(directory / RECIPE).splitlines()
    recorded = [line.removeprefix(_OF_TOKENIZER) for line in comments if line.startswith(_OF_TOKENIZER)]
    do = "restore it from a backup, or start again in another --out"
    try:
        tokenizer = load_tokenizer(directory)
    except TokenizerError as error:
        raise TokenizerError(error.wanted, got=error.got, do=do) from None
    if recorded not in ([], [tokenizer.fingerprint]):
        raise TokenizerError(
            f"the tokenizer in {directory} must be unchanged since the run began", got="another content", do=do
        )
    return tokenizer


def _lenient(path: Path) -> str:
    """The text of a file; bytes that are no UTF-8 are replaced, which no checksum passes."""
    with from_system(ConfigError, f"cannot read {path}"):
        return path.read_bytes().decode("utf-8-sig", errors="replace")


def resolve(given: Recipe | Mapping[str, Any] | str | Path, changes: Mapping[str, object] | None = None) -> Recipe:
    """A recipe from settings, a mapping, a TOML file, or the name of a bundled one. `changes` are single settings,
    `{"train.steps": 100}`. Paths in them and in a mapping are relative to the current folder. Raises ConfigError in one
    sentence, also for a change that another setting makes ineffective.
    """
    if not isinstance(changes, Mapping | None):
        raise ConfigError("changes are a mapping of settings to values", got=repr(changes)[:60])
    where, folder, values = "the recipe", Path.cwd(), {}
    if isinstance(given, Recipe):
        values = given.model_dump(mode="json")
    elif isinstance(given, Mapping):
        values = {key: dict(value) if isinstance(value, Mapping) else value for key, value in given.items()}
    elif str(given) in ready_recipes():
        values, folder = ready_recipe(str(given)), recipe_files()[str(given)].parent
    else:
        values = read_toml(given)
        where, folder = str(given), Path(given).resolve().parent
    values = _from_folder(values, folder)
    if changes:
        values = _from_folder(_changed(values, changes), Path.cwd())
    recipe = read_recipe(values, where=where)
    tokens = recipe.train.batch_tokens
    if changes and "train.batch" in changes and tokens is not None:  # the rows that are asked for would be ignored
        raise ConfigError(
            f"a step of {recipe.task.name} is measured in target tokens (train.batch_tokens = {tokens}), not rows",
            got=f"train.batch = {recipe.train.batch} (--batch)",
            do=f"leave it out, or choose the tokens with --set train.batch_tokens={tokens}",
        )
    return recipe


def parse_changes(assignments: Sequence[str]) -> dict[str, object]:
    """`section.key=value` as a user types it: the value is read as TOML where possible, else as a string."""
    changes: dict[str, object] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or "." not in name:
            raise ConfigError("a setting is changed with section.key=value", got=repr(assignment))
        try:
            parsed = parse_toml(f"value = {value}")
        except tomllib.TOMLDecodeError:
            parsed = {}
        except ValueError as error:
            raise ConfigError(f"{name.strip()} needs a value that can be read", got=str(error)) from None
        # A second line would be read as a second setting.
        changes[name.strip()] = parsed["value"] if len(parsed) == 1 else value.strip()
    return changes


def _changed(values: Mapping[str, Any], changes: Mapping[str, object]) -> dict[str, Any]:
    changed: dict[str, Any] = {
        key: dict(table) if isinstance(table, Mapping) else table for key, table in values.items()
    }
    for name, value in changes.items():
        *path, last = name.split(".")
        table = changed
        for step in path:
            inner = table.get(step)
            table[step] = dict(inner) if isinstance(inner, Mapping) else {}
            table = table[step]
        value = _spelled(value) if (*path, last) in _PATHS else value
        table[last] = [value] if (*path, last) in _PATHS[:4] and isinstance(value, str) else value
    return changed


def _from_folder(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    resolved = dict(values)
    for section, key in _PATHS:
        table = resolved.get(section)
        if not isinstance(table, Mapping) or table.get(key) is None:
            continue
        path = _spelled(table[key])
        if isinstance(path, str):
            no_path = path.startswith(HUB) or ((section, key) in _MODELS and travels(path, folder))
            path = path if no_path else _absolute(path, folder)
        elif isinstance(path, list | tuple) and all(isinstance(one, str) for one in path):
            path = [_absolute(one, folder) for one in path]
        resolved[section] = {**table, key: path}
    return resolved


def _spelled(value: object) -> object:
    """A path, or several, as the text that a recipe has."""
    if isinstance(value, list | tuple):
        return [_spelled(one) for one in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _absolute(path: str, folder: Path) -> str:
    """A path relative to a folder, made absolute; raises ConfigError for an impossible one, a pipe or a device."""
    placed = str(folder / path)
    check_path(placed if os.path.lexists(placed) else path, ConfigError)
    check_path(placed, ConfigError)
    refuse_endless(placed, ConfigError, do="training reads its files more than once: save this to a file first")
    return placed
