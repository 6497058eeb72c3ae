"""The generated pages of docs/reference, docs/how, docs/learn and docs/measured/items.md: `python -m manual tables`
writes all that follow from the code.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import glassformer.bundled
from experiments.page import write as write_page
from glassformer.cli.train.defaults import defaults_of
from glassformer.cli.train.training_options import _OPTIONS
from glassformer.tasks import TASKS
from manual import commands, formulas, python, recipes
from manual.stage import DOCS
from manual.teaching import quiz
from tests import architecture
from tests.docs import items, options

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
    for module in (options, items, architecture):
        module.write()


def write_defaults() -> None:
    """Write the defaults of all tasks into the package: --help reads them faster than it computes them."""
    settings = [setting for _, _, setting, _ in _OPTIONS]
    of_tasks = {task: defaults_of(entry, settings) for task, entry in TASKS.items()}
    found = {each: {task: of[each] for task, of in of_tasks.items() if each in of} for each in settings}
    (folder,) = glassformer.bundled.__path__
    lines = (f"{json.dumps(setting)}: {json.dumps(of, ensure_ascii=False)}" for setting, of in found.items())
    (Path(folder) / "defaults.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
