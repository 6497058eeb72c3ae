"""The generated pages of docs/reference, docs/how, docs/learn and docs/measured/items.md: `python -m manual tables`
writes all that follow from the code.
"""

from __future__ import annotations

from collections.abc import Callable

from experiments.page import write as write_page
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
    """Write each page anew."""
    for place, built in GENERATED.items():
        (DOCS / place).parent.mkdir(parents=True, exist_ok=True)
        write_page(DOCS / place, built())
    for module in (options, items, architecture):
        module.write()
