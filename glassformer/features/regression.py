"""scikit-learn's logistic regression on vectors; the strength of its regularization is chosen on a part of the training
data.

E examples · F numbers of a vector
"""

import warnings
from typing import Any

import numpy as np

from glassformer.features.pooling import Reals
from glassformer.scoring.baselines import ACCURACY, chosen_strength
from glassformer.scoring.score import Integers

# Strengths of the regularization (scikit-learn's C, of which a small one regularizes more) among which is chosen, for
# vectors whose numbers have a spread of 1.
STRENGTHS = (0.003, 0.03, 0.3)
_ITERATIONS = 500


def fitted(
    train: Reals, of: Integers, groups: Integers | None = None, score: str = ACCURACY
) -> tuple[Any, Reals, Reals]:
    """A logistic regression on vectors [E, F] standardized to mean 0 and spread 1, of the strength that
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
