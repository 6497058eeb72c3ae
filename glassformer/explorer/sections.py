"""What a page tells of a run beside its tensors, one section for each view that needs more: a name, and JSON.

A live page asks its server for a section when a view opens; an exported page carries those that it was written with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from glassformer.explorer import gradients

if TYPE_CHECKING:
    from glassformer.look.trace import Trace

Maker = Callable[["Trace"], Any]
"""Works a section out from a run; what it returns is written as JSON without infinities."""

MAKERS: Mapping[str, Maker] = {gradients.NAME: gradients.gradient_section}
"""The sections that a server works out for a page that asks."""


def sections_of(trace: Trace, names: Mapping[str, Maker] | None = None) -> dict[str, Any]:
    """Each section of a run by its name."""
    return {name: make(trace) for name, make in (MAKERS if names is None else names).items()}
