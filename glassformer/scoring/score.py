"""Scores with confidence intervals, and those of baselines to compare with.

E examples · D dense statistics of an example · K all its statistics · N targets, or ones among the other statistics ·
R bootstrap samples · V vocabulary, or labels
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import ShapeError
from glassformer.data.batches.batch import Flags

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from torch import Tensor


Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Bootstrap samples: the ends of a 95 % interval then vary by about a twentieth of its width from seed to seed.
SAMPLES = 2000
# Scores that are shares, 1 where all examples are right, by the end of their name.
SHARES = ("accuracy", "exact_match", "f1", "precision", "recall")
# Examples that are drawn at once: with more the arrays leave the cache, with fewer most of the time is Python's.
_DRAWN = 1 << 15


def widened(logits: Tensor | None) -> Tensor:
    """What a head answers, at least in float32: bfloat16 is too imprecise for a sum over a vocabulary."""
    assert logits is not None
    return logits if logits.dtype.itemsize >= 4 else logits.float()


class Interval(NamedTuple):
    """A value and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Measure:
    """What was counted for each example, and the scores that follow from the sums. `statistics` [E, K] are counts or
    sums of each example, a sparse matrix where most are 0; `scores` gives from sums [..., K] each score [...] by its
    name. A share has (right, 1), F1 has (true positives, false positives, false negatives). `asked` [E], where known,
    are equal for examples that ask the same, such as the same masked words of a row. `counts`: of how many examples a
    score is that is not of all.
    """

    statistics: Reals | csr_matrix
    scores: Callable[[Reals], Mapping[str, Reals]]
    asked: Integers | None = None
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of_questions(
        cls, statistics: Reals, scores: Callable[[Reals], Mapping[str, Reals]], asked: Integers | None
    ) -> Measure:
        """In the order of what is asked, where this is known: models read their examples in different orders."""
        if asked is None:
            return cls(statistics, scores)
        order = np.argsort(asked, kind="stable")
        return cls(statistics[order], scores, asked[order])

    def __len__(self) -> int:
        return int(self.statistics.shape[0])

    def asks_the_same(self, other: Measure) -> bool:
        """Whether both were measured on the same examples, as far as they know these."""
        if len(self) != len(other):
            return False
        return self.asked is None or other.asked is None or np.array_equal(self.asked, other.asked)

    @property
    def sums(self) -> Reals:
        return np.ones(len(self)) @ self.statistics

    def values(self) -> dict[str, float]:
        return {name: float(value) for name, value in self.scores(self.sums).items()}

    def intervals(self, *, samples: int = SAMPLES, seed: int = 0) -> dict[str, Interval]:
        """Each score with its 95 % bootstrap interval over examples: an expanded percentile interval (`tail`). Where
        all examples are right or none, that of the share of right examples (Wilson 1927), also for an F1.
        """
        drawn = self.scores(resampled(self.statistics, samples, seed))
        counts = {name: self.counts.get(name, len(self)) for name in self.values()}
        found = {name: spread(value, drawn[name], counts[name]) for name, value in self.values().items()}
        # Where all examples are right, or none, so are those of all samples.
        equal = {name: value for name, (value, low, high) in found.items() if low == high and value in (0, 1)}
        shares = {name: value for name, value in equal.items() if name.endswith(SHARES)}
        return found | {name: Interval(value, *interval(value, counts[name])) for name, value in shares.items()}

    def compared(self, other: Measure, *, samples: int = SAMPLES, seed: int = 0) -> dict[str, Interval]:
        """Each score of this one minus that of the other on the same examples, with its 95 % interval by the paired
        bootstrap (Koehn 2004). Raises ShapeError for other examples.
        """
        if not self.asks_the_same(other):
            raise ShapeError("a paired comparison needs the same examples", got=f"{len(self)} and {len(other)}")
        mine = dict(self.scores(resampled(self.statistics, samples, seed)))
        theirs = dict(other.scores(resampled(other.statistics, samples, seed)))
        own, others = self.values(), other.values()
        both = {name: min(each.counts.get(name, len(self)) for each in (self, other)) for name in own if name in others}
        for drawn, values in ((mine, own), (theirs, others)):  # undefined in all samples: as it is of all examples
            drawn |= {name: np.full(samples, values[name]) for name in both if not np.isfinite(drawn[name]).any()}
        return {name: spread(own[name] - others[name], mine[name] - theirs[name], of) for name, of in both.items()}


def numbers_of_rows(*each: Any) -> Integers:
    """A number for each row of arrays of integers [B, ...], equal for equal rows: [B]."""
    rows = zip(*(np.asarray(of, np.int64) for of in each), strict=True)
    digests = (blake2b(b"|".join(of.tobytes() for of in row), digest_size=8).digest() for row in rows)
    return np.array([int.from_bytes(digest, "big", signed=True) for digest in digests], np.int64)


def share(part: Any, whole: Any) -> Reals:
    """A part of a whole, 0 of nothing."""
    whole = np.asarray(whole, np.float64)
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)


def spread(value: float, drawn: Reals, count: int) -> Interval:
    """A score with its 95 % interval, from the scores of bootstrap samples of `count` examples, [R]."""
    finite = drawn[np.isfinite(drawn)]
    if not len(finite):
        return Interval(value, value, value) if math.isfinite(value) else Interval(value, math.nan, math.nan)
    end = tail(count)
    low, high = np.quantile(finite, (end, 1 - end))
    return Interval(value, float(low), float(high))


def tail(count: int) -> float:
    """The share of bootstrap samples below a 95 % interval: 2.5 % of many examples, less of few.

    Resampled means vary as if variance were divided by n, not n - 1, and 2.5 % is a quantile of the normal, not of
    Student's distribution. With this share the interval of a mean is about that of Student (Hesterberg 2015, expanded
    percentile interval).
    """
    from scipy.special import stdtrit

    if count < 2:
        return 0.025
    return NormalDist().cdf(float(stdtrit(count - 1, 0.025)) * math.sqrt(count / (count - 1)))


def resampled(statistics: Reals | csr_matrix, samples: int, seed: int) -> Reals:
    """The sums [R, K] over samples of the examples, with replacement; the same examples for the same seed."""
    generator = np.random.default_rng(seed)
    count = int(statistics.shape[0])
    together = max(1, _DRAWN // count)  # samples that are computed at once
    sums = []
    for first in range(0, samples, together):
        rows = np.arange(min(together, samples - first))[:, None]  # [R', 1]
        places = generator.integers(count, size=(len(rows), count)) + rows * count
        drawn = np.bincount(places.ravel(), minlength=len(rows) * count).reshape(len(rows), count)  # [R', E]
        sums.append(drawn.astype(np.float64) @ statistics)  # [R', K]
    return np.concatenate(sums)  # [R, K]


def share_of(right: Any) -> Measure:
    """Accuracy: one flag for each example [E]."""
    flags = np.asarray(right, np.float64)
    return Measure(
        np.stack([flags, np.ones_like(flags)], axis=1),  # [E, 2]
        lambda sums: {"accuracy": sums[..., 0] / sums[..., 1]},
    )


def losses_and_shares(losses: Any, right: Any) -> Measure:
    """Loss, perplexity and accuracy, from losses [E] in nats and flags (or probabilities) of being right [E]."""
    each = np.asarray(losses, np.float64)
    return Measure(np.stack([each, np.asarray(right, np.float64), np.ones_like(each)], axis=1), loss_and_accuracy)


def loss_and_accuracy(sums: Reals) -> dict[str, Reals]:
    """Loss, perplexity and accuracy, from sums of losses in nats, right answers and answers [..., 3]; NaN of none."""
    with np.errstate(invalid="ignore"):
        loss, accuracy = sums[..., 0] / sums[..., 2], sums[..., 1] / sums[..., 2]
    return {"loss": loss, "perplexity": np.exp(np.minimum(loss, 700.0)), "accuracy": accuracy}


Ids = npt.NDArray[np.integer[Any]]

THIS_MODEL = "this model"
# Tokens counted at a time, so that a memory-mapped text is never in memory as a whole.
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Scores:
    """What was measured: the same named numbers for the model and each baseline, on `count` things of a kind.

    `shares` names those numbers that are shares of `count` independent trials, for which an interval can be computed.
    `measures` has, for the model and the baselines that were measured example by example, what bootstrap intervals and
    comparisons are computed from; `report` what else there is to read, as plain lists and words for JSON, such as a
    confusion matrix.
    """

    count: int
    unit: str
    of: Mapping[str, Mapping[str, float]]
    shares: tuple[str, ...] = ("accuracy",)
    measures: Mapping[str, Measure] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def measured(
        cls,
        unit: str,
        measures: Mapping[str, Measure],
        *,
        count: int | None = None,
        shares: tuple[str, ...] = ("accuracy",),
        report: Mapping[str, Any] = MappingProxyType({}),
    ) -> Scores:
        """Those of measures of the same examples, which are `count` things, or each example one."""
        of = {name: measure.values() for name, measure in measures.items()}
        return cls(len(measures[THIS_MODEL]) if count is None else count, unit, of, shares, measures, report)

    def __getitem__(self, name: str) -> float:
        return self.flat()[name]

    def flat(self) -> dict[str, float]:
        """All numbers by name: the model's, `targets`, and those of each baseline with its name as a prefix."""
        own = {**self.of[THIS_MODEL], "targets": float(self.count)}
        others = {
            flat_name(name, score): value
            for name, scores in self.of.items()
            if name != THIS_MODEL
            for score, value in scores.items()
        }
        return own | others

    def with_baseline(self, name: str, other: Scores) -> Scores:
        """These scores and those of a baseline, whose own are those of `other`."""
        measures = {name: other.measures[THIS_MODEL]} if THIS_MODEL in other.measures else {}
        return replace(self, of={**self.of, name: other.of[THIS_MODEL]}, measures={**self.measures, **measures})


def flat_name(system: str, score: str) -> str:
    """The name of a score in `Scores.flat`: that of a baseline begins with the baseline's."""
    return score if system == THIS_MODEL else f"{system.replace(' ', '_').replace('-', '_').lower()}_{score}"


def not_above_a_baseline(best: str, scores: Mapping[str, float], baselines: Sequence[str]) -> str:
    """A sentence when the score that keeps the best model is no better than a baseline's; "" else."""
    name = best.removeprefix("-")
    for baseline in baselines:
        own, other = scores.get(name), scores.get(f"{baseline}_{name}")
        if own is None or other is None:
            continue
        if (own >= other) if best.startswith("-") else (own <= other):
            return f"not better than the baseline: {name} {own:.4g}, {baseline.replace('_', ' ')} {other:.4g}"
    return ""


def interval(share: float, count: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of `count` independent trials (Wilson 1927)."""
    if not count:
        return 0.0, 1.0
    z = 1.959964
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * (share * (1 - share) / count + z * z / (4 * count * count)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def perplexity(loss: float) -> float:
    """exp(loss), at most what a float can hold."""
    return math.exp(min(loss, 700.0))


class Unigram:
    """Ignores the context: the probability of a token is its frequency in the training text, with add-one smoothing."""

    name = "unigram"

    def __init__(self, counts: Integers) -> None:
        self.counts = counts  # [V]

    @classmethod
    def count(cls, ids: Ids, vocabulary: int = 0, *, chunk: int = _CHUNK) -> Unigram:
        """Count tokens; `vocabulary` is the least number of counts, `chunk` how many tokens are in memory."""
        counts = np.zeros(max(vocabulary, 1), np.int64)
        for start in range(0, len(ids), chunk):
            more = np.bincount(np.asarray(ids[start : start + chunk], np.int64), minlength=len(counts))
            more[: len(counts)] += counts
            counts = more
        return cls(counts)

    @classmethod
    def saved(cls, facts: Mapping[str, Any]) -> Unigram | None:
        """That of the facts that a task has saved, None where it has saved none."""
        counts = facts.get("unigram_counts")
        return None if counts is None else cls(np.array(counts, np.int64))

    @property
    def facts(self) -> dict[str, Any]:
        return {"unigram_counts": self.counts.tolist()}

    def without(self, ids: Collection[int]) -> Unigram:
        """The same without these tokens, which are never masked."""
        counts = self.counts.copy()
        counts[[id_ for id_ in ids if id_ < len(counts)]] = 0
        return Unigram(counts)

    @property
    def entropy(self) -> float:
        shares = self.counts[self.counts > 0] / self.counts.sum()
        return float(-(shares * np.log(shares)).sum())

    def probability(self, labels: Integers) -> Reals:
        """How likely each label is, [N]; a token that was never seen counts as one."""
        seen = np.where(labels < len(self.counts), self.counts[np.minimum(labels, len(self.counts) - 1)], 0)
        return (seen + 1) / (self.counts.sum() + len(self.counts) + 1)

    def guess(self, labels: Integers) -> tuple[Reals, Flags]:
        """The loss of each label [N], and whether it was predicted [N]."""
        return -np.log(self.probability(labels)), labels == self.counts.argmax()
