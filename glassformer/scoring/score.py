"""Scores with their confidence intervals, beside those of baselines that a model has to beat.

N targets · V vocabulary, or labels
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from glassformer.data.batches.batch import Flags, Integers
from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.inputs import Batch
from glassformer.scoring.cross_entropy import widened
from glassformer.scoring.measure import Measure, Reals

Ids = npt.NDArray[np.integer[Any]]

THIS_MODEL = "this model"
# Tokens counted at a time, so that a memory-mapped text is never in memory as a whole.
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Scores:
    """What was measured: for the model and each baseline the same named numbers, on `count` things of a kind.

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

    def beside(self, name: str, other: Scores) -> Scores:
        """These scores beside those of a baseline, whose own are those of `other`."""
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


@dataclass
class Tally:
    """Losses and right answers, added up batch by batch."""

    losses: list[float] = field(default_factory=list)
    right: int = 0
    targets: int = 0

    def add(self, losses: Tensor, right: Tensor) -> None:
        self.losses.append(float(losses.cpu().double().sum()))  # not every device has float64
        self.right += int(right.sum())
        self.targets += right.numel()

    def scores(self) -> dict[str, float]:
        """`loss` per target in nats, `perplexity` = exp(loss), `accuracy`; NaN where nothing was added."""
        if not self.targets:
            return {"loss": math.nan, "perplexity": math.nan, "accuracy": math.nan}
        loss = math.fsum(self.losses) / self.targets
        return {"loss": loss, "perplexity": perplexity(loss), "accuracy": self.right / self.targets}


def compared(logits: Tensor | None, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The cross-entropy of each label that is not IGNORED, and whether its logit is the largest: [N, V] -> [n], [n]."""
    assert logits is not None
    asked = labels != IGNORED
    log_probabilities = widened(logits[asked]).log_softmax(dim=-1)  # [n, V]
    labels = labels[asked]
    return -log_probabilities.gather(1, labels[:, None])[:, 0], log_probabilities.argmax(dim=-1) == labels


class Baseline(Protocol):
    """A guess that needs no network, measured at the same tokens as the model."""

    name: str

    def guess(self, ids: Integers, places: Integers, labels: Integers) -> tuple[Reals, Flags]:
        """Loss of each label [N] and whether it was guessed [N], from what the model sees: `ids` [B, S]."""
        ...


def guessed(baseline: Baseline, batch: Batch, labels: Tensor) -> tuple[Tensor, Tensor]:
    """What `compared` gives, for a baseline: the labels [N] of the scored tokens of a batch."""
    ids, scored_at = batch.inputs.ids, batch.scored_at
    assert ids is not None
    assert scored_at is not None
    asked = labels.numpy() != IGNORED
    losses, right = baseline.guess(ids.numpy(), scored_at.flatten().numpy()[asked], labels.numpy()[asked])
    return torch.from_numpy(losses), torch.from_numpy(right)


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
        probability: Reals = (seen + 1) / (self.counts.sum() + len(self.counts) + 1)
        return probability

    def guess(self, ids: Integers, places: Integers, labels: Integers) -> tuple[Reals, Flags]:
        return -np.log(self.probability(labels)), labels == self.counts.argmax()
