"""The unfinished hypotheses of the sentences that are being decoded.

R rows, one for each sentence · B hypotheses of a row · T tokens, of prompt and answer · K columns of the cache
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.decode.request import Hypothesis, Request


@dataclass
class Sentence:
    """One request on its way: the complete answers found so far, best first; of samples, by their number."""

    request: Request
    answers: list[Hypothesis] = field(default_factory=list)
    samples: dict[int, Hypothesis] = field(default_factory=dict)

    def add(self, answer: Hypothesis, most: int) -> None:
        """Keep it among the best so many; of equal ones the first found comes first."""
        place = len(self.answers)
        while place and self.answers[place - 1].score < answer.score:
            place -= 1
        self.answers.insert(place, answer)
        del self.answers[most:]


@dataclass
class Hypotheses:
    """All that is known of the hypotheses, row by row. A hypothesis with a score of minus infinity is none."""

    tokens: Tensor  # [R, B, T] int64: prompt, then answer
    log_probabilities: Tensor  # [R, B, T] of each token of the answer
    score: Tensor  # [R, B] sum of the answer's log-probabilities, with what the settings change in them
    look: Tensor  # [R, B, K] bool: the columns of the cache that hold the hypothesis's tokens
    begin: Tensor  # [R] tokens of the prompt
    length: Tensor  # [R] tokens of prompt and answer
    limit: Tensor  # [R] the largest length
    number: Tensor  # [R] of the request
    complete: Tensor  # [R, B] scores of the best complete answers, best first; minus infinity where there are none

    @property
    def alive(self) -> Tensor:
        """Which rows still have a hypothesis, [R]."""
        return (self.score > -torch.inf).any(dim=1)

    def keep(self, rows: Tensor) -> None:
        """These rows [N] alone, in this order."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name).index_select(0, rows))

    def put(self, rows: Tensor, other: Hypotheses, of: Tensor) -> None:
        """Rows `of` [N] of others take these rows [N]."""
        for each in fields(self):
            mine, its = getattr(self, each.name), getattr(other, each.name).index_select(0, of)
            if mine.dim() == 3:
                mine, its = widened(mine, its.shape[2]), widened(its, mine.shape[2])
            mine[rows] = its
            setattr(self, each.name, mine)

    def follow(self, parent: Tensor, token: Tensor, log_probability: Tensor) -> None:
        """Each hypothesis [R, B] goes on from its parent with one more token."""
        at = self.length[:, None, None].expand(-1, parent.shape[1], 1)  # [R, B, 1]
        longest = int(self.length.max()) + 1
        self.tokens = gathered(widened(self.tokens, longest), parent).scatter(2, at, token[:, :, None])
        self.log_probabilities = gathered(widened(self.log_probabilities, longest), parent).scatter(
            2, at, log_probability[:, :, None]
        )
        self.look = gathered(self.look, parent)
        self.length = self.length + 1

    @staticmethod
    def empty(like: Hypotheses, rows: int) -> Hypotheses:
        """So many rows without a hypothesis."""
        none = torch.zeros(rows, dtype=torch.int64, device=like.score.device)
        hypotheses = Hypotheses(*(getattr(like, each.name)[none].clone() for each in fields(like)))
        hypotheses.score.fill_(-torch.inf)
        hypotheses.look.fill_(False)
        return hypotheses


def gathered(facts: Tensor, parent: Tensor) -> Tensor:
    """The facts [R, B, N] of each hypothesis's parent [R, C]: [R, C, N]."""
    return facts.gather(1, parent[:, :, None].expand(-1, -1, facts.shape[2]))  # [R, C, N]


def widened(facts: Tensor, width: int) -> Tensor:
    """Facts [R, B, N] with at least so many on the last axis; the new ones are 0."""
    more = max(width - facts.shape[2], 0)
    return F.pad(facts, (0, more)) if more else facts


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids of different lengths as [R, T], 0 behind each row, and the lengths [R]."""
    lengths = [len(row) for row in rows]
    longest = max(lengths)
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], dtype=torch.int64, device=device)
    return ids.view(len(rows), longest), torch.tensor(lengths, device=device)
