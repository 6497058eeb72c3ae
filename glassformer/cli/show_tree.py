"""glassformer translate --tree: how each translation was searched for, on the screen or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from glassformer.cli.readers import Text
from glassformer.cli.screen import note, record
from glassformer.errors import ConfigError
from glassformer.wrapping import in_one_line

if TYPE_CHECKING:
    from glassformer.artefact.model import Model

# What a tree does not have, or has anyway.
_NOT_BESIDE = ("stream", "alignment", "paragraphs", "out", "rejects")


def check_tree(values: Mapping[str, Any]) -> None:
    """Raise ConfigError for options that a tree is not beside."""
    beside = [f"--{name}" for name in _NOT_BESIDE if values.get(name)]
    if beside:
        raise ConfigError(
            "--tree shows the search for each text and nothing else",
            got=f"{beside[0]} beside it",
            do=f"leave --tree or {beside[0]} out",
        )


def show_trees(opened: Model, asked: Iterable[Text], options: Mapping[str, Any], handle: TextIO, *, json: bool) -> None:
    """Search for the translation of each text, one after another, and show the tree."""
    from glassformer.artefact.search_tree import search_tree  # not at the top: --help must not import torch
    from glassformer.look.lines import screen_width
    from glassformer.look.search_tree import tree_lines

    number = 0
    for number, text in enumerate(asked, start=1):
        tree = search_tree(opened, str(text.values["text"]), options)
        if json:
            record({**text.kept, **tree.to_dict()}, handle)
            continue
        if number > 1:
            handle.write("\n")
        for line in tree_lines(tree, screen_width()):
            handle.write(f"{in_one_line(line)}\n")
        handle.flush()
    if number and not json:
        note("glassformer explain MODEL TEXT --html page.html draws it, with the numbers behind each word")
