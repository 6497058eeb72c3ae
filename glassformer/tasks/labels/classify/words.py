"""Scores that tokens and pairs of neighbours add to each label, fitted when the encoder has been trained.

R rows of tokens · F tokens and rows of pairs · L labels · W windows of a text
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from glassformer.models.transformer import Transformer
from glassformer.models.words import neighbours, shares
from glassformer.scoring.calibration import fitted_temperature, log_prior
from glassformer.scoring.score import Reals
from glassformer.tasks.labels.classify.labelling import OneLabel, SeveralLabels
from glassformer.tasks.labels.labels import Labelled, TextPairTask
from glassformer.tasks.rows import Row

# Rows of pairs, halved until all have so many scores together; with fewer rows too many pairs share one.
_PAIRS, _FEWEST, _SCORES = 1 << 16, 1 << 10, 1 << 20
# Training rows, steps of the fit, and scikit-learn's C for features of length 1 times their rareness.
_ROWS, _STEPS, _STRENGTH = 20_000, 100, 0.3
# Weights that are tried, by how much the held-out loss must fall, and the fewest held-out texts to measure it on.
_WEIGHTS, _GAIN, _FEW = (0.25, 0.5, 0.75, 1.0, 1.5), 0.01, 100


def with_words(
    task: TextPairTask[Labelled, Any],
    labelling: OneLabel | SeveralLabels,
    model: Transformer,
    train: Sequence[Labelled],
    held_out: Sequence[Labelled],
    logits: Sequence[Reals],
    temperature: float,
    log: Callable[[str], None],
) -> Transformer:
    """The model with scores of words, fitted on the training texts, at the weight of the least loss of the held-out
    texts; as it is where this is not lower by a hundredth. `logits` [W, L] are its own of each held-out text, and
    `temperature`, fitted on them, is what they are divided by in the sum.

    A text's features are its tokens and pairs of neighbours, divided by √(2n) and times log((1 + R) / (1 + rows with
    it)) + 1; the model is a logistic regression.
    """
    several = isinstance(labelling, SeveralLabels)
    vocabulary, pairs = model.config.output_stack.embed.vocabulary, _PAIRS
    while pairs * task.outputs > _SCORES:
        pairs //= 2
    if pairs < _FEWEST or vocabulary * task.outputs > 4 * _SCORES or len(held_out) < _FEW:
        return model
    rows: list[tuple[Row, tuple[int, ...]]] = []
    for number in np.random.default_rng(0).permutation(len(train)).tolist():
        if len(rows) < _ROWS and (numbers := train[number].numbers) is not None:
            rows += [(row, numbers) for row in task.rows(train[number])]
    if not rows:
        return model
    features = _features([row for row, _ in rows], vocabulary, pairs)  # [R, F]
    rareness = np.log((1 + len(rows)) / (1 + np.bincount(features.indices, minlength=features.shape[1]))) + 1  # [F]
    weight, bias = _fitted(task.outputs, features.multiply(rareness).tocsr(), rows, several=several)  # [L, F], [L]
    weight = weight * rareness
    words = [
        (_features(list(task.rows(each)), vocabulary, pairs) @ weight.T + bias, each.numbers or ()) for each in held_out
    ]  # [W, L] each

    def loss(share: float) -> float:
        """The mean, at the temperature that is best for the sum."""
        both = [(own / temperature + share * its, right) for own, (its, right) in zip(logits, words, strict=True)]

        def at(heat: float) -> float:
            each = (labelling.log_loss(labelling.logarithms(each, heat), right) for each, right in both)
            return log_prior(heat) + sum(each)

        return at(fitted_temperature(at)) / len(both)

    losses = {share: loss(share) for share in (0.0, *_WEIGHTS)}
    best = min(losses, key=lambda share: losses[share])
    if not losses[best] < (1 - _GAIN) * losses[0.0]:
        return model
    log(
        f"scores of tokens and their neighbours are added, with weight {best:g}: the held-out loss, calibrated, falls "
        f"from {losses[0.0]:.4f} to {losses[best]:.4f}"
    )
    return _with_tables(model, pairs, best * weight, best * bias, temperature)


def _features(rows: Sequence[Row], vocabulary: int, pairs: int) -> Any:
    """How often each token and pair occurs, times the share of one: [R, F], sparse."""
    from scipy.sparse import csr_matrix

    columns, values = list[Any](), list[Any]()
    for row in rows:
        ids = torch.tensor(row.ids, dtype=torch.int64)[None]  # [1, S]
        columns.append(torch.cat([ids, vocabulary + neighbours(ids, None, pairs)], dim=1)[0].numpy())  # [2·S]
        values.append(shares(ids, None)[0].repeat(2).numpy())  # [2·S]
    ends = np.cumsum([0, *map(len, columns)])
    shape = (len(rows), vocabulary + pairs)
    found = csr_matrix((np.concatenate(values), np.concatenate(columns), ends), shape=shape)
    found.sum_duplicates()
    return found


def _fitted(
    labels: int, features: Any, rows: Sequence[tuple[Row, tuple[int, ...]]], *, several: bool
) -> tuple[Reals, Reals]:
    """Weights [L, F] and biases [L] of a regression for one label, or of one for each of several. A label that no row
    has gets the least bias and no weights; of several one that no row has, or all, that of its smoothed frequency.
    """
    from sklearn.linear_model import LogisticRegression

    of_rows = np.array([row.weight for row, _ in rows])
    weight, bias = np.zeros((labels, features.shape[1])), np.full(labels, np.nan)

    def regression(right: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that ends at its last step is good enough
            return LogisticRegression(C=_STRENGTH, max_iter=_STEPS, tol=1e-3).fit(features, right, of_rows)

    if several:
        has = np.zeros((len(rows), labels), bool)  # [R, L]
        for row, (_, numbers) in zip(has, rows, strict=True):
            row[list(numbers)] = True
        counts = has.sum(axis=0)  # [L]
        bias = np.log((counts + 0.5) / (len(rows) - counts + 0.5))
        for label in np.flatnonzero(has.any(axis=0) & ~has.all(axis=0)):
            found = regression(has[:, label])
            weight[label], bias[label] = found.coef_[0], found.intercept_[0]
    elif len(seen := np.unique(right := np.array([numbers[0] for _, numbers in rows]))) > 1:
        found = regression(right)
        halves = len(seen) == 2  # of two labels there is one score: half of it for each
        weight[seen] = np.concatenate([-found.coef_, found.coef_]) / 2 if halves else found.coef_
        bias[seen] = np.concatenate([-found.intercept_, found.intercept_]) / 2 if halves else found.intercept_
    return weight, np.nan_to_num(bias, nan=float(np.nanmin(bias)) if np.isfinite(bias).any() else 0.0)


def _with_tables(model: Transformer, pairs: int, weight: Reals, bias: Reals, temperature: float) -> Transformer:
    """The model with these scores [L, F] of tokens and pairs, and its own divided by the temperature."""
    assert model.config.sentence_head is not None
    head = model.config.sentence_head.model_copy(update={"words": pairs})
    found = Transformer(model.config.model_copy(update={"sentence_head": head})).to(next(model.parameters()).dtype)
    found.load_state_dict(model.state_dict(), strict=False)
    assert found.sentence_head is not None
    assert found.sentence_head.words is not None
    assert found.sentence_head.output is not None
    tables, rows = found.sentence_head.words, model.config.output_stack.embed.vocabulary
    with torch.no_grad():
        tables.token.weight.copy_(torch.from_numpy(weight[:, :rows].T))
        tables.neighbours.weight.copy_(torch.from_numpy(weight[:, rows:].T))
        tables.bias.copy_(torch.from_numpy(bias))
        for own in found.sentence_head.output.parameters():
            own.div_(temperature)
    return found.to(next(model.parameters()).device).eval()
