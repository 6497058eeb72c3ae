"""scikit-learn's logistic regression on vectors; its strength of regularization is chosen on a part of what it learns
from.

E examples · F numbers of a vector
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassformer.features.pooling import Reals
from glassformer.scoring.score import Integers

# Strengths of the regularization (scikit-learn's C, of which a small one regularizes more) among which is chosen: for
# vectors whose numbers have a spread of 1, and so the length √F, and for those of TF-IDF, of length 1, which need about
# F times as much for the same.
STRENGTHS = (0.003, 0.03, 0.3)
STRENGTHS_OF_WORDS = (1.0, 10.0, 100.0)
ACCURACY, MACRO_F1 = "accuracy", "macro F1"
_ASIDE, _ITERATIONS = 0.2, 500


def chosen_strength(
    strengths: Sequence[float],
    of: Integers,
    groups: Integers,
    score: str,
    guess: Callable[[Integers, Integers, float], Integers],
) -> float:
    """The strength that does best, by the score that ranks, on a fifth of the groups when the others are learned from;
    of equally good ones the smallest, which regularizes the most. The middle one where the others have one label alone.

    `of` [E] are the labels; `guess` is given the numbers of the examples that are learned from, those that are guessed,
    and a strength, and gives the labels of the second.
    """
    from sklearn.metrics import accuracy_score, f1_score

    _, group = np.unique(groups, return_inverse=True)  # [E]
    aside = np.random.default_rng(0).random(int(group.max()) + 1)[group] < _ASIDE  # [E]
    if not aside.any() or len(np.unique(of[~aside])) < 2:
        return strengths[len(strengths) // 2]
    kept, tried = np.flatnonzero(~aside), np.flatnonzero(aside)
    found = []
    for strength in sorted(strengths):
        guessed = guess(kept, tried, strength)
        found.append(
            accuracy_score(of[tried], guessed)
            if score == ACCURACY
            else f1_score(of[tried], guessed, average="macro", zero_division=0)
        )
    return sorted(strengths)[int(np.argmax(found))]


def fitted(
    train: Reals, of: Integers, groups: Integers | None = None, score: str = ACCURACY
) -> tuple[Any, Reals, Reals]:
    """A logistic regression on vectors [E, F] that were brought to mean 0 and spread 1, of the strength that
    `chosen_strength` finds; and this mean and spread, [F]. Examples of one group, [E], are set aside together.
    """
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread < 1e-8] = 1.0
    train = (train - mean) / spread

    def guess(kept: Integers, tried: Integers, strength: float) -> Integers:
        found: Integers = fit(train[kept], of[kept], strength).predict(train[tried])
        return found

    groups = np.arange(len(of)) if groups is None else groups
    return fit(train, of, chosen_strength(STRENGTHS, of, groups, score, guess)), mean, spread


def fit(train: Reals, of: Integers, strength: float) -> Any:
    """scikit-learn's LogisticRegression of this strength."""
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that ends at its last step is good enough to compare with
        return LogisticRegression(C=strength, max_iter=_ITERATIONS).fit(train, of)
