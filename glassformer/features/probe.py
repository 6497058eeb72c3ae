"""A logistic regression on the vectors of an unchanged model: learned, saved, and applied.

E texts · F numbers of a vector · L labels · K rows of weights: L, or 1 for two labels
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import CheckpointError
from glassformer.base.json_text import read_json
from glassformer.base.paths import check_path
from glassformer.features.pooling import Reals
from glassformer.features.strategies import Mix
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
        return fit(train[kept], of[kept], strength).predict(train[tried])

    groups = np.arange(len(of)) if groups is None else groups
    return fit(train, of, chosen_strength(STRENGTHS, of, groups, score, guess)), mean, spread


def fit(train: Reals, of: Integers, strength: float) -> Any:
    """scikit-learn's LogisticRegression of this strength."""
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that ends at its last step is good enough to compare with
        return LogisticRegression(C=strength, max_iter=_ITERATIONS).fit(train, of)


_MADE_FOR = "glassformer probe, format 1"


@dataclass(frozen=True)
class Probe:
    """The weights of a logistic regression, and which vectors it reads.

    `weights` [K, F] and `bias` [K], float64: for two labels one row, whose score is that of the second label; else a
    row for each label. They are for the vectors as the model gives them: the standardization of the fit is folded into
    them. `model` is the fingerprint of the model's weights, "" where that is not known. `learned` describes what it was
    learned on and its score.
    """

    strategy: str
    pooling: str
    labels: tuple[str, ...]
    weights: Reals
    bias: Reals
    model: str = ""
    mix: Mix | None = None
    learned: Mapping[str, Any] = field(default_factory=dict)

    def probabilities(self, vectors: Reals) -> Reals:
        """Of each label for vectors [E, F], [E, L]."""
        scores = vectors.astype(np.float64) @ self.weights.T + self.bias  # [E, K]
        if len(self.labels) == 2:
            scores = np.concatenate([np.zeros_like(scores), scores], axis=1)  # [E, 2]
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def learn_probe(
    vectors: Reals,
    labels: Sequence[str],
    *,
    strategy: str,
    pooling: str,
    model: str = "",
    mix: Mix | None = None,
    learned: Mapping[str, Any] | None = None,
    groups: Integers | None = None,
    score: str = ACCURACY,
) -> Probe:
    """A logistic regression on vectors [E, F], fitted as `embed compare` fits each fold: `groups` [E] and `score` as of
    `rank`, the others as of `Probe`.
    """
    names = tuple(sorted(set(labels)))
    of = np.array([names.index(label) for label in labels])
    regression, mean, spread = fitted(vectors, of, groups, score)
    weights = np.asarray(regression.coef_, np.float64) / spread  # [K, F]
    bias = np.asarray(regression.intercept_, np.float64) - weights @ mean.astype(np.float64)  # [K]
    return Probe(strategy, pooling, names, weights, bias, model, mix, learned or {})


def write_probe(path: Path, probe: Probe) -> None:
    """Write a probe, whole or not at all; raises OSError."""
    values = asdict(probe) | {"weights": probe.weights.tolist(), "bias": probe.bias.tolist()}
    with atomic_write(path) as draft:
        draft.write_text(json.dumps({"made_for": _MADE_FOR} | values) + "\n", encoding="utf-8")


def read_probe(path: str | Path) -> Probe:
    """A probe that `write_probe` wrote; raises CheckpointError for anything else."""
    check_path(path, CheckpointError)
    try:
        values = read_json(Path(path))
        if not isinstance(values, dict) or values.pop("made_for", None) != _MADE_FOR:
            raise ValueError("another file")
        mix = values["mix"]
        values["mix"] = None if mix is None else Mix(tuple(mix["weights"]), mix["scale"], tuple(mix["shares"]))
        values["labels"] = tuple(str(label) for label in values["labels"])
        for name in ("weights", "bias"):
            values[name] = np.asarray(values[name], np.float64)
        found = Probe(**values)
        rows = 1 if len(found.labels) == 2 else len(found.labels)
        if found.weights.ndim != 2 or len(found.weights) != rows or found.bias.shape != (rows,):
            raise ValueError(f"{len(found.labels)} labels and weights {list(found.weights.shape)}")
        if not np.isfinite(found.weights).all() or not np.isfinite(found.bias).all():
            raise ValueError("weights that are not finite")
        return found
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"a logistic regression on features is needed at {path}",
            got=error.strerror or str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}",
            do="embed compare MODEL FILE --probe-out FILE writes one",
        ) from None
