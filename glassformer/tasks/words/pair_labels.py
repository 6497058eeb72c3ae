"""The two labels of pairs that are cut from running text: how frequent they are, and what always guessing one scores.

P pairs
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassformer.base.errors import ConfigError
from glassformer.data.settings import CorpusSection, DataSection
from glassformer.scoring.measure import Measure, losses_and_shares

# From this share of one label on, a model that always answers it seems good: the user is told.
_ONE_SIDED = 0.6


class LabelCounts:
    """How many training pairs have each label."""

    def __init__(self, counts: Sequence[int]) -> None:
        self.counts = tuple(counts)
        total = sum(counts) + len(counts)
        self.prior = tuple((count + 1) / total for count in counts)

    @classmethod
    def of(cls, labels: Any, saved: Sequence[int] | None = None) -> LabelCounts:
        return cls(saved or np.bincount(labels, minlength=2).tolist())

    @property
    def entropy(self) -> float:
        """The loss of knowing only how frequent each label is, in nats."""
        return -math.fsum(share * math.log(share) for share in self.prior)

    @property
    def most_frequent(self) -> int:
        return self.prior.index(max(self.prior))

    def guess(self, labels: Any) -> Measure:
        """Loss and accuracy on labels [P] of always choosing the most frequent one."""
        asked = np.asarray(labels)
        return losses_and_shares(-np.log(np.array(self.prior))[asked], asked == self.most_frequent)

    def notes(self, names: Sequence[str], length: int) -> list[str]:
        """What a user should know of them before training; one more sentence where one label is far more frequent."""
        total = sum(self.counts)
        share = self.counts[1] / total
        notes = [f"{total:,} pairs to learn from, {share:.0%} of them {names[1]}"]
        if share > _ONE_SIDED:
            notes.append(
                f"rows of {length} tokens often hold one sentence only, whose next one then is a random one: always "
                f"answering {names[1]} is right in {share:.0%}; raise data.length, or train sentence-order with "
                "task.negatives = swapped"
            )
        return notes


def check_rows_of_pairs(data: DataSection) -> None:
    assert isinstance(data, CorpusSection)
    if not data.pack or data.document_mask is not None:
        raise ConfigError(
            "the rows of this task are pairs of texts, one in a row",
            got="data.pack" if not data.pack else "data.document_mask",
            do="leave it out",
        )
