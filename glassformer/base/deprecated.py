"""Old forms that still work: each use warns, and names the new form (docs/reference/stable.md)."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class GlassformerDeprecationWarning(DeprecationWarning):
    """An old form was used. It works until the next major version."""


def deprecated(old: str, new: str) -> None:
    """Warn that the new form is to be written instead of the old one."""
    warnings.warn(f"{old} is deprecated: write {new}", GlassformerDeprecationWarning, stacklevel=2)


@contextmanager
def noted(note: Callable[[str], None]) -> Iterator[None]:
    """Inside, each old form that is used is noted once. Elsewhere Python's own filters decide."""
    said: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in said:
            said.add(str(message))
            note(str(message))

    with warnings.catch_warnings():
        others = warnings.showwarning
        warnings.filterwarnings("always", category=GlassformerDeprecationWarning)
        warnings.showwarning = lambda message, category, *where: (
            show(message) if issubclass(category, GlassformerDeprecationWarning) else others(message, category, *where)
        )
        yield
