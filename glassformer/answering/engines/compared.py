"""Whether an engine gives what our own stack gives, and whether the weights are still those that it was made from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain
from math import hypot, isclose, isfinite
from operator import attrgetter, eq, is_
from typing import Any

import numpy as np
from torch import Tensor, nn

from glassformer.decode.request import Hypothesis

TOLERANCE = 1e-4
"""The largest difference of numbers, absolute up to 1 and relative above: sums of float32 in another order differ by a
hundredth of this in six layers."""


def equal(one: Any, other: Any) -> bool:
    """Whether two answers to a row are the same: tokens and texts exactly, numbers up to TOLERANCE."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return _arrays(one.detach().cpu().numpy(), other.detach().cpu().numpy())
    if isinstance(one, np.ndarray):
        return _arrays(one, np.asarray(other))
    if isinstance(one, float):
        return isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if is_dataclass(one):
        return type(one) is type(other) and all(
            equal(getattr(one, each.name), getattr(other, each.name)) for each in fields(one)
        )
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(equal(each, other[name]) for name, each in one.items())
    if isinstance(one, Sequence) and not isinstance(one, str | bytes):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


def agreement(ours: Sequence[Any], theirs: Sequence[Any]) -> str:
    """In words: of texts, how many have the same tokens; of numbers, the least cosine of a row."""
    if isinstance(ours[0], Sequence) and ours[0] and isinstance(ours[0][0], Hypothesis):
        best = [[[each.ids for each in answers[:1]] for answers in found] for found in (ours, theirs)]
        return f"{sum(map(eq, *best))} of {len(ours)} rows as torch does"
    least = min(_cosine(list(_numbers(one)), list(_numbers(other))) for one, other in zip(ours, theirs, strict=True))
    return f"{len(ours)} rows with a cosine of at least {least:.4f} to torch's numbers"


def _numbers(answer: Any) -> Iterator[float]:
    """All finite numbers of an answer that are no counts, in its order; scores of what is forbidden are infinite."""
    if isinstance(answer, float):
        yield from (answer,) * isfinite(answer)
    elif isinstance(answer, Tensor):
        yield from _numbers(answer.detach().cpu().numpy())
    elif isinstance(answer, np.ndarray):
        yield from answer[np.isfinite(answer)].tolist() if answer.dtype.kind == "f" else ()
    elif is_dataclass(answer):
        for each in fields(answer):
            yield from _numbers(getattr(answer, each.name))
    elif isinstance(answer, Mapping | Sequence) and not isinstance(answer, str | bytes):
        for each in answer.values() if isinstance(answer, Mapping) else answer:
            yield from _numbers(each)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """0 where there are not as many numbers."""
    size = hypot(*one) * hypot(*other)
    return float(np.dot(one, other)) / size if len(one) == len(other) and size else float(list(one) == list(other))


def _arrays(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    return bool(np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))


_version = attrgetter("_version")

State = tuple[list[int], list[int]]
"""Where the numbers of each weight are, and how often they were changed there."""


class Watched:
    """A model's parts and weights as first seen; comparing them is ten times as fast as walking over all parts."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._look()

    def state(self) -> State:
        """Another one where a weight was changed or replaced."""
        now = self._parts()
        if len(now) != len(self._seen) or not all(map(is_, now, self._seen)):
            self._look()
        return list(map(Tensor.data_ptr, self._weights)), list(map(_version, self._counted))

    def _look(self) -> None:
        self._slots: list[dict[str, Any]] = [
            slots for part in self.module.modules() for slots in (part._modules, part._parameters) if slots
        ]
        self._seen = self._parts()
        self._weights = [each for each in self._seen if isinstance(each, Tensor)]
        # One that was made for inference alone counts no changes.
        self._counted = [each for each in self._weights if not each.is_inference()]

    def _parts(self) -> list[Any]:
        return list(chain.from_iterable(map(dict.values, self._slots)))
