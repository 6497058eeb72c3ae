"""glassformer generate, chat or explain with --html: a page on which a text is written again, token by token."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.base.errors import DataError
from glassformer.base.paths import check_path
from glassformer.cli.ask.show_tree import given
from glassformer.cli.terminal.readers import Text
from glassformer.cli.terminal.screen import note
from glassformer.decode.options import WritingOptions

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.look.texts.tree import SearchTree
    from glassformer.look.trace.trace import Trace

MEGABYTES = 64


def write_story(
    opened: Model, verb: str, asked: Iterable[Text], options: WritingOptions, out: Path, *, title: str
) -> None:
    """Write behind the only text, and the page of it; raises DataError for several texts."""
    from glassformer.look.texts.search_tree import search_tree  # not at the top: --help must not import torch

    check_path(out, DataError)
    if not out.parent.is_dir():  # before a long text is written
        raise DataError(f"the page {out} needs a folder", got=f"none at {out.parent}")
    texts = list(asked)
    if len(texts) != 1:
        raise DataError("--html writes the page of one text", got=f"{len(texts)} texts", do="give one of them")
    tree = search_tree(opened, given(texts[0]), options, verb=verb)
    story_page(opened, tree, out, title=title)


def story_page(
    opened: Model, tree: SearchTree, out: Path, *, title: str, megabytes: int = MEGABYTES, trace: Trace | None = None
) -> None:
    """Write the page of what a tree has found, opened where the text is written."""
    from glassformer.api.trace import Trace
    from glassformer.look.texts.search_tree import trace_of
    from glassformer.look.texts.written import PLACE

    page = Trace.of(trace_of(opened, tree) if trace is None else trace)
    page.to_html(out, title=title, megabytes=megabytes, searches=[tree], training=opened.source, place=PLACE)
    note(f"{out}: {out.stat().st_size / 1e6:.1f} MB, which any browser opens; space plays and pauses")
