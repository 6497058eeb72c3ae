"""Whether an engine gives what our own stack gives."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from math import isclose
from typing import Any

import numpy as np
from torch import Tensor

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


def same_tokens(one: Sequence[Hypothesis], other: Sequence[Hypothesis]) -> bool:
    """Whether the best answers have the same tokens, whatever their numbers."""
    return [each.ids for each in one[:1]] == [each.ids for each in other[:1]]


def _arrays(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    return bool(np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
