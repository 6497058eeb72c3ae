"""What a search looked at, step by step: the hypotheses that went on, and the best of those that did not.

A search without a recorder pays nothing for this but one question a step. A recorded one keeps about half a kilobyte
for each node, in Python: 20 steps of 5 beams are some 250 nodes.

R rows, one for each sentence · B hypotheses of a row · V vocabulary · C candidates · K tokens that are shown
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from glassformer.decode.attention import AttentionKeeper
from glassformer.decode.choose import best_candidates, filtered, largest
from glassformer.decode.hypotheses import Hypotheses, Sentence
from glassformer.decode.settings import DecodeSettings

Fate = Literal[
    "kept", "answer", "hopeless", "below", "ended", "repeated", "wordless", "forbidden", "unlikely", "undrawn", "cut"
]
FATES: dict[Fate, str] = {
    "kept": "goes on",
    "answer": "a complete answer",
    "hopeless": "given up: no answer that begins so can become one of the best",
    "below": "its score is below those that go on",
    "ended": "ended, with a score below the best answers",
    "repeated": "another group has found it",
    "wordless": "ended without the words that were asked for",
    "forbidden": "forbidden: by a word, a repetition or a length that was asked for",
    "unlikely": "another token is likelier",
    "undrawn": "not drawn",
    "cut": "left out of the draw: too unlikely",
}
"""What became of a node, and what that means."""

SHOWN = 8
"""Without beams: so many of the likeliest tokens are recorded in addition to the one that was chosen."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A token that follows its parent, as the search saw it.

    `log_probability` is the model's own for this token, `total` the sum of all up to it with what the settings change
    in them, and `score` what it is worth as an answer that is complete here: total / `penalty` + `coverage`. `rank`
    counts the candidates of its step from 1, in the order of their totals. `share` is the probability with which it is
    drawn, after temperature and cuts, and `start` where its part of 0 to 1 begins; `draw` is, of the token that was
    drawn, the number and the part [from, to) that it lies in. All are None where nothing is drawn. Until it has its
    `number`, its `parent` is the place of a hypothesis in its row.
    """

    number: int = 0
    step: int = 0
    parent: int | None
    token: int
    log_probability: float
    total: float
    score: float = 0.0
    penalty: float = 1.0
    coverage: float = 0.0
    rank: int = 0
    hypothesis: int
    fate: Fate
    finished: bool = False
    share: float | None = None
    draw: tuple[float, float, float] | None = None
    start: float | None = None


class Chosen(NamedTuple):
    """A step of the search: what was decided about each candidate [R, C], and which go on, [R, B]."""

    total: Any
    parent: Any
    token: Any
    log_probability: Any
    score: Any
    penalty: Any
    coverage: Any
    over: Any
    answers: Any
    repeated: Any
    wordless: Any
    going_on: Any
    alive: Any

    def fate(self, place: int) -> Fate:
        """What became of a candidate of one row."""
        if self.answers[place]:
            return "answer"
        if self.over[place]:
            return "repeated" if self.repeated[place] else "wordless" if self.wordless[place] else "ended"
        if place not in self.going_on:
            return "below"
        return "kept" if self.alive[self.going_on.index(place)] else "hopeless"


class Recorder:
    """Keeps the nodes of each request, by its number; with `attention` what each step looked at, too."""

    def __init__(self, *, attention: bool = False) -> None:
        self.nodes: dict[int, list[Node]] = {}
        self.tips: dict[int, list[int | None]] = {}  # the node of each hypothesis of a row
        self.steps: dict[int, int] = {}
        # Of the step that is being made, by row, the tokens that are not among the candidates of the search.
        self.alternatives: dict[int, list[Node]] = {}
        self.shares: tuple[Tensor, Tensor, Tensor] | None = None
        self.attention = AttentionKeeper(self.tips) if attention else None

    def before(
        self, hypotheses: Hypotheses, logits: Tensor, log_total: Tensor, controlled: Tensor, count: int | None
    ) -> None:
        """The best candidates as if nothing were forbidden: logits [R, B, V], and the same with what settings change.
        `count` = those of a row; None = SHOWN of each hypothesis, where none compete.
        """
        self.alternatives, self.shares = {}, None
        if count is None or controlled is logits:
            return
        score, parent, token = best_candidates(logits, hypotheses.score - log_total, count)  # [R, C]
        row = torch.arange(len(token), device=token.device)[:, None]  # [R, 1]
        lost = (controlled[row, parent, token] == -inf) & (score > -inf)  # [R, C]
        for at, place in lost.nonzero().tolist():
            origin, which = int(parent[at, place]), int(token[at, place])
            of_token = float(logits[at, origin, which] - log_total[at, origin])
            self._add_alternative(at, origin, which, of_token, float(score[at, place]), "forbidden")

    def drawing(
        self,
        hypotheses: Hypotheses,
        logits: Tensor,
        log_total: Tensor,
        controlled: Tensor,
        token: Tensor,
        settings: DecodeSettings,
        chance: Tensor | None,
    ) -> None:
        """One token [R, B] was chosen for each hypothesis, by the `chance` [R, B] that was drawn, or the likeliest."""
        rows, beams, vocabulary = logits.shape
        flat = logits.flatten(0, 1)  # [R * B, V]
        best = largest(flat, min(SHOWN, vocabulary))[1].view(rows, beams, -1)  # [R, B, K]
        share = ends = None
        if chance is not None:
            kept = filtered(controlled / settings.temperature, settings.top_k, settings.top_p, settings.min_p)
            share = kept.double().softmax(dim=-1)  # [R, B, V]
            ends = share.cumsum(dim=-1)  # [R, B, V]
            end = ends.gather(2, token[..., None])[..., 0]  # [R, B]
            self.shares = (share.gather(2, token[..., None])[..., 0], end, chance)
        for row in range(rows):
            for beam in range(beams):
                if hypotheses.score[row, beam] == -inf:
                    continue
                for each in best[row, beam].tolist():
                    if each == int(token[row, beam]) or logits[row, beam, each] == -inf:
                        continue
                    of_token = float(logits[row, beam, each] - log_total[row, beam])
                    part = None if share is None else float(share[row, beam, each])
                    start = None if ends is None or part is None else float(ends[row, beam, each]) - part
                    fate: Fate = "unlikely" if share is None else "undrawn" if part else "cut"
                    if controlled[row, beam, each] == -inf:
                        fate = "forbidden"
                    total = float(hypotheses.score[row, beam]) + of_token
                    self._add_alternative(row, beam, each, of_token, total, fate, part, start)

    def _add_alternative(
        self, row: int, parent: int, token: int, log_probability: float, total: float, fate: Fate,
        share: float | None = None, start: float | None = None,
    ) -> None:  # fmt: skip
        node = Node(
            parent=parent, token=token, log_probability=log_probability, total=total, hypothesis=parent, fate=fate,
            share=share, start=start,
        )  # fmt: skip
        self.alternatives.setdefault(row, []).append(node)

    def record(self, chosen: Chosen, sentences: Sequence[Sentence | None]) -> None:
        for row, sentence in enumerate(sentences):
            of_row = Chosen(*(each[row].tolist() for each in chosen))
            if sentence is None or all(each == -inf for each in of_row.total):
                continue
            number, penalty = sentence.request.number, of_row.penalty[0]
            nodes = self.nodes.setdefault(number, [])
            tips = self.tips.get(number) or [None] * len(of_row.total)
            step = self.steps.get(number, 0)
            self.steps[number] = step + 1
            made = [place for place, value in enumerate(of_row.total) if value > -inf]
            numbers = {place: len(nodes) + rank for rank, place in enumerate(made)}
            others = sorted(self.alternatives.get(row, ()), key=lambda each: -each.total)
            found = [self._node(of_row, place, row) for place in made]
            found += [replace(each, score=each.total / penalty) for each in others]
            for rank, each in enumerate(found, start=1):
                parent = tips[each.parent or 0]
                nodes.append(replace(each, number=len(nodes), step=step, parent=parent, penalty=penalty, rank=rank))
            self.tips[number] = [numbers.get(place) for place in of_row.going_on]
        self.alternatives, self.shares = {}, None

    def _node(self, of: Chosen, place: int, row: int) -> Node:
        share = draw = None
        if self.shares is not None:
            share, end, chance = (float(each[row, of.parent[place]]) for each in self.shares)
            draw = (chance, end - share, end)
        return Node(
            parent=of.parent[place],
            token=of.token[place],
            log_probability=of.log_probability[place],
            total=of.total[place],
            score=of.score[place],
            coverage=of.coverage[place],
            hypothesis=of.going_on.index(place) if place in of.going_on else place,
            fate=of.fate(place),
            finished=of.over[place],
            share=share,
            draw=draw,
            start=None if draw is None else draw[1],
        )
