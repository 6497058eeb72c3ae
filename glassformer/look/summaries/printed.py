"""Scores that the source documents print, divided by the root of a size and shared out by softmax: by the formulas that
check every attention.

Q query words · K key words
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.bundled.texts import Matrix, score_table, thinking_machines
from glassformer.look.formulas.named import Operand, Source
from glassformer.look.formulas.rules.evaluator import Evaluator, Formula, Rule
from glassformer.look.formulas.rules.softmax_and_norms import Softmax
from glassformer.look.formulas.rules.sums import Scale

SQUARE = "query key"


@dataclass(frozen=True)
class Printed:
    """A table of scores, [Q][K], and the table that its document prints as their weights."""

    document: str
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    scores: Matrix
    weights: Matrix

    @property
    def sums(self) -> tuple[float, ...]:
        """What each row of the printed weights adds up to, to nine decimals."""
        return tuple(round(math.fsum(row), 9) for row in self.weights)

    @property
    def wrong(self) -> tuple[int, ...]:
        """The rows whose printed weights are no shares of 1."""
        return tuple(row for row, total in enumerate(self.sums) if total != 1)

    @property
    def reversed(self) -> tuple[int, int, int] | None:
        """A row and two keys where the larger score has the smaller weight, which no size explains; or None."""
        keys = range(len(self.keys))
        found = (
            (row, one, other)
            for row in sorted(range(len(self.scores)), key=lambda row: row not in self.wrong)
            for one, other in itertools.product(keys, keys)
            if self.scores[row][one] > self.scores[row][other] and self.weights[row][one] < self.weights[row][other]
        )
        return next(found, None)


def printed() -> tuple[Printed, ...]:
    """The row of *Thinking Machines*, 112 and 96, and the table of *Hi how are you*."""
    pair, table = thinking_machines(), score_table()
    return (
        Printed("the notes, 26:01", pair.words[:1], pair.words, (pair.scores,), (pair.weights,)),
        Printed("the guide", table.words, table.words, table.scores, table.weights),
    )


def shared_out(scores: Sequence[Sequence[float]], size: int) -> tuple[Tensor, Tensor]:
    """Scores [Q, K] divided by √size, and the softmax of each row, both in float64."""
    given = Source(None, lambda name: torch.zeros(0), {"scores": torch.tensor(scores, dtype=torch.float64)})
    steps: tuple[tuple[str, Rule], ...] = (
        ("scaled", Scale(Operand("scores", SQUARE), 1 / math.sqrt(size))),
        ("weights", Softmax(Operand("scaled", SQUARE), "key")),
    )
    for name, rule in steps:
        given.held[name] = rule.whole(Evaluator(Formula(name, SQUARE, rule), given))[0]  # [Q, K]
    return given.held["scaled"], given.held["weights"]
