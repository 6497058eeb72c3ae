"""The bundled recipes: those of one task are in its folder, the others here."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import takewhile
from types import MappingProxyType
from typing import Any

from glassformer.base.errors import ConfigError, did_you_mean

ENDING = ".toml"


@cache
def recipe_files() -> MappingProxyType[str, Traversable]:
    """The file of each recipe by its name, in the order of the names."""
    found = {file.name.removesuffix(ENDING): file for folder in _folders() for file in folder.iterdir()
             if file.name.endswith(ENDING)}  # fmt: skip
    return MappingProxyType(dict(sorted(found.items())))


def ready_recipes() -> tuple[str, ...]:
    return tuple(recipe_files())


def ready_recipe(name: str) -> dict[str, Any]:
    """The tables of a bundled recipe; raises ConfigError for an unknown name."""
    if name not in recipe_files():
        raise ConfigError(f"there is no recipe {name!r}", do=did_you_mean(name, ready_recipes()))
    return tomllib.loads(recipe_files()[name].read_text(encoding="utf-8"))


def about(name: str) -> str:
    """What a bundled recipe trains: its task, and the first sentence of the comment with which its file begins."""
    lines = recipe_files()[name].read_text(encoding="utf-8").splitlines()
    comment = " ".join(line.removeprefix("#").strip() for line in takewhile(lambda line: line.startswith("#"), lines))
    first = re.split(r"\.(?:\s+(?=[A-Z`])|\s*$)", comment)[0]  # not at "et al. 2017"
    return f"Task {ready_recipe(name)['task']['name']}{f', {first[0].lower()}{first[1:]}' if first else ''}."


def _folders() -> Iterator[Traversable]:
    yield resources.files("glassformer.bundled").joinpath("recipes")
    for clan in _inside(resources.files("glassformer.tasks")):
        for task in _inside(clan):
            yield from (folder for folder in _inside(task) if folder.name == "recipes")


def _inside(folder: Traversable) -> list[Traversable]:
    return [each for each in folder.iterdir() if each.is_dir()]
