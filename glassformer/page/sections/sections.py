"""What a page shows of a run besides its tensors, one section for each view that needs more: a name, and JSON.

A live page asks its server for a section when a view opens; an exported page carries those that it was written with.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from glassformer.base.errors import ConfigError
from glassformer.base.json_text import in_json
from glassformer.look.texts.tree import SearchTree
from glassformer.look.trace.trace import Trace
from glassformer.page.sections import gradients, summed
from glassformer.saved.artefact import Artefact

Maker = Callable[[Trace], Any]
"""Works a section out from a run; what it returns is written as JSON without infinities."""


def or_reason(make: Maker) -> Maker:
    """A section, or why this run has none: the page shows the sentence in the place of the view."""

    def made(trace: Trace) -> Any:
        try:
            return make(trace)
        except ConfigError as error:
            return {"reason": str(error)}

    return made


INTEGRATED: Mapping[str, Maker] = {
    f"integrated-{order}": or_reason(partial(summed.integrated_section, order=order))
    for order in range(summed.MOST_GOALS)
}
"""The integrated gradients of each answer: many backward passes, so each is worked out when it is asked for."""

CARRIED: Mapping[str, Maker] = {
    "lens": or_reason(summed.lens_section),
    "attributions": or_reason(summed.attributions_section),
}
"""Those that every exported page carries."""

MAKERS: Mapping[str, Maker] = {
    **CARRIED,
    gradients.NAME: gradients.gradient_section,
    "shuffled": or_reason(summed.shuffled_section),
    **INTEGRATED,
}
"""The sections that a server works out for a page that asks."""

_MEASURED: WeakKeyDictionary[Artefact, Any] = WeakKeyDictionary()


def importance(model: Artefact) -> Any:
    """What is lost without each head, on sentences of the package: measured once for a model, whatever the run."""
    if model not in _MEASURED:
        _MEASURED[model] = summed.importance_of_package(model)
    return _MEASURED[model]


MODEL_MAKERS: Mapping[str, Callable[[Artefact], Any]] = {"importance": importance}
"""The sections that are worked out from the model of a run: minutes for a large one, so no exported page has them
unasked."""


def sections_of(trace: Trace, makers: Mapping[str, Maker] = CARRIED) -> dict[str, Any]:
    return {name: make(trace) for name, make in makers.items()}


SEARCH = "search"


def search_section(trees: Sequence[SearchTree | None]) -> list[Any]:
    """A tree for each text, as the view `tree` reads it; null where there is none."""
    return [None if tree is None else in_json(tree.to_dict()) for tree in trees]
