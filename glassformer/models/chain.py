"""Sequences of labels where the score of each label depends on the one before it: the best one (Viterbi 1967), and how
likely a part of it is (forward–backward: Rabiner 1989, §III).

In numpy: a text may have millions of tokens, one step for each, and a step on so few numbers takes torch ten times as
long. Logits are read a stretch at a time, so that no table of all tokens and labels is held as well.

N tokens of one sentence · C tokens of a stretch · L labels · K parts of the sentence
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]

# Tokens whose numbers are in memory together.
STRETCH = 1 << 12
# Below it, a scaled probability may have lost digits, as the smallest normal number is 2e-308.
_SMALL = 1e-280


class Chain(NamedTuple):
    """The scores of a label after another one [L, L], from the row to the column, of the first label of a sequence [L]
    and of the last one [L]; −∞ forbids. The score of a sequence is the sum of its logits and of these. float64.
    """

    steps: Reals
    first: Reals
    last: Reals

    def __add__(self, other: object) -> Chain:
        """The scores of both, so that a step is forbidden where one of them forbids it."""
        if not isinstance(other, Chain):
            return NotImplemented
        return Chain(*(mine + its for mine, its in zip(self, other, strict=True)))


def viterbi(logits: npt.NDArray[Any], chain: Chain) -> Integers:
    """The labels of the sequence with the highest score, [N]: logits [N, L] of all its tokens."""
    count, labels = logits.shape
    arriving = np.ascontiguousarray(chain.steps.T)  # [L, L]: to the row, from the column
    # Of each token but the first, for each of its labels the best one before it.
    before = np.zeros((count, labels), np.min_scalar_type(labels))  # [N, L]
    best, scores, source = np.empty(labels), np.empty_like(arriving), np.empty(labels, np.intp)  # [L], [L, L], [L]
    for begin in range(0, count, STRETCH):
        for token, own in enumerate(logits[begin : begin + STRETCH].astype(np.float64), begin):
            if token:
                np.add(arriving, best, out=scores)
                scores.argmax(axis=1, out=source)
                before[token] = source
                np.maximum.reduce(scores, axis=1, out=best)
                best += own
            else:
                np.add(chain.first, own, out=best)
    found = np.zeros(count, np.int64)  # [N]
    label = int((best + chain.last).argmax()) if count else 0
    for token in range(count - 1, -1, -1):
        found[token] = label
        label = before[token, label]
    return found


def log_probabilities(
    logits: npt.NDArray[Any],
    chain: Chain,
    labels: Integers,
    starts: Integers,
    ends: Integers,
    not_followed_by: npt.NDArray[np.bool_] | None = None,
    not_preceded_by: npt.NDArray[np.bool_] | None = None,
) -> Reals:
    """For each part [start, end) of a sentence, the log-probability that its tokens have these labels, that the next
    one has none of `not_followed_by` [K, L] and the one before none of `not_preceded_by` [K, L]; among all sequences
    that the chain allows. [K] logits [N, L]; labels
    [N] are read inside the parts only; starts and ends [K] ascend, and no two parts overlap.
    """
    starts, ends, count = np.asarray(starts), np.asarray(ends), len(logits)
    if not len(starts):
        return np.zeros(0)
    found = np.zeros(len(starts))  # [K]
    total, last = float("-inf"), np.zeros(0)
    bound = (
        np.zeros(len(starts), bool) if not_preceded_by is None else not_preceded_by.any(axis=1) & (starts > 0)
    )  # [K]
    for begin, table in _sums(logits, chain.first, chain.steps):  # [C, L]
        mine = _within(starts, begin, table)
        found[mine] = table[starts[mine] - begin, labels[starts[mine]]]
        for part in mine.start + np.flatnonzero(bound[mine]):
            assert not_preceded_by is not None
            start, label = starts[part], labels[starts[part]]
            arriving = (table[start - begin - 1] if start > begin else last) + chain.steps[:, label]  # [L]
            own = logits[start].astype(np.float64)  # [L]
            found[part] = _log_sum(np.where(not_preceded_by[part], -np.inf, arriving)) + own[label] - own.max()
        last = table[-1]  # [L]
        total = float(_log_sum(table[-1] + chain.last))
    for begin, table in _sums(logits[::-1], chain.last, np.ascontiguousarray(chain.steps.T)):  # from the end, [C, L]
        mine = _within(count - 1 - ends[::-1], begin, table)
        mine = slice(len(ends) - mine.stop, len(ends) - mine.start)
        onwards = chain.steps[labels[ends[mine] - 1]] + table[count - 1 - ends[mine] - begin]  # [k, L]
        if not_followed_by is not None:
            onwards[not_followed_by[mine]] = float("-inf")
        found[mine] += _log_sum(onwards)
    at_end = ends == count
    found[at_end] += chain.last[labels[ends[at_end] - 1]]
    # The logits and the steps inside each part, from its second token on.
    part = np.repeat(np.arange(len(starts)), ends - starts - 1)  # [tokens inside]
    token = np.arange(len(part)) + (starts + 1 - np.r_[0, np.cumsum(ends - starts - 1)[:-1]])[part]  # [tokens inside]
    own = logits[token].astype(np.float64)  # [tokens inside, L]
    inside = own[np.arange(len(token)), labels[token]] - own.max(axis=1, initial=float("-inf"))  # [tokens inside]
    inside += chain.steps[labels[token - 1], labels[token]]
    return found + np.bincount(part, inside, len(starts)) - total


def _within(ascending: Integers, begin: int, table: Reals) -> slice:
    return slice(*np.searchsorted(ascending, [begin, begin + len(table)]).tolist())


def _sums(logits: npt.NDArray[Any], first: Reals, steps: Reals) -> Iterator[tuple[int, Reals]]:
    """Stretch by stretch, the number of its first token and the logarithm of the sum of exp(score) over all sequences
    that end at a token with a label, [C, L], less the largest logit of each token: this changes no probability,
    and the sums of a long text stay small, and so exact.
    """
    state: Reals | None = None  # [L]
    for begin in range(0, len(logits), STRETCH):
        own = logits[begin : begin + STRETCH].astype(np.float64)  # [C, L]
        own -= own.max(axis=1, keepdims=True)
        table = _scaled(own, state, first, steps)
        if table is None:
            table = _exact(own, state, first, steps)
        state = table[-1]
        yield begin, table


def _scaled(own: Reals, state: Reals | None, first: Reals, steps: Reals) -> Reals | None:
    """Scaled forward sums [C, L] (Rabiner 1989, §V.A); None where a probability would lose digits."""
    top_step = steps.max()
    emitted, follows = np.exp(own), np.exp(steps - top_step)  # [C, L], [L, L]
    table, sizes = np.empty_like(own), np.empty(len(own))  # [C, L], [C]
    arriving = first if state is None else _log_sum(state[:, None] + steps, axis=0)  # [L]
    offset = arriving.max()
    if not np.isfinite(offset):
        return None
    reached = np.exp(arriving - offset) * emitted[0]  # [L]
    possible = np.isfinite(arriving)  # [L]
    for token, emits in enumerate(emitted):
        if token:
            reached = (table[token - 1] @ follows) * emits  # [L]
        sizes[token] = size = np.add.reduce(reached)
        if not size > _SMALL:
            return None
        np.divide(reached, size, out=table[token])
    if table[1:].min(initial=1.0) < _SMALL or table[0, possible].min() < _SMALL:
        return None
    with np.errstate(divide="ignore"):  # what may not come first
        logs = np.log(table, out=table)  # [C, L]
    further = np.log(sizes) + top_step  # [C]
    further[0] += offset - top_step
    logs += np.cumsum(further)[:, None]
    return logs


def _exact(own: Reals, state: Reals | None, first: Reals, steps: Reals) -> Reals:
    """The same from logarithms, however far apart they are. [C, L]"""
    table = np.empty_like(own)
    for token, logits in enumerate(own):
        arriving = first if state is None else _log_sum(state[:, None] + steps, axis=0)  # [L]
        table[token] = state = arriving + logits
    return table


def _log_sum(values: Reals, axis: int = -1) -> Reals:
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        found: Reals = np.log(np.exp(values - top).sum(axis=axis)) + top.squeeze(axis)
    return found
