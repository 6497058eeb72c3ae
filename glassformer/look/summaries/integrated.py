"""Integrated gradients: the difference between two runs, shared out among the tokens so that it sums.

B sentences · S tokens · W width
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.look.formulas.rules.sums import LookUp
from glassformer.look.summaries.attributions import entering_tensors, goal_of, refuse_goals
from glassformer.look.trace.replay import Replay
from glassformer.look.trace.tensors import Tensors
from glassformer.look.trace.watch import Change

POINTS = 8  # Gradients in each piece of the way
STEPS = 512  # The most gradients
# How wrong a share may be, as a part of the largest share or of the difference, before the most gradients are made.
SURE = 0.01


@dataclass(frozen=True)
class Integrated:
    """`value` is the number of the cell, `baseline` the same number of the run without words; `of` names the sides
    (`inputs`, `decoder_inputs`) with the share [B, S] of each token. `missing` is what the shares fail to sum to: the
    error of a path of finitely many steps. `error` is an estimate of the error of the least certain share.
    """

    goal: str
    cell: Mapping[str, int]
    value: float
    baseline: float
    of: Mapping[str, Tensor]
    error: float

    @property
    def missing(self) -> float:
        """`value - baseline` less the sum of all shares."""
        return self.value - self.baseline - sum(float(share.sum()) for share in self.of.values())


def integrated_gradients(trace: Tensors, goal: str | None = None, *, steps: int = STEPS) -> Integrated:
    """What a number owes to each token, along the straight way from no words to these (Sundararajan et al. 2017).

    No words: each token has the mean of all rows of the word table, and its own position and segment. The gradients on
    the way are summed piece by piece (Gauss and Legendre's eight points). The worst piece is halved until no share is
    likely to be wrong by more than 1 % of the largest one or of the whole difference, or there would be more than
    `steps` gradients. The difference between a piece and its halves, token by token, estimates its error: the error of
    the sum does not, as errors of tokens cancel.
    `goal` as in `attributions`. Raises ConfigError and UnknownNameError as that does, and where `steps` is not 8 to
    4,096.
    """
    return integrate(trace, *goal_of(trace, goal), steps)


def integrate(trace: Tensors, name: str, cell: Mapping[str, int], steps: int = STEPS) -> Integrated:
    """As `integrated_gradients`, of a cell by its indices."""
    if not isinstance(steps, int) or isinstance(steps, bool) or not POINTS <= steps <= 4096:
        raise ConfigError(f"steps is a whole number from {POINTS} to 4,096", got=repr(steps))
    way = _Way.of(trace, refuse_goals(trace, [(name, cell)]), name, tuple(cell.values()))
    first, last = way.value(0.0), way.value(1.0)
    pieces, left = [way.piece(0.0, 1.0, first, last)], steps - POINTS
    while True:
        found = torch.stack([piece.flat for piece in pieces]).sum(0)  # [tokens of all sides]
        error = float(torch.stack([piece.error for piece in pieces]).sum(0).max())
        if left < 2 * POINTS or error <= SURE * max(abs(last - first), float(found.abs().max())):
            break
        left -= 2 * POINTS
        worst = max(pieces, key=lambda piece: float(piece.error.max()))
        middle = (worst.start + worst.end) / 2
        value = way.value(middle)
        halves = way.piece(worst.start, middle, worst.first, value), way.piece(middle, worst.end, value, worst.last)
        changed = (worst.flat - halves[0].flat - halves[1].flat).abs() / 2
        pieces.remove(worst)
        pieces += (replace(half, error=changed.clamp(min=abs(half.missing))) for half in halves)
    shares = {
        trace.statement.formulas[tensor].tokens: sum((piece.shares[tensor] for piece in pieces), torch.zeros(()))
        for tensor in way.ends
    }
    return Integrated(name, dict(cell), last, first, shares, error)


@dataclass(frozen=True)
class _Piece:
    """A part of the way, the number at both of its ends, and what the tokens add between them, [B, S] of each side.
    `error` is the estimated error for each token of all sides: infinite until its halves are known.
    """

    start: float
    end: float
    first: float
    last: float
    shares: Mapping[str, Tensor]
    error: Tensor

    @property
    def flat(self) -> Tensor:
        return torch.cat([share.flatten() for share in self.shares.values()])

    @property
    def missing(self) -> float:
        return self.last - self.first - sum(float(share.sum()) for share in self.shares.values())


@dataclass(frozen=True)
class _Way:
    """The straight way from no words to those of the run, in the tensors that enter the first blocks."""

    replay: Replay
    goal: str
    cell: tuple[int, ...]
    ends: Mapping[str, tuple[Tensor, Tensor]]

    @classmethod
    def of(cls, trace: Tensors, replay: Replay, goal: str, cell: tuple[int, ...]) -> _Way:
        entering = entering_tensors(trace)
        start = _changed(replay, _without_words(trace)).whole(entering)[0]
        first = {name: start[name].detach() for name in entering}
        return cls(replay, goal, cell, {name: (first[name], trace.tensor(name) - first[name]) for name in entering})

    def at(self, share: float) -> Replay:
        def change(name: str, tensor: Tensor) -> Tensor:
            if name not in self.ends:
                return tensor
            first, way = self.ends[name]
            return first + share * way

        return _changed(self.replay, change)

    def value(self, share: float) -> float:
        with torch.no_grad():
            return float(self.at(share).whole([self.goal, *self.ends])[0][self.goal][self.cell])

    def piece(self, start: float, end: float, first: float, last: float) -> _Piece:
        shares = {name: torch.zeros(way.shape[:-1], dtype=torch.float64) for name, (_, way) in self.ends.items()}
        for point, weight in zip(*np.polynomial.legendre.leggauss(POINTS), strict=True):
            seen = self.at(start + (end - start) * (point + 1) / 2).with_graph([self.goal, *self.ends])
            with torch.enable_grad():
                goal = seen[self.goal][self.cell]
            if not goal.requires_grad:
                raise ConfigError("gradients are those of a number that is computed", got=self.goal)
            slopes = torch.autograd.grad(goal, [seen[name] for name in self.ends], allow_unused=True)
            for (name, (_, way)), slope in zip(self.ends.items(), slopes, strict=True):
                if slope is not None:
                    shares[name] += (slope * way).sum(-1).double().cpu() * (weight / 2 * (end - start))  # [B, S]
        tokens = sum(share.numel() for share in shares.values())
        return _Piece(start, end, first, last, shares, torch.full((tokens,), torch.inf))


def _changed(replay: Replay, change: Change) -> Replay:
    """The same run with one more change, made after those by hand."""
    first = replay.change

    def both(name: str, tensor: Tensor) -> Tensor:
        return change(name, tensor if first is None else first(name, tensor))

    return replace(replay, change=both)


def _without_words(trace: Tensors) -> Change:
    """Each token's word replaced by the mean of the word table; vectors that were given, by zeros."""
    means: dict[str, Tensor] = {}
    for side in ("encoder", "decoder"):
        formula = trace.statement.formulas.get(f"{side}.embed.word")
        if formula is not None:
            rule = formula.rule
            means[formula.name] = (
                trace.tensor(rule.table.name).mean(0) * rule.scale if isinstance(rule, LookUp) else torch.zeros(())
            )

    def change(name: str, tensor: Tensor) -> Tensor:
        return means[name].to(tensor).expand_as(tensor) if name in means else tensor

    return change
