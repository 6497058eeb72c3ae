"""Which kind of vector serves a user's labels best: each strategy and pooling under a logistic regression, by
cross-validation.

E examples: texts, or words · G groups: texts, or sentences of words · K layers · F numbers of a vector · L labels
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassformer.errors import DataError
from glassformer.features.mix import Mix, learn_mix
from glassformer.features.pooling import Reals
from glassformer.tasks.measure import Integers, Interval, Measure

# Strengths of the regularization (scikit-learn's C) among which each fold chooses, on a fifth of what it learns from.
STRENGTHS = (0.003, 0.03, 0.3)
_ASIDE, _ITERATIONS = 0.2, 500
# Above so many labels the F1 of each is not counted.
MOST_LABELS = 100

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Ranked:
    """One kind of vector: its scores with 95 % intervals (bootstrap over texts, on what each fold had held out), and
    the difference to the best one, None for this itself and for baselines that are not vectors.
    """

    name: str
    scores: Mapping[str, Interval]
    behind: Interval | None


@dataclass(frozen=True)
class Ranking:
    """The kinds of vectors, the best first, then the baselines. `mixes`: by pooling the mix learned on all examples."""

    score: str
    examples: int
    labels: tuple[str, ...]
    folds: int
    repeats: int
    vectors: tuple[Ranked, ...]
    baselines: tuple[Ranked, ...]
    mixes: Mapping[str, Mix]

    @property
    def together(self) -> tuple[str, ...]:
        """The best, and those that are not told apart from it: whose interval of the difference includes 0."""
        return tuple(each.name for each in self.vectors if each.behind is None or each.behind.high >= 0)


def rank(
    vectors: Mapping[str, Reals],
    layers: Mapping[str, Reals],
    texts: Sequence[str] | None,
    labels: Sequence[str],
    groups: Integers | None = None,
    *,
    folds: int = 5,
    repeats: int = 1,
    score: str = "accuracy",
    seed: int = 0,
    advance: Advance = lambda done: None,
) -> Ranking:
    """Rank vectors [E, F] by name, and by pooling mixes of `layers` [E, K, W], which each fold learns anew.

    `texts` are those that a TF-IDF baseline reads, None where there is none. Examples of one group, [E] from 0, are
    never in two folds; without groups each example is its own. Each fold standardizes the numbers and chooses the
    strength of the regularization from what it learns from. Raises DataError for labels that cannot be told apart.
    """
    names = tuple(sorted(set(labels)))
    of = np.array([names.index(label) for label in labels])  # [E]
    groups = np.arange(len(of)) if groups is None else groups
    check_labels(names, of, folds, groups)
    cuts = [cut for repeat in range(repeats) for cut in _cuts(of, groups, folds, seed + repeat)]
    measured: dict[str, Measure] = {}
    for name, each in vectors.items():
        found = (_learned(each[train], of[train], each[test]) for train, test in cuts)
        measured[name] = _measure(found, cuts, of, groups, len(names), advance)
    mixes: dict[str, Mix] = {}
    for pooling, each in layers.items():
        found = (_mixed(each, of, train, test) for train, test in cuts)
        measured[f"mix.{pooling}"] = _measure(found, cuts, of, groups, len(names), advance)
        mixes[pooling] = _mix_of(each, of)
    beside = {"most frequent": _measure((_frequent(of, *cut) for cut in cuts), cuts, of, groups, len(names), advance)}
    if texts is not None:
        found = (_tfidf(texts, of, train, test) for train, test in cuts)
        beside["TF-IDF"] = _measure(found, cuts, of, groups, len(names), advance)
    score = score if len(names) <= MOST_LABELS else "accuracy"
    order = sorted(measured, key=lambda name: -measured[name].values()[score])
    best = measured[order[0]]
    return Ranking(
        score,
        len(of),
        names,
        folds,
        repeats,
        tuple(
            Ranked(name, measured[name].intervals(), measured[name].compared(best)[score] if place else None)
            for place, name in enumerate(order)
        ),
        tuple(Ranked(name, each.intervals(), each.compared(best)[score]) for name, each in beside.items()),
        mixes,
    )


def check_labels(names: Sequence[str], of: Integers, folds: int, groups: Integers | None = None) -> None:
    """Raise DataError unless there are two labels, and examples and groups enough for so many folds."""
    if len(names) < 2:
        raise DataError(
            "to compare features there must be at least two labels",
            got=f"{len(names)} in {len(of):,} examples" + (f", always {names[0]!r}" if len(names) else ""),
            do="check which column holds the labels (--label)",
        )
    second = sorted(np.bincount(of, minlength=len(names)).tolist())[-2]
    if second < folds:
        raise DataError(
            f"{folds} folds need at least {folds} examples of two labels",
            got=f"{second} of the second most frequent label",
            do="give more rows, or fewer --folds",
        )
    if groups is not None and (count := len(np.unique(groups))) < folds:
        raise DataError(
            f"{folds} folds need at least {folds} sentences: words of one are never in two folds",
            got=f"{count}",
            do="give more sentences, or fewer --folds",
        )


def _cuts(of: Integers, groups: Integers, folds: int, seed: int) -> list[tuple[Integers, Integers]]:
    """What each fold learns from, and what it is measured on: labels alike in all folds, as far as groups allow."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    alone = len(np.unique(groups)) == len(groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label rarer than the folds is in some of them alone
        kind = StratifiedKFold if alone else StratifiedGroupKFold
        cuts = kind(folds, shuffle=True, random_state=seed).split(np.zeros(len(of)), of, groups)
        return [cut for cut in cuts if len(cut[1])]  # a large group may leave a fold without any


def fitted(train: Reals, of: Integers) -> tuple[Any, Reals, Reals]:
    """scikit-learn's logistic regression on vectors [E, F] that were brought to mean 0 and spread 1, of the strength of
    regularization that does best on a fifth of them; and this mean and spread, [F].
    """
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread < 1e-8] = 1.0
    train = (train - mean) / spread
    generator = np.random.default_rng(0)
    aside = generator.random(len(train)) < _ASIDE
    chosen = STRENGTHS[len(STRENGTHS) // 2]
    if aside.sum() > 0 and len(np.unique(of[~aside])) > 1:
        right = [
            float((_fit(train[~aside], of[~aside], c).predict(train[aside]) == of[aside]).mean()) for c in STRENGTHS
        ]
        chosen = STRENGTHS[int(np.argmax(right))]
    return _fit(train, of, chosen), mean, spread


def _learned(train: Reals, of: Integers, test: Reals) -> Integers:
    """The labels that a logistic regression gives to the vectors [E, F] of a fold; where this has one label alone to
    learn from, as all examples of another may be in one group, that one.
    """
    if len(np.unique(of)) < 2:
        return np.full(len(test), of[0])
    regression, mean, spread = fitted(train, of)
    found: Integers = regression.predict((test - mean) / spread)
    return found


def _fit(train: Reals, of: Integers, strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that ends at its last step is good enough to compare with
        return LogisticRegression(C=strength, max_iter=_ITERATIONS).fit(train, of)


def _mix_of(layers: Reals, of: Integers) -> Mix:
    import torch

    return learn_mix(torch.from_numpy(np.ascontiguousarray(layers, np.float32)), torch.from_numpy(of))


def _mixed(layers: Reals, of: Integers, train: Integers, test: Integers) -> Integers:
    """The same for a mix that is learned from what the fold learns from."""
    known, own = np.unique(of[train], return_inverse=True)
    mix = _mix_of(layers[train], own)
    weights = np.array(mix.weights, np.float32) * mix.scale  # [K]
    vectors = np.einsum("k,ekw->ew", weights, layers)  # [E, W]
    found: Integers = known[_learned(vectors[train], own, vectors[test])]
    return found


def _frequent(of: Integers, train: Integers, test: Integers) -> Integers:
    return np.full(len(test), np.bincount(of[train]).argmax())


def _tfidf(texts: Sequence[str], of: Integers, train: Integers, test: Integers) -> Integers:
    """The package's TF-IDF baseline: words and pairs of words, and a logistic regression."""
    from glassformer.tasks.baselines import Lesson, TfIdf

    model = TfIdf([Lesson(texts[number], None, int(of[number])) for number in train], int(of.max()) + 1)
    return np.array([int(np.argmax(each)) for each in model.guess([Lesson(texts[n], None, 0) for n in test])])


def _measure(
    found: Iterator[Integers],
    cuts: Sequence[tuple[Integers, Integers]],
    of: Integers,
    groups: Integers,
    count: int,
    advance: Advance,
) -> Measure:
    """What was counted for each group, over all folds and repeats."""
    counted = count if count <= MOST_LABELS else 0
    sums = np.zeros((int(groups.max()) + 1, 2 + 3 * counted))  # [G, 2 + 3·L]

    def count_at(columns: Integers | int, rows: Integers, values: npt.NDArray[Any]) -> None:
        flat = rows * sums.shape[1] + columns
        sums.reshape(-1)[:] += np.bincount(flat, values, sums.size)

    for (_, test), guessed in zip(cuts, found, strict=True):
        right = guessed == of[test]
        count_at(0, groups[test], right)
        count_at(1, groups[test], np.ones(len(test)))
        if counted:
            count_at(2 + 3 * guessed, groups[test], right)
            count_at(3 + 3 * guessed, groups[test], np.ones(len(test)))
            count_at(4 + 3 * of[test], groups[test], np.ones(len(test)))
        advance(1)

    def scores(sums: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
        values = {"accuracy": sums[..., 0] / sums[..., 1]}
        if counted:
            right, told, there = (sums[..., 2 + k :: 3] for k in range(3))  # [..., L] each
            occurs = told + there
            with np.errstate(invalid="ignore"):
                each = np.where(occurs > 0, 2 * right / np.maximum(occurs, 1), np.nan)
            values["macro F1"] = np.nanmean(each, axis=-1)
        return values

    return Measure(sums, scores)
