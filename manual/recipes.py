"""docs/reference/recipe.md and recipe-tasks.md: each key of a recipe with its type, default and meaning, read from the
settings classes; recipes.md: the bundled recipes.
"""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Literal

from pydantic.fields import FieldInfo

from experiments.page import table
from glassformer.base.settings import Settings
from glassformer.bundled.recipes import about, recipe_files
from glassformer.cli.train.training_options import _OPTIONS
from glassformer.saved.recipe import Recipe
from glassformer.tasks import TASKS, task_named

HEAD = ("key", "type", "default", "meaning")
TABLES = ("tokenizer", "model", "train", "train.epochs_by_data", "tune", "tune.adapters", "distil", "watch")
"""The tables that all tasks have, and those inside them."""

_FEW, _ENDLESS = 1e5, 1e9  # limits below which a number is written short, and above which no one meets them

INTRO = """# Recipe keys

A recipe is a TOML file. Its tables are `[task]` and `[data]`, which depend on the task
([keys of each task](recipe-tasks.md)), and the six on this page. A key may be set in a recipe, with `--set
train.batch=64` on the command line, or with `set={"train.batch": 64}` in `gf.train`. An unknown key is refused with
the nearest known name.

A default here is that of the key. A [bundled recipe](recipes.md) may set another one: `glassformer train TASK --help`
prints the values that a task starts from. Written by `python -m manual tables` from the settings classes.
"""
OF_TASKS = """# Recipe keys of each task

The tables `[task]` and `[data]` of a recipe. Those that all tasks have are in [recipe keys](recipe.md). Written by
`python -m manual tables` from the settings classes.
"""
BUNDLED = """# Bundled recipes

`glassformer train NAME` trains with one of these. To change a copy, save it as a `.toml` file and give that file
instead of the name. The [keys](recipe.md) that a recipe leaves out have their defaults. Written by
`python -m manual tables` from the files of the package.
"""


def keys() -> str:
    """docs/reference/recipe.md."""
    parts = [INTRO]
    for each in TABLES:
        kind = _kind(each)
        parts += [f"## [{each}]\n", f"{_prose(kind)}\n", _table(kind, each) + "\n"]
    return "\n".join(parts)


def keys_of_tasks() -> str:
    """docs/reference/recipe-tasks.md."""
    parts = [OF_TASKS]
    for name, entry in TASKS.items():
        kind = task_named(name)
        parts.append(f"## {name}\n\n{entry.help[0].upper()}{entry.help[1:]}.\n")
        for section, its in (("task", kind.Section), ("data", kind.Data)):
            parts += [f"### [{section}] of {name}\n", f"{_prose(its)}\n", _table(its, section) + "\n"]
    return "\n".join(parts)


def bundled() -> str:
    """docs/reference/recipes.md."""
    parts = [BUNDLED]
    for name, path in sorted(recipe_files().items()):
        what = f"Task {name}." if name in TASKS else about(name)
        parts.append(f"## {name}\n\n{what}\n\n```toml\n{path.read_text(encoding='utf-8').strip()}\n```\n")
    return "\n".join(parts)


def _kind(name: str) -> type[Settings]:
    kind: Any = Recipe
    for part in name.split("."):
        (kind,) = [each for each in _parts(kind.model_fields[part].annotation) if isinstance(each, type)][:1]
    return typing.cast(type[Settings], kind)


def _parts(annotation: Any) -> tuple[Any, ...]:
    return typing.get_args(annotation) or (annotation,)


def _prose(kind: type[Settings]) -> str:
    return inspect.cleandoc(kind.__doc__ or "").strip() if "__doc__" in vars(kind) and kind.__doc__ else ""


def _table(kind: type[Settings], section: str) -> str:
    rows = [
        [f"`{key}`", _type(field), _default(field), meaning(kind, section, key).replace("|", "\\|")]
        for key, field in kind.model_fields.items()
    ]
    return table(HEAD, rows, numbers=False)


def meaning(kind: type[Settings], section: str, key: str) -> str:
    """What a key means: what its option says, else what is written under its field."""
    if key == "name":
        return "The task."
    of_options = {setting: line for _, _, setting, line in _OPTIONS}
    if f"{section}.{key}" in of_options:
        return of_options[f"{section}.{key}"]
    for each in kind.__mro__:
        if issubclass(each, Settings) and key in (found := _written(each)):
            return found[key]
    return ""


@cache
def _written(kind: type[Settings]) -> dict[str, str]:
    """Of each field of a class that has a text under it, this text."""
    (body,) = [each for each in ast.parse(inspect.getsource(kind)).body if isinstance(each, ast.ClassDef)]
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in zip(body.body, body.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _type(field: FieldInfo) -> str:
    limits = " ".join(limit for each in field.metadata if (limit := _limit(each)))
    return f"{_named(field.annotation)}{f', {limits}' if limits else ''}"


def _limit(of: Any) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    found = [
        f"{sign} {value:,g}" if value < _FEW else f"{sign} {value:,}"
        for name, sign in signs.items()
        if (value := getattr(of, name, None)) is not None and value < _ENDLESS
    ]
    found += [_limit(each) for each in getattr(of, "metadata", ()) or ()]
    return " ".join(each for each in found if each)


def _named(kind: Any) -> str:
    """A type in words."""
    plain: dict[Any, str] = {int: "integer", float: "number", str: "text", bool: "true or false"}
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return " or ".join(f"`{each}`" for each in inside)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_named(each) for each in inside if each is not types.NoneType))
    if origin is tuple:
        return f"list of {_named(inside[0])}"
    if origin is typing.Annotated:
        return _named(inside[0])
    if origin is dict or kind is dict:
        return "table"
    return plain.get(kind, "table")


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True) if not field.is_required() else ...
    if value is ... or value is None:
        return "" if value is None else "needed"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple | list | dict):
        return f"`{_toml(value)}`"
    return f"`{value:g}`" if isinstance(value, float) else f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _toml(value: Sequence[Any] | dict[str, Any]) -> str:
    return "{}" if isinstance(value, dict) else "[" + ", ".join(f'"{each}"' for each in value) + "]"


def every_key() -> Iterator[tuple[type[Settings], str, str]]:
    """Each class, table and key of the pages, for the test that none lacks a meaning."""
    for name in TABLES:
        for key in _kind(name).model_fields:
            yield _kind(name), name, key
    for name in TASKS:
        kind = task_named(name)
        for section, its in (("task", kind.Section), ("data", kind.Data)):
            for key in its.model_fields:
                yield its, section, key
