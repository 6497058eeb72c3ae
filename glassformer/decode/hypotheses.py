"""The unfinished hypotheses of the sentences that are being decoded.

R rows, one for each sentence · B hypotheses of a row · T tokens, of prompt and answer · K columns of the cache
M memory tokens
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

    @property
    def best(self) -> Hypothesis | None:
        return self.answers[0] if self.answers else self.samples.get(0)

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
    likely: Tensor  # [R] the largest length that is waited for
    number: Tensor  # [R] of the request
    complete: Tensor  # [R, B] scores of the best complete answers, best first; minus infinity where there are none
    places: Tensor  # [R, K] the place in the text of each column's token
    # Where attention is asked for: how much the token of each column looked at the memory, and the sum of this over
    # the tokens of each hypothesis.
    attention: Tensor  # [R, K, M], or [R, K, 0]
    coverage: Tensor  # [R, B, M], or [R, B, 0]

    @property
    def alive(self) -> Tensor:
        """Which rows still have a hypothesis, [R]."""
        return (self.score > -torch.inf).any(dim=1)

    def attend(self, weights: Tensor, columns: Tensor) -> None:
        """The newest tokens, at columns [R, B], looked at the memory with these weights [R, B, M]."""
        weights = weights * (self.score > -torch.inf)[:, :, None]  # [R, B, M]
        self.attention = widened(self.attention, (self.look.shape[2], weights.shape[2]))  # [R, K, M]
        at = columns[:, :, None].expand(-1, -1, weights.shape[2])  # [R, B, M]
        self.attention[:, :, : weights.shape[2]].scatter_(1, at, weights)
        self.coverage = widened(self.coverage, (0, weights.shape[2]))  # [R, B, M]
        self.coverage[:, :, : weights.shape[2]] += weights

    def attention_of(self, row: int, beam: int, memory: int) -> Tensor | None:
        """How much each token of an answer looked at the memory when it was chosen, [N, M]."""
        if not self.attention.shape[2]:
            return None
        columns = self.look[row, beam].nonzero()[:, 0]
        columns = columns[self.places[row, columns].argsort()][int(self.begin[row]) - 1 :]  # [N]
        return self.attention[row, columns, :memory].clone()  # [N, M]

    def keep(self, rows: Tensor) -> None:
        """These rows [N] alone, in this order."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name).index_select(0, rows))

    def put(self, rows: Tensor, other: Hypotheses, of: Tensor) -> None:
        """Rows `of` [N] of others take these rows [N]."""
        for each in fields(self):
            mine, its = getattr(self, each.name), getattr(other, each.name).index_select(0, of)
            mine, its = widened(mine, its.shape[1:]), widened(its, mine.shape[1:])
            mine[rows] = its
            setattr(self, each.name, mine)

    def follow(self, parent: Tensor, token: Tensor, log_probability: Tensor) -> None:
        """Each hypothesis [R, B] goes on from its parent with one more token."""
        at = self.length[:, None, None].expand(-1, parent.shape[1], 1)  # [R, B, 1]
        room = (0, int(self.length.max()) + 1)
        self.tokens = gathered(widened(self.tokens, room), parent).scatter(2, at, token[:, :, None])
        self.log_probabilities = gathered(widened(self.log_probabilities, room), parent).scatter(
            2, at, log_probability[:, :, None]
        )
        self.look, self.coverage = gathered(self.look, parent), gathered(self.coverage, parent)
        self.length = self.length + 1

    @staticmethod
    def empty(like: Hypotheses, rows: int) -> Hypotheses:
        none = torch.zeros(rows, dtype=torch.int64, device=like.score.device)
        hypotheses = Hypotheses(*(getattr(like, each.name)[none].clone() for each in fields(like)))
        hypotheses.score.fill_(-torch.inf)
        hypotheses.look.fill_(False)
        return hypotheses


def gathered(facts: Tensor, parent: Tensor) -> Tensor:
    """The facts [R, B, N] of each hypothesis's parent [R, C]: [R, C, N]."""
    return facts.gather(1, parent[:, :, None].expand(-1, -1, facts.shape[2]))  # [R, C, N]


def widened(facts: Tensor, sizes: Sequence[int]) -> Tensor:
    """Facts [R, ...] with at least these sizes on the other axes; what is new is 0."""
    more = [max(size - has, 0) for size, has in zip(sizes, facts.shape[1:], strict=True)]
    return F.pad(facts, [pad for each in reversed(more) for pad in (0, each)]) if any(more) else facts


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids of different lengths as [R, T], each row padded with 0, and the lengths [R]."""
    lengths = [len(row) for row in rows]
    longest = max(1, *lengths)
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], dtype=torch.int64, device=device)
    return ids.view(len(rows), longest), torch.tensor(lengths, device=device)
