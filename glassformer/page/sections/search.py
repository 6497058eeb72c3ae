"""The section `search` of a page: the search tree of each text, as the view `tree` reads it."""

from collections.abc import Sequence
from typing import Any

from glassformer.look.texts.tree import SearchTree
from glassformer.page.json_numbers import as_json

NAME = "search"


def search_section(trees: Sequence[SearchTree | None]) -> list[Any]:
    """A tree for each text, null where there is none."""
    return [None if tree is None else as_json(tree.to_dict()) for tree in trees]
