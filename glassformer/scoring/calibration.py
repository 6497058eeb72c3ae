"""Calibration of probabilities: of predictions with probability 0.8, four in five should be right.

L labels
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from glassformer.scoring.score import Reals

# The bins of equal width of a reliability table, and the range in which a temperature is looked for.
BINS = 10
COLDEST, HOTTEST = 0.05, 20.0
_GOLDEN, _TOLERANCE = (math.sqrt(5) - 1) / 2, 1e-4


def fitted_temperature(log_loss: Callable[[float], float]) -> float:
    """The temperature of the least loss (Guo et al. 2017, §4.2), by golden-section search over log T."""
    low, high = math.log(COLDEST), math.log(HOTTEST)
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    losses = [log_loss(math.exp(place)) for place in inner]
    while high - low > _TOLERANCE:
        if losses[0] <= losses[1]:
            high, inner[1], losses[1] = inner[1], inner[0], losses[0]
            inner[0] = high - _GOLDEN * (high - low)
            losses[0] = log_loss(math.exp(inner[0]))
        else:
            low, inner[0], losses[0] = inner[0], inner[1], losses[1]
            inner[1] = low + _GOLDEN * (high - low)
            losses[1] = log_loss(math.exp(inner[1]))
    return float(f"{math.exp((low + high) / 2):.4g}")


def log_prior(temperature: float) -> float:
    """−log of a normal density of log T around 0 with deviation 1, but for a constant: it weighs as much as a record or
    two, so that a handful of records moves T little, and thousands of them alone determine it.
    """
    return math.log(temperature) ** 2 / 2


def limit_of(temperature: float) -> str:
    """A part of a sentence where the search ended at its limit; "" elsewhere."""
    if COLDEST * 1.001 < temperature < HOTTEST / 1.001:
        return ""
    side = "least" if temperature < 1 else "largest"
    return f"the {side} that is tried: the held-out records do not determine it, and the probabilities may be wrong"


class Reliability:
    """How often predictions were right, by their probability."""

    def __init__(self) -> None:
        self.count, self.confidence, self.right = (np.zeros(BINS) for _ in range(3))

    def add(self, probabilities: Reals | float, right: npt.ArrayLike) -> None:
        probabilities, right = np.atleast_1d(probabilities), np.atleast_1d(np.asarray(right, np.float64))
        bins = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
        for total, weights in ((self.count, None), (self.confidence, probabilities), (self.right, right)):
            total += np.bincount(bins, weights, BINS)

    @property
    def expected_error(self) -> float:
        """Expected calibration error: |share right − mean probability|, over all predictions (Guo et al. 2017)."""
        return float(np.abs(self.right - self.confidence).sum() / max(self.count.sum(), 1))

    def table(self) -> list[dict[str, Any]]:
        return [
            {
                "from": round(place / BINS, 3),
                "to": round((place + 1) / BINS, 3),
                "count": int(count),
                "probability": float(self.confidence[place] / count),
                "right": float(self.right[place] / count),
            }
            for place, count in enumerate(self.count)
            if count
        ]

    def report(self, temperature: float) -> dict[str, Any]:
        return {"temperature": temperature, "expected_calibration_error": self.expected_error, "bins": self.table()}


def log_softmax(logits: Reals) -> Reals:
    """Over the last axis. [..., L]"""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def log_sigmoid(logits: Reals) -> Reals:
    """log σ(x) = −log(1 + exp(−x)), for large |x| too. [..., L]"""
    return -np.logaddexp(0.0, -logits)


def log_mean(logarithms: Reals) -> Reals:
    """The logarithm of the mean of exp over the first axis: [W, L] to [L]."""
    return np.logaddexp.reduce(logarithms, axis=0) - math.log(len(logarithms))
