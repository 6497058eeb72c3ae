"""Sequences of labels where the score of each label depends on the one before it: the best one (Viterbi 1967), and how
likely a part of it is (forward–backward: Rabiner 1989, §III).

B sentences · S tokens · L labels · N tokens of one sentence
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor


class Chain(NamedTuple):
    """The scores of a label after another one [L, L], from the row to the column, of the first label of a sequence [L]
    and of the last one [L]; −∞ forbids. The score of a sequence is the sum of its logits and of these.
    """

    steps: Tensor
    first: Tensor
    last: Tensor

    def __add__(self, other: object) -> Chain:
        """The scores of both, so that a step is forbidden where one of them forbids it."""
        if not isinstance(other, Chain):
            return NotImplemented
        return Chain(*(mine + its for mine, its in zip(self, other, strict=True)))


def viterbi(logits: Tensor, scored: Tensor, chain: Chain) -> Tensor:
    """The labels of the sequence with the highest score, [B, S]: logits [B, S, L] and scored [B, S] bool.

    Tokens that are not scored are passed over, and have label 0.
    """
    best, begun = torch.zeros_like(logits[:, 0]), torch.zeros_like(scored[:, :1])  # [B, L], [B, 1]
    same = torch.arange(logits.shape[2], device=logits.device).expand_as(best)  # [B, L]
    # Of each token, for each of its labels the best one before it. One tensor: a small one for each token of a very
    # long text would take ten times the memory of its numbers.
    before = torch.empty(logits.shape[1], *best.shape, dtype=torch.int32, device=logits.device)  # [S, B, L]
    for token in range(logits.shape[1]):
        here = scored[:, token, None]  # [B, 1]
        reached, source = (best[:, :, None] + chain.steps).max(dim=1)  # [B, L]
        before[token] = source.where(here & begun, same)
        best = (reached.where(begun, chain.first) + logits[:, token]).where(here, best)
        begun = begun | here
    label = (best + chain.last).argmax(dim=1, keepdim=True)  # [B, 1]
    labels = torch.zeros_like(scored, dtype=torch.int64)  # [B, S]
    for token in reversed(range(logits.shape[1])):
        labels[:, token] = label[:, 0]
        label = before[token].gather(1, label).long()
    return labels.where(scored, 0)


class Posterior:
    """Probabilities of labels of one sentence, among all sequences that its chain allows: logits [N, L]."""

    def __init__(self, logits: Tensor, chain: Chain) -> None:
        self._logits, self._chain = logits, chain
        self._before = self._after(logits, chain.first, chain.steps)  # [N, L]
        # What follows a label, without its own logit. In place: of a text of 30 MB each of these takes gigabytes.
        self._behind = self._after(logits.flip(0), chain.last, chain.steps.T).flip(0).sub_(logits)  # [N, L]
        self.log_total = float((self._before[-1] + chain.last).logsumexp(dim=0))

    @staticmethod
    def _after(logits: Tensor, first: Tensor, steps: Tensor) -> Tensor:
        """The logarithm of the sum of exp(score) over all sequences that end at a token with a label, [N, L]."""
        totals = torch.empty_like(logits)  # [N, L]
        totals[0] = first + logits[0]
        for token in range(1, len(logits)):
            totals[token] = (totals[token - 1, :, None] + steps).logsumexp(dim=0) + logits[token]
        return totals

    def log_marginals(self) -> Tensor:
        """The log-probability of each label of each token, [N, L]."""
        return self._before + self._behind - self.log_total

    def log_probability(self, start: int, labels: Sequence[int], not_followed_by: Sequence[int] = ()) -> float:
        """The log-probability that the tokens from `start` on have these labels, and that the next one has none of
        `not_followed_by`.
        """
        end = start + len(labels) - 1
        score = float(self._before[start, labels[0]]) - self.log_total
        for token, (before, label) in enumerate(pairwise(labels), start=start + 1):
            score += float(self._chain.steps[before, label] + self._logits[token, label])
        if not_followed_by and end + 1 < len(self._logits):
            behind = self._chain.steps[labels[-1]] + self._logits[end + 1] + self._behind[end + 1]  # [L]
            behind = behind.index_fill(0, torch.tensor(list(not_followed_by)), float("-inf"))
            return score + float(behind.logsumexp(dim=0))
        return score + float(self._behind[end, labels[-1]])
