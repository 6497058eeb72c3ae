"""Scores that follow from sums over examples, their bootstrap intervals, and whether one model is better than another.

E examples · D dense statistics of an example · K all its statistics · N ones among the others · R bootstrap samples
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import ShapeError

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Bootstrap samples: the ends of a 95 % interval then vary by about a twentieth of its width from seed to seed.
SAMPLES = 2000


class Interval(NamedTuple):
    """A value and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Counts:
    """Statistics [E, K] of which few are not zero: D dense numbers of each example, then K − D that are 1 at
    (`examples` [N], `columns` [N]) and 0 elsewhere, such as one of each label.
    """

    dense: Reals
    examples: Integers
    columns: Integers
    width: int
    __array_ufunc__: ClassVar[None] = None  # `weights @ counts` is ours

    def __len__(self) -> int:
        return len(self.dense)

    def __rmatmul__(self, weights: Reals | Integers) -> Reals:
        ones = np.bincount(self.columns, weights[self.examples], self.width - self.dense.shape[1])  # [K - D]
        return np.concatenate([weights @ self.dense, ones])  # [K]


@dataclass(frozen=True)
class Measure:
    """What was counted for each example, and the scores that follow from the sums.

    `statistics` [E, K] are counts or sums of each example; `scores` gives from sums [..., K] each score [...] by its
    name. A share has (right, 1), F1 has (true positives, false positives, false negatives).
    """

    statistics: Reals | Counts
    scores: Callable[[Reals], Mapping[str, Reals]]

    def __len__(self) -> int:
        return len(self.statistics)

    @property
    def sums(self) -> Reals:
        return np.ones(len(self)) @ self.statistics

    def values(self) -> dict[str, float]:
        return {name: float(value) for name, value in self.scores(self.sums).items()}

    def intervals(self, *, samples: int = SAMPLES, seed: int = 0) -> dict[str, Interval]:
        """Each score with its 95 % percentile bootstrap interval over examples (Efron & Tibshirani 1993, ch. 13)."""
        drawn = self.scores(_resampled(self.statistics, samples, seed))
        return {name: _interval(value, drawn[name]) for name, value in self.values().items()}

    def compared(self, other: Measure, *, samples: int = SAMPLES, seed: int = 0) -> dict[str, Interval]:
        """Each score of this one minus that of the other on the same examples, with its 95 % interval by the paired
        bootstrap (Koehn 2004). Raises ShapeError for another number of examples.
        """
        if len(self) != len(other):
            raise ShapeError("a paired comparison needs the same examples", got=f"{len(self)} and {len(other)}")
        mine = self.scores(_resampled(self.statistics, samples, seed))
        theirs = other.scores(_resampled(other.statistics, samples, seed))
        own, others = self.values(), other.values()
        return {name: _interval(own[name] - others[name], mine[name] - theirs[name]) for name in own if name in others}


def _interval(value: float, drawn: Reals) -> Interval:
    finite = drawn[np.isfinite(drawn)]
    if not len(finite):
        return Interval(value, float("nan"), float("nan"))
    low, high = np.quantile(finite, (0.025, 0.975))
    return Interval(value, float(low), float(high))


def _resampled(statistics: Reals | Counts, samples: int, seed: int) -> Reals:
    """The sums [R, K] over samples of the examples, with replacement; the same examples for the same seed."""
    generator = np.random.default_rng(seed)
    count = len(statistics)
    sums = []
    for _ in range(samples):
        drawn = np.bincount(generator.integers(count, size=count), minlength=count)  # [E]
        sums.append(drawn @ statistics)  # [K]
    return np.array(sums)  # [R, K]


def share_of(right: Any) -> Measure:
    """Accuracy: one flag for each example [E]."""
    flags = np.asarray(right, np.float64)
    return Measure(
        np.stack([flags, np.ones_like(flags)], axis=1),  # [E, 2]
        lambda sums: {"accuracy": sums[..., 0] / sums[..., 1]},
    )


def losses_and_shares(losses: Any, right: Any) -> Measure:
    """Loss, perplexity and accuracy, from losses [E] in nats and flags (or chances) of being right [E]."""
    each = np.asarray(losses, np.float64)

    def scores(sums: Reals) -> Mapping[str, Reals]:
        loss = sums[..., 0] / sums[..., 2]
        return {"loss": loss, "perplexity": np.exp(np.minimum(loss, 700.0)), "accuracy": sums[..., 1] / sums[..., 2]}

    return Measure(np.stack([each, np.asarray(right, np.float64), np.ones_like(each)], axis=1), scores)  # [E, 3]
