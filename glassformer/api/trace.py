"""`Trace`: a run with all its tensors, which can also be written as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from glassformer.base.errors import DataError
from glassformer.look.trace import load, run
from glassformer.look.trace import trace as look
from glassformer.page.picture import of_trace

if TYPE_CHECKING:
    from glassformer.look.texts.tree import SearchTree
    from glassformer.page.notebook import Shown
    from glassformer.page.sections.related import Index, Start

Given = ParamSpec("Given")


class Trace(look.Trace):
    """Every tensor of one run by name, as a page too: a file, or in a notebook."""

    __doc__ = look.Trace.__doc__

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return of_trace(self)

    def to_html(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        megabytes: int | None = None,
        searches: Sequence[SearchTree | None] = (),
        gradients: bool = False,
        training: str | Path | None = None,
        probe: object = None,
        index: Index | None = None,
        start: Start | None = None,
        sections: Mapping[str, Any] | None = None,
        place: str = "",
        language: str = "en",
        overwrite: bool = False,
    ) -> None:
        """Write a page that shows every number of this run and its inputs: one file, which works from disk.

        It has at most so many `megabytes` (default: 2, or 8 if the model's first block needs more) and says what it
        leaves out. `searches` are the trees of its texts, as `Model.search_tree` gives them (None for a text without
        one), `training` is the folder of the model's training: the page shows them too. With `gradients` it holds the
        gradient of the loss, which costs a backward pass. `probe` is a logistic regression on the model's vectors (a
        fitted pipeline of `TextFeatures` and scikit-learn's, or the file of `embed compare --probe-out`), `index` an
        index of texts by these vectors, `start` the model that this one was tuned from: the page draws each of them.
        `sections` are further sections, as JSON by name; `place` is where it opens, as its address names it;
        `language` is that of its words, `de` for German. A file
        that glassformer did not write is replaced only with `overwrite`, one of a model, an index or a run never.
        Raises DataError where it cannot be written or `training` is no folder, ConfigError for a limit below 1 or
        another language, CheckpointError for a probe or an index of another model.
        """
        from glassformer.features.pipeline import probe_of
        from glassformer.features.probe import Probe
        from glassformer.page.page import page, write_document
        from glassformer.page.sections.related import related_makers
        from glassformer.page.sections.sections import CARRIED, MAKERS, SEARCH, search_section, sections_of
        from glassformer.page.sections.training import training_sections

        run = None if training is None else Path(training)
        if run is not None and not run.is_dir():
            raise DataError("the training is that of a folder", got=f"no folder {run}")
        read = probe if probe is None or isinstance(probe, str | Path | Probe) else probe_of(probe)
        related = related_makers(self.original, probe=read, index=index, start=start, run=run)
        made = sections_of(self, {**(MAKERS if gradients else CARRIED), **related})
        every = made | training_sections(training) | dict(sections or {})
        if searches:
            every[SEARCH] = search_section(searches)
        write_document(
            path,
            lambda: page(self, title=title, megabytes=megabytes, sections=every, place=place, language=language),
            overwrite=overwrite,
        )

    def show(self, *, height: int = 640, title: str | None = None, megabytes: int = 16, live: bool = False) -> Shown:
        """Show this run in a notebook, `height` points high, as the page that `to_html` writes.

        The page is stored in the notebook with at most `megabytes` of numbers, and works without Python: also in what
        is exported from the notebook. A `live` one asks this Python process instead, so that the model computes changes
        made by hand; it needs anywidget. Raises ConfigError for a limit or a height below 1, and MissingExtraError.
        """
        from glassformer.page.notebook import show

        return show(self, height=height, title=title, megabytes=megabytes, live=live)


def with_page(traced: Callable[Given, look.Trace]) -> Callable[Given, Trace]:
    """The same function; its trace can be written as a page."""

    @wraps(traced)
    def made(*args: Given.args, **options: Given.kwargs) -> Trace:
        return Trace.of(traced(*args, **options))

    return made


trace = with_page(run.trace)
load_trace = with_page(load.load_trace)
