"""Which kind of vector predicts a user's labels best: each strategy and pooling under a logistic regression, by
cross-validation.

E examples: texts, or words · G groups: texts, or sentences of words · K layers · F numbers of a vector · L labels
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import DataError
from glassformer.features.pooling import Reals
from glassformer.features.probe import fitted
from glassformer.features.strategies import Mix, learn_mix
from glassformer.scoring.agreement import macro_f1
from glassformer.scoring.baselines import ACCURACY, MACRO_F1, STRENGTHS_OF_WORDS, chosen_strength
from glassformer.scoring.score import Integers, Interval, Measure

# Above so many labels the F1 of each is not counted.
MOST_LABELS = 100

Advance = Callable[[int], None]
# What a fold learns from, and what it is measured on: numbers of examples.
Cut = tuple[Integers, Integers]


@dataclass(frozen=True)
class Ranked:
    """One kind of vector: its scores with 95 % intervals (bootstrap over texts, on the held-out part of each fold), and
    the difference to the best one, None for the best itself.
    """

    name: str
    scores: Mapping[str, Interval]
    from_best: Interval | None


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
        """The best, and those that do not clearly differ from it: whose interval of the difference includes 0."""
        return tuple(each.name for each in self.vectors if each.from_best is None or each.from_best.high >= 0)


def rank(
    vectors: Mapping[str, Reals],
    layers: Mapping[str, Reals],
    texts: Sequence[str] | None,
    labels: Sequence[str],
    groups: Integers | None = None,
    *,
    folds: int = 5,
    repeats: int = 1,
    score: str = ACCURACY,
    seed: int = 0,
    advance: Advance = lambda done: None,
) -> Ranking:
    """Rank vectors [E, F] by name, and by pooling mixes of `layers` [E, K, W], which each fold learns again.

    `texts` are those that a TF-IDF baseline reads, None where there is none. Examples of one group, [E] from 0, are
    never in two folds; without groups each example is its own. Each fold standardizes the numbers and chooses the
    strength of the regularization by the same score from what it learns from. Above MOST_LABELS labels the score is the
    accuracy. Raises DataError for labels that cannot be learned.
    """
    names = tuple(sorted(set(labels)))
    of = np.array([names.index(label) for label in labels])  # [E]
    groups = np.arange(len(of)) if groups is None else groups
    check_labels(names, of, folds, groups, words=texts is None)
    score = score if len(names) <= MOST_LABELS else ACCURACY
    cuts = [cut for repeat in range(repeats) for cut in _cuts(of, groups, folds, seed + repeat)]
    measured: dict[str, Measure] = {}
    for name, each in vectors.items():
        found = (_learned(each, of, groups, cut, score) for cut in cuts)
        measured[name] = _measure(found, cuts, of, groups, len(names), advance)
    mixes: dict[str, Mix] = {}
    for pooling, each in layers.items():
        found = (_mixed(each, of, groups, cut, score) for cut in cuts)
        measured[f"mix.{pooling}"] = _measure(found, cuts, of, groups, len(names), advance)
        mixes[pooling] = _mix_of(each, of)
    frequent = (np.full(len(test), np.bincount(of[train]).argmax()) for train, test in cuts)
    others = {"most frequent": _measure(frequent, cuts, of, groups, len(names), advance)}
    if texts is not None:
        found = (_tfidf(texts, of, groups, cut, score) for cut in cuts)
        others["TF-IDF"] = _measure(found, cuts, of, groups, len(names), advance)
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
        tuple(Ranked(name, each.intervals(), each.compared(best)[score]) for name, each in others.items()),
        mixes,
    )


def check_labels(
    names: Sequence[str], of: Integers, folds: int, groups: Integers | None = None, *, words: bool = False
) -> None:
    """Raise DataError unless there are two labels that repeat, and enough examples and groups for the folds. Groups are
    equal texts, or with `words` sentences.
    """
    if len(names) < 2:
        raise DataError(
            "to compare features there must be at least two labels",
            got=f"{len(names)} in {len(of):,} examples" + (f", always {names[0]!r}" if len(names) else ""),
            do="check which column holds the labels (--label-column)",
        )
    counts = np.bincount(of, minlength=len(names))  # [L]
    if (alone := int((counts == 1).sum())) * 2 > len(of):
        shown = ", ".join(repr(names[place])[:40] for place in np.flatnonzero(counts == 1)[:3])
        raise DataError(
            "labels must repeat, so that each is learned from some examples and predicted for others",
            got=f"{len(names):,} labels in {len(of):,} examples, {alone:,} of them once: {shown} …",
            do="check which column holds the labels (--label-column): this one may hold numbers or names of rows",
        )
    second = sorted(counts.tolist())[-2]
    if second < folds:
        raise DataError(
            f"{folds} folds need at least {folds} examples of two labels",
            got=f"{second} of the second most frequent label",
            do="give more rows, or fewer --folds",
        )
    if groups is not None and (count := len(np.unique(groups))) < folds:
        what = "sentences: words of one" if words else "different texts: copies of one"
        raise DataError(
            f"{folds} folds need at least {folds} {what} are never in two folds",
            got=f"{count}",
            do=f"give more {what.partition(':')[0]}, or fewer --folds",
        )


def _cuts(of: Integers, groups: Integers, folds: int, seed: int) -> list[Cut]:
    """What each fold learns from, and what it is measured on: labels alike in all folds, as far as groups allow."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    alone = len(np.unique(groups)) == len(groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label rarer than the folds is in some of them alone
        kind = StratifiedKFold if alone else StratifiedGroupKFold
        cuts = kind(folds, shuffle=True, random_state=seed).split(np.zeros(len(of)), of, groups)
        return [cut for cut in cuts if len(cut[1])]  # a large group may leave a fold without any


def _learned(vectors: Reals, of: Integers, groups: Integers, cut: Cut, score: str) -> Integers:
    """The labels that a logistic regression gives to the vectors [E, F] of a fold; where this has one label alone to
    learn from, as all examples of another may be in one group, that one.
    """
    train, test = cut
    if len(np.unique(of[train])) < 2:
        return np.full(len(test), of[train][0])
    regression, mean, spread = fitted(vectors[train], of[train], groups[train], score)
    return regression.predict((vectors[test] - mean) / spread)


def _mix_of(layers: Reals, of: Integers) -> Mix:
    import torch

    return learn_mix(torch.from_numpy(np.ascontiguousarray(layers, np.float32)), torch.from_numpy(of))


def _mixed(layers: Reals, of: Integers, groups: Integers, cut: Cut, score: str) -> Integers:
    """The same for a mix that is learned from what the fold learns from."""
    train, _ = cut
    _, own = np.unique(of[train], return_inverse=True)
    return _learned(_mix_of(layers[train], own).of_pooled(layers), of, groups, cut, score)


def _tfidf(texts: Sequence[str], of: Integers, groups: Integers, cut: Cut, score: str) -> Integers:
    """The package's TF-IDF baseline: words and pairs of words, and a logistic regression whose strength is chosen as
    that of vectors is.
    """
    from glassformer.scoring.baselines import Lesson, TfIdf

    train, test = cut
    lessons = [Lesson(text, None, int(label)) for text, label in zip(texts, of, strict=True)]

    def guess(kept: Integers, tried: Integers, strength: float) -> Integers:
        model = TfIdf([lessons[number] for number in kept], int(of.max()) + 1, strength=strength)
        return np.array([int(np.argmax(each)) for each in model.guess([lessons[number] for number in tried])])

    chosen = chosen_strength(
        STRENGTHS_OF_WORDS, of[train], groups[train], score, lambda kept, tried, c: guess(train[kept], train[tried], c)
    )
    return guess(train, test, chosen)


def _measure(
    found: Iterator[Integers], cuts: Sequence[Cut], of: Integers, groups: Integers, count: int, advance: Advance
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
        values = {ACCURACY: sums[..., 0] / sums[..., 1]}
        if counted:
            right, predicted, there = (sums[..., 2 + k :: 3] for k in range(3))  # [..., L] each
            values[MACRO_F1] = macro_f1(right, predicted + there)
        return values

    return Measure(sums, scores)
