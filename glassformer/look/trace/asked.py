"""Names of tensors as people write them: whole, short where only one tensor fits, or as patterns.

`logits` is `head.logits` where that is the only one; `0.weights` is `encoder.blocks.0.self_attention.weights` of one
stack; in patterns and short names `attention` means `self_attention` and `cross_attention`.
"""

import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from glassformer.base.errors import UnknownNameError, did_you_mean

LISTED = 4  # How many of the tensors that a short name could mean are named


def is_pattern(wanted: str) -> bool:
    return any(mark in wanted for mark in "*?[")


def widened(wanted: str) -> str:
    """With `attention` for both kinds of attention."""
    return re.sub(r"(?<![^.])attention(?![^.])", "*_attention", wanted)


def fitting(wanted: str, known: Collection[str]) -> list[str]:
    """All known names that a name, a short name or a pattern could mean."""
    if wanted in known:
        return [wanted]
    if is_pattern(wanted):
        pattern = as_pattern(wanted, known)
        return [name for name in known if fnmatchcase(name, pattern)]
    ends = [name for name in known if name.endswith(f".{wanted}")]
    return ends or [name for name in known if shortens(wanted, name)]


def as_pattern(wanted: str, known: Collection[str]) -> str:
    """A pattern as it is where it fits a name, else with `attention` for both kinds."""
    return wanted if any(fnmatchcase(name, wanted) for name in known) else widened(wanted)


def shortens(wanted: str, name: str) -> bool:
    """Whether a short name has parts of this name in their order, the last one among them."""
    parts = name.split(".")
    *others, last = widened(wanted).split(".")
    if not fnmatchcase(parts.pop(), last):
        return False
    left = iter(parts)
    return all(any(fnmatchcase(part, other) for part in left) for other in others)


def full_name(wanted: str, known: Collection[str]) -> str:
    """The one name that is meant; raises UnknownNameError where there is none, or more than one."""
    if not isinstance(wanted, str):
        raise UnknownNameError("a tensor is asked for by its name", got=repr(wanted)[:80])
    found = fitting(wanted, known)
    if len(found) == 1 and not is_pattern(wanted):
        return found[0]
    if not found:
        raise UnknownNameError(f"there is no tensor {wanted!r}", do=did_you_mean(wanted, known))
    if is_pattern(wanted):
        raise UnknownNameError("one tensor is needed", got=f"the pattern {wanted!r}", do="fetch() takes patterns")
    ways = ", ".join(found[:LISTED]) + (" …" if len(found) > LISTED else "")
    raise UnknownNameError(f"which {wanted!r} is meant", got=f"{len(found)} tensors", do=f"write one of {ways}")


def chosen(names: Iterable[str] | str | None, known: Iterable[str]) -> list[str]:
    """The known names that are asked for, all for None; raises UnknownNameError for names that fit none or several."""
    known = dict.fromkeys(known)
    if names is None:
        return list(known)
    if not isinstance(names, Iterable):
        raise UnknownNameError("names of tensors are needed", got=repr(names)[:60], do="give one, or a list of them")
    found: list[str] = []
    for wanted in [names] if isinstance(names, str) else names:
        several = fitting(wanted, known) if isinstance(wanted, str) and is_pattern(wanted) else []
        found += several or [full_name(wanted, known)]
    return list(dict.fromkeys(found))
