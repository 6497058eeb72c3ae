from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.base.errors import DataError
from glassformer.cli.ask.job import Job
from glassformer.cli.ask.show import given
from glassformer.cli.terminal.screen import note

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.look.texts.tree import SearchTree
    from glassformer.look.trace.trace import Trace


def write_story(job: Job) -> None:
    """Continue the only text, and write its page; raises DataError for several texts."""
    from glassformer.look.texts.search_tree import search_tree  # not at the top: --help must not import torch

    out = job.page
    assert out is not None, "only --html asks for a page"
    texts = list(job.texts)
    if len(texts) != 1:
        raise DataError("--html writes the page of one text", got=f"{len(texts)} texts", do="give one of them")
    tree = search_tree(job.opened, given(texts[0]), job.writing, verb=job.verb)
    story_page(job.opened, tree, out, title=job.title, megabytes=job.megabytes)


def story_page(
    opened: Model, tree: SearchTree, out: Path, *, title: str, megabytes: int | None = None, trace: Trace | None = None
) -> None:
    from glassformer.api.trace import Trace
    from glassformer.look.texts.search_tree import trace_of
    from glassformer.look.texts.written import PLACE

    page = Trace.of(trace_of(opened, tree) if trace is None else trace)
    page.to_html(
        out, title=title, megabytes=megabytes, searches=[tree], training=opened.source, place=PLACE, overwrite=True
    )
    note(f"{out}: {out.stat().st_size / 1e6:.1f} MB, opens in any browser; the space bar plays and pauses")
