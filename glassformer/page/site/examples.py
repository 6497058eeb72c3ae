"""What a card asks of a model: the rows of `examples.toml`."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Literal

View = Literal["ties", "lens", "cross", "rollout", "hidden", "heads"]


@dataclass(frozen=True)
class Example:
    """Texts of a model with their second ones, a question about the first, and the view that answers it; `words` are
    those of the question: the word that looks, the one it is tied to, the others. Without a view the run decides.
    """

    texts: tuple[str, ...] = ()
    seconds: tuple[str, ...] | None = None
    choices: tuple[str, ...] | None = None
    question: str = ""
    view: View | None = None
    words: tuple[str, ...] = ()


def examples_of(name: str, first: Example) -> tuple[Example, ...]:
    """The examples of a bundled model, those without texts with the texts of `first`; of any other model `first`."""
    rows = rows_of_table().get(name, ())
    found = [example(row) for row in rows]
    return tuple(each if each.texts else replace(each, texts=first.texts, seconds=first.seconds) for each in found) or (
        first,
    )


def in_order(names: Iterable[str]) -> list[str]:
    """Names of bundled models, those of the table in its order before the others."""
    order = list(rows_of_table())
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def usual(view: View) -> str:
    """The question of a view where a model has none of its own."""
    rows = rows_of_table().get(f".{view}", ())
    return str(rows[0]["question"]) if rows else "What does each head do?"


def example(row: dict[str, Any]) -> Example:
    return Example(
        texts=tuple(row.get("texts", ())),
        seconds=tuple(row["seconds"]) if "seconds" in row else None,
        question=row["question"],
        view=row["view"],
        words=tuple(row.get("words", ())),
    )


@cache
def rows_of_table() -> dict[str, list[dict[str, Any]]]:
    """The table by name of a model, or by a dot and a view."""
    return tomllib.loads(resources.files(__package__).joinpath("examples.toml").read_text(encoding="utf-8"))
