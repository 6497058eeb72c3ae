"""Scores, and the simple guesses a score has to beat.

N asked places · V vocabulary · B rows · S pieces
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from glassformer.data.batch import Flags, Integers

Reals = npt.NDArray[np.float64]
Pieces = npt.NDArray[np.integer[Any]]

# Pieces counted at a time, so that a memory-mapped text is never in memory as a whole.
_STRETCH = 1 << 22


@dataclass
class Tally:
    """Losses and right answers, added up batch by batch."""

    losses: list[float] = field(default_factory=list)
    right: int = 0
    targets: int = 0

    def add(self, losses: Tensor, right: Tensor) -> None:
        """Losses [N] and whether each guess was right [N]."""
        self.losses.append(float(losses.cpu().double().sum()))  # not every device has float64
        self.right += int(right.sum())
        self.targets += right.numel()

    def scores(self) -> dict[str, float]:
        """`loss` per target in nats, `perplexity` = exp(loss), `accuracy`, `targets`."""
        if not self.targets:
            return {"loss": math.nan, "perplexity": math.nan, "accuracy": math.nan, "targets": 0}
        loss = math.fsum(self.losses) / self.targets
        return {
            "loss": loss,
            "perplexity": math.exp(min(loss, 700.0)),
            "accuracy": self.right / self.targets,
            "targets": self.targets,
        }


class Baseline(Protocol):
    """A guess that needs no network, measured at the same places as the model."""

    name: str

    def guess(self, ids: Integers, places: Integers, labels: Integers) -> tuple[Reals, Flags]:
        """Loss of each label [N] and whether it was guessed [N], from what the model sees: `ids` [B, S]."""
        ...


class Unigram:
    """Looks at nothing: each piece is as likely as it is frequent in the training text, plus one."""

    name = "unigram"

    def __init__(self, counts: Integers) -> None:
        self.counts = counts  # [V]

    @classmethod
    def count(cls, ids: Pieces, vocabulary: int = 0) -> Unigram:
        """Count the pieces of a text; `vocabulary` makes room for pieces that do not occur."""
        counts = np.zeros(max(vocabulary, 1), np.int64)
        for start in range(0, len(ids), _STRETCH):
            more = np.bincount(np.asarray(ids[start : start + _STRETCH], np.int64), minlength=len(counts))
            more[: len(counts)] += counts
            counts = more
        return cls(counts)

    def without(self, ids: Collection[int]) -> Unigram:
        """The same for somebody who knows that these pieces are never asked."""
        counts = self.counts.copy()
        counts[[id_ for id_ in ids if id_ < len(counts)]] = 0
        return Unigram(counts)

    @property
    def entropy(self) -> float:
        """Of the text that was counted, in nats for each piece."""
        shares = self.counts[self.counts > 0] / self.counts.sum()
        return float(-(shares * np.log(shares)).sum())

    def chance(self, labels: Integers) -> Reals:
        """How likely each label is, [N]; a piece that was never seen counts as one."""
        seen = np.where(labels < len(self.counts), self.counts[np.minimum(labels, len(self.counts) - 1)], 0)
        chance: Reals = (seen + 1) / (self.counts.sum() + len(self.counts) + 1)
        return chance

    def guess(self, ids: Integers, places: Integers, labels: Integers) -> tuple[Reals, Flags]:
        """Losses and right answers of always guessing the most frequent piece."""
        return -np.log(self.chance(labels)), labels == self.counts.argmax()
