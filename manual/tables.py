"""The generated pages of docs/reference, docs/how and docs/learn: `python -m manual tables` writes all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import glassformer.bundled
from experiments.page import write as write_page
from manual import commands, defaults, formulas, python, recipes
from manual.stage import DOCS
from manual.teaching import quiz

GENERATED: dict[str, Callable[[], str]] = {
    **{f"reference/{name}.md": lambda name=name: python.page(name) for name in python.PAGES},  # type: ignore[misc]
    "reference/recipe.md": recipes.keys,
    "reference/recipe-tasks.md": recipes.keys_of_tasks,
    "reference/recipes.md": recipes.bundled,
    "reference/options-by-command.md": commands.page,
    "how/formulas.md": formulas.page,
    "learn/quiz.md": quiz.page,
}


def write() -> None:
    """Write each page anew, and the defaults that --help shows."""
    write_defaults()
    for place, built in GENERATED.items():
        (DOCS / place).parent.mkdir(parents=True, exist_ok=True)
        write_page(DOCS / place, built())


def write_defaults() -> None:
    """Write the table of `manual/defaults.py` into the package."""
    (folder,) = glassformer.bundled.__path__
    lines = (f"{json.dumps(setting)}: {json.dumps(of, ensure_ascii=False)}" for setting, of in defaults.table().items())
    (Path(folder) / "defaults.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
