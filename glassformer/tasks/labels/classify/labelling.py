"""How labels are learned and answered: one of L for each text, or any number of them.

B rows · W windows of a text · L labels · M most labels of a text
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np

from glassformer.data.batches.corrupt import IGNORED
from glassformer.scoring import agreement
from glassformer.scoring.calibration import Reliability, log_mean, log_sigmoid, log_softmax
from glassformer.scoring.score import THIS_MODEL, Measure, Reals, Scores
from glassformer.scoring.verdict import Worst, by_label, confusion
from glassformer.tasks.labels.labels import Class, Classes, Labelled

if TYPE_CHECKING:
    from torch import Tensor


class Labelling:
    """Keeps the settings that training does not change; `frequencies`: the label counts of `records` records."""

    def __init__(self, section: Any, frequencies: Mapping[str, int], records: int) -> None:
        self.frequencies, self.records = frequencies, records
        self.labels: tuple[str, ...] = section.labels
        self.class_weights: str | Mapping[str, float] = section.class_weights
        self.threshold: float = section.threshold

    def balanced(self, count: int) -> float:
        """The factor of a label that `count` training records have."""
        raise NotImplementedError

    @cached_property
    def factors(self) -> list[float] | None:
        """What the loss of each label is multiplied by, None where all are equal."""
        chosen = self.class_weights
        if chosen == "none":
            return None
        if isinstance(chosen, str):  # balanced
            return [self.balanced(self.frequencies.get(label, 0)) for label in self.labels]
        weights = {normalize("NFC", label): weight for label, weight in chosen.items()}
        return [weights.get(normalize("NFC", label), 1.0) for label in self.labels]


class OneLabel(Labelling):
    """One label for each text: a softmax, the cross-entropy, the likeliest label. `SeveralLabels` has its methods."""

    def balanced(self, count: int) -> float:
        """The mean number of records of a label, divided by that of this one (King & Zeng 2001)."""
        return sum(self.frequencies.values()) / (len(self.labels) * count) if count else 1.0

    @property
    def baseline_loss(self) -> float:
        """The loss of knowing only how frequent each label is: their entropy, each counted as often as it weighs."""
        factors = dict(zip(self.labels, self.factors or [1.0] * len(self.labels), strict=True))
        counts = [count * factors[label] for label, count in self.frequencies.items() if count]
        total = math.fsum(counts)
        return -math.fsum(count / total * math.log(count / total) for count in counts)

    def row_weight(self, example: Labelled) -> float:
        """The factor of its label: the mean of a step's losses is weighted by the factors."""
        return 1.0 if self.factors is None or example.label is None else self.factors[example.label]

    def loss(self, logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        """The weighted sum of the losses of rows: logits [B, L], numbers of labels [B, M], weights [B]."""
        from glassformer.scoring.cross_entropy import cross_entropy  # not at the top: answers need no torch

        return cross_entropy(logits, labels[:, 0], weights)

    def logarithms(self, logits: Reals, temperature: float) -> Reals:
        """The log-probability of each label, the mean of the probabilities over the windows: [W, L] to [L]."""
        return log_mean(log_softmax(logits / temperature))

    def log_loss(self, logarithms: Reals, numbers: Sequence[int]) -> float:
        return -float(logarithms[numbers[0]])

    def guessed(self, logarithms: Reals) -> tuple[int, ...]:
        return (int(logarithms.argmax()),)

    def answer(self, example: Labelled, logarithms: Reals, windows: int) -> Class:
        return Class(self.labels, tuple(logarithms.tolist()), example.text, example.pair, windows)

    def scores(self, pairs: Iterable[tuple[Labelled, Class]], temperature: float) -> Scores:
        """Scores and report, compared with the labels' frequencies; reads the pairs once."""
        true, losses, guessed = list[int](), list[float](), list[int]()
        reliability, worst, unit = Reliability(), Worst(), "texts"
        for example, found in pairs:
            if example.label is None:
                continue
            logarithms = np.array(found.logarithms)
            (guess,) = self.guessed(logarithms)
            true.append(example.label)
            guessed.append(guess)
            losses.append(self.log_loss(logarithms, [example.label]))
            reliability.add(math.exp(logarithms[guess]), guess == example.label)
            unit = unit if example.pair is None else "pairs"
            if guess != example.label:
                named = {"label": self.labels[example.label], "probability": math.exp(-losses[-1])}
                worst.add(losses[-1], example, {**named, "guessed": self.labels[guess]})
        total = sum(self.frequencies.values()) + len(self.labels)
        prior = [(self.frequencies.get(label, 0) + 1) / total for label in self.labels]
        most_frequent = prior.index(max(prior))
        return _scores(
            {
                THIS_MODEL: agreement.one_label(losses, true, guessed, self.labels),
                "most frequent": agreement.one_label(
                    [-math.log(prior[label]) for label in true], true, [most_frequent] * len(true), self.labels
                ),
            },
            unit,
            {
                "labels": by_label([[one] for one in true], [[one] for one in guessed], self.labels),
                **confusion(true, guessed, self.labels),
                "calibration": reliability.report(temperature),
                **worst.report(),
            },
            len(self.labels),
        )


class SeveralLabels(Labelling):
    """Any number of labels for each text: a sigmoid for each, and the mean of the binary cross-entropies."""

    def balanced(self, count: int) -> float:
        """Records without the label for each record with it, by which having it is multiplied."""
        return (self.records - count) / count if 0 < count < self.records else 1.0

    @property
    def _shares(self) -> Reals:
        """The share of the training records that have each label, with add-one smoothing. [L]"""
        counts = np.array([self.frequencies.get(label, 0) for label in self.labels], np.float64)
        return (counts + 1) / (self.records + 2)

    @property
    def baseline_loss(self) -> float:
        """The least mean loss of a probability that is the same for all texts."""
        without = 1 - self._shares  # [L]
        having = self._shares * (1.0 if self.factors is None else np.array(self.factors))  # [L]
        total = having + without  # [L]
        return float(-(having * np.log(having / total) + without * np.log(without / total)).mean())

    def row_weight(self, example: Labelled) -> float:
        return 1.0

    def loss(self, logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        from glassformer.scoring.cross_entropy import binary_cross_entropy  # not at the top: answers need no torch

        chosen = labels.where(labels != IGNORED, logits.shape[1])  # [B, M]
        having = logits.new_zeros(len(logits), logits.shape[1] + 1).scatter(1, chosen, 1.0)[:, :-1]  # [B, L]
        return binary_cross_entropy(logits, having, weights, self.factors)

    def logarithms(self, logits: Reals, temperature: float) -> Reals:
        return log_mean(log_sigmoid(logits / temperature))

    def log_loss(self, logarithms: Reals, numbers: Sequence[int]) -> float:
        """The mean over the labels of −log of the probability of having it or not."""
        # log(1 − p), for p near 1 too: p is at most the largest float below 1.
        without = np.log1p(-np.minimum(np.exp(logarithms), np.nextafter(1.0, 0.0)))  # [L]
        having = np.zeros(len(logarithms), bool)
        having[list(numbers)] = True
        return -float(np.where(having, logarithms, without).mean())

    def guessed(self, logarithms: Reals) -> tuple[int, ...]:
        return tuple(np.flatnonzero(np.exp(logarithms) >= self.threshold).tolist())

    def answer(self, example: Labelled, logarithms: Reals, windows: int) -> Classes:
        values = tuple(logarithms.tolist())
        return Classes(self.labels, values, example.text, example.pair, windows, self.threshold)

    def scores(self, pairs: Iterable[tuple[Labelled, Classes]], temperature: float) -> Scores:
        true, losses, guessed = list[tuple[int, ...]](), list[float](), list[tuple[int, ...]]()
        theirs = list[float]()
        reliability, worst, unit = Reliability(), Worst(), "texts"
        shares = np.log(self._shares)
        usual = tuple(np.flatnonzero(self._shares > self.threshold).tolist())
        for example, found in pairs:
            if example.several is None:
                continue
            logarithms = np.array(found.logarithms)
            guess = self.guessed(logarithms)
            true.append(example.several)
            guessed.append(guess)
            losses.append(self.log_loss(logarithms, example.several))
            theirs.append(self.log_loss(shares, example.several))
            reliability.add(np.exp(logarithms), np.isin(np.arange(len(self.labels)), example.several))
            unit = unit if example.pair is None else "pairs"
            if set(guess) != set(example.several):
                named = {
                    name: [self.labels[label] for label in numbers]
                    for name, numbers in (("labels", example.several), ("guessed", guess))
                }
                worst.add(losses[-1], example, {**named, "loss": losses[-1]})
        return _scores(
            {
                THIS_MODEL: agreement.several_labels(losses, true, guessed, self.labels),
                "most frequent": agreement.several_labels(theirs, true, [usual] * len(true), self.labels),
            },
            unit,
            {
                "labels": by_label(true, guessed, self.labels),
                "threshold": self.threshold,
                "calibration": reliability.report(temperature),
                **worst.report(),
            },
            len(self.labels),
        )


def _scores(measures: Mapping[str, Measure], unit: str, report: Mapping[str, Any], labels: int) -> Scores:
    count = len(measures[THIS_MODEL])
    return Scores(
        count,
        unit,
        {system: measure.values() for system, measure in measures.items()},
        measures={system: agreement.bounded(measure, labels) for system, measure in measures.items()},
        report=report,
    )
