"""How well predictions agree with the truth: accuracy, F1, Matthews' and two other correlations, as sums over examples.

E examples · L labels · N ones · K statistics
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from glassformer.scoring.score import Measure, Reals

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Labels up to which F1 and Matthews' correlation have intervals: those need 3 L numbers of each bootstrap sample.
MOST_LABELS = 1000


def one_label(losses: Sequence[float], true: Sequence[int], guessed: Sequence[int], names: Sequence[str]) -> Measure:
    """One of the labels for each example: `losses` in nats [E], the right labels and the predictions [E]. `accuracy`;
    `macro_f1`, the mean of the F1 of the labels that occur among either; `matthews`, the correlation coefficient of L
    labels (Gorodkin 2004), 0 where it is not defined; with two labels the F1 of each.
    """

    def scores(sums: Reals) -> Mapping[str, Reals]:
        count, loss, right, both, ours, theirs = _parts(sums, len(names))
        f1 = _divided(2 * both, ours + theirs)  # [..., L]
        agreed = right * count - (ours * theirs).sum(axis=-1)
        spread = (count**2 - (ours**2).sum(axis=-1)) * (count**2 - (theirs**2).sum(axis=-1))
        found = {
            "loss": loss / count,
            "perplexity": np.exp(np.minimum(loss / count, 700.0)),
            "accuracy": right / count,
            "macro_f1": macro_f1(both, ours + theirs),
        }
        # What is not defined in a bootstrap sample has no value there, and is 0 of all examples.
        undefined = np.nan if sums.ndim > 1 else 0.0
        found["matthews"] = np.nan_to_num(_divided(agreed, np.sqrt(spread)), nan=undefined)
        of_each = {f"label_{name}_f1": np.nan_to_num(f1[..., at], nan=undefined) for at, name in enumerate(names)}
        return found | (of_each if len(names) == 2 else {})

    sets = [[[label] for label in labels] for labels in (true, guessed)]
    either = Counter(chain.from_iterable({*pair} for pair in zip(true, guessed, strict=True)))
    counts = {f"label_{name}_f1": either[place] for place, name in enumerate(names)} if len(names) == 2 else {}
    counts |= {"matthews": min(counts.values())} if counts else {}
    return replace(_measure(losses, sets[0], sets[1], len(names), scores), counts=counts)


def several_labels(
    losses: Sequence[float], true: Sequence[Sequence[int]], guessed: Sequence[Sequence[int]], names: Sequence[str]
) -> Measure:
    """A set of labels for each example: `losses` in nats per label [E], the right sets and the predicted ones [E].
    `accuracy`, the share of the examples whose whole set is right (subset accuracy); `micro_f1`, the F1 of all
    decisions together; `macro_f1`, the mean of the F1 of the labels that occur among the right or the predicted ones.
    """

    def scores(sums: Reals) -> Mapping[str, Reals]:
        count, loss, right, both, ours, theirs = _parts(sums, len(names))
        micro = _divided(2 * both.sum(axis=-1), (ours + theirs).sum(axis=-1))
        return {
            "loss": loss / count,
            "accuracy": right / count,
            "micro_f1": np.nan_to_num(micro),
            "macro_f1": macro_f1(both, ours + theirs),
        }

    return _measure(losses, true, guessed, len(names), scores)


def macro_f1(both: Reals, ours_and_theirs: Reals) -> Reals:
    """The mean F1 of the labels that occur (in a bootstrap sample, of those that occur in it), [..., L] -> [...]. If a
    label that a sample lacks counted as 0, the interval of a perfect prediction would end below 1.
    """
    f1 = np.nan_to_num(_divided(2 * both, ours_and_theirs))  # [..., L]
    return np.asarray(f1.sum(axis=-1) / np.maximum(1, (ours_and_theirs > 0).sum(axis=-1)))


def numbers(true: Reals, guessed: Reals, *, deviation: float) -> Measure:
    """A number for each example, the right ones and the predictions [E]; `deviation` is that of the training targets.
    `loss`, the mean squared error in units of the deviation; `pearson`; `spearman`, Pearson's correlation of the ranks
    in the whole set, ties at their mean rank; `mean_absolute_error`. The correlation of constant predictions, and of
    two records, is left out. In a bootstrap sample the ranks remain those of the whole set.
    """
    columns = [true, guessed, ranks(true), ranks(guessed)]
    a, b, ranked_a, ranked_b = map(_centred, columns)
    error = true - guessed
    statistics = [np.ones_like(error), (error / deviation) ** 2, np.abs(error)]
    correlated = {}
    for name, x, y in (("pearson", a, b), ("spearman", ranked_a, ranked_b)):
        if len(x) > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:  # of two records it is 1 or -1, whatever they are
            correlated[name] = len(statistics)
            statistics += [x, y, x * x, y * y, x * y]

    def scores(sums: Reals) -> Mapping[str, Reals]:
        count, squares, absolute = (sums[..., place] for place in range(3))
        found = {name: _correlation(count, sums[..., first : first + 5]) for name, first in correlated.items()}
        return {"loss": squares / count, **found, "mean_absolute_error": absolute / count}

    return Measure(np.stack(statistics, axis=1), scores)  # [E, K]


def _centred(values: Reals) -> Reals:
    """Minus their mean, in units of the largest: sums of squares lose no digits, and stay in the range of float64."""
    found = values - values.mean()
    return found / (np.abs(found).max() or 1.0)


def ranks(values: Reals) -> Reals:
    """The rank of each value from 1, equal values at the mean of theirs. [E]"""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[places]


def bounded(measure: Measure, labels: int) -> Measure:
    """The measure, without the scores that need counts of each label where these are too many for the bootstrap."""
    statistics = measure.statistics
    if labels <= MOST_LABELS or isinstance(statistics, np.ndarray):
        return measure
    return Measure(
        statistics[:, :3].toarray(),
        lambda sums: {"loss": sums[..., 1] / sums[..., 0], "accuracy": sums[..., 2] / sums[..., 0]},
    )


def _measure(
    losses: Sequence[float],
    true: Sequence[Sequence[int]],
    guessed: Sequence[Sequence[int]],
    labels: int,
    scores: Callable[[Reals], Mapping[str, Reals]],
) -> Measure:
    from scipy.sparse import hstack

    right = [set(one) == set(other) for one, other in zip(true, guessed, strict=True)]
    both = [sorted(set(one) & set(other)) for one, other in zip(true, guessed, strict=True)]
    ones = [_ones(sets, labels) for sets in (both, guessed, true)]  # each [E, L]
    dense = np.stack([np.ones(len(right)), np.array(losses, np.float64), np.array(right, np.float64)], axis=1)  # [E, 3]
    return Measure(hstack([dense, *ones], "csr"), scores)  # [E, 3 + 3 L]


def _ones(sets: Sequence[Sequence[int]], labels: int) -> "csr_matrix":
    """A one for each label of each example: [E, L]."""
    from scipy.sparse import csr_matrix

    ends = np.cumsum([0, *(len(each) for each in sets)])
    columns = np.fromiter(chain.from_iterable(sets), np.int64)
    return csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(sets), labels))


def _parts(sums: Reals, labels: int) -> tuple[Reals, ...]:
    """Count, loss and right answers [...]; by label those right, guessed, and there [..., L]."""
    by_label = sums[..., 3:].reshape(*sums.shape[:-1], 3, labels)
    return (*(sums[..., place] for place in range(3)), *(by_label[..., place, :] for place in range(3)))


def _correlation(count: Reals, sums: Reals) -> Reals:
    x, y, xx, yy, xy = (sums[..., place] for place in range(5))
    spread = (count * xx - x * x) * (count * yy - y * y)
    found = _divided(count * xy - x * y, np.sqrt(np.maximum(spread, 0)))
    return np.clip(found, -1, 1)  # sums may have lost digits: of a sample without the largest value all are near 0


def _divided(above: Reals, below: Reals) -> Reals:
    """NaN where it would be divided by 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)
