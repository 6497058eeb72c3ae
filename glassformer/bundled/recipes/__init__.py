"""The bundled recipes: those of one task are in its folder, the others here."""

import re
import tomllib
from functools import cache
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any

from glassformer.base.errors import ConfigError, did_you_mean


@cache
def recipe_files() -> MappingProxyType[str, Path]:
    """The file of each recipe by its name, in the order of the names."""
    here = Path(__file__).resolve().parent
    found = [*here.glob("*.toml"), *here.parents[1].glob("tasks/*/*/recipes/*.toml")]
    return MappingProxyType({file.stem: file for file in sorted(found, key=lambda file: file.stem)})


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
