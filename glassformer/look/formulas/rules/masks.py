"""Rules of the mask: which query may look at which key, and the score where it may not."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from glassformer.look.formulas.explanation import Explanation, Limits, Part, number
from glassformer.look.formulas.named import Cell, Operand
from glassformer.look.formulas.rules.evaluator import Evaluator, Factor, Rule, Term, Working
from glassformer.look.formulas.rules.notation import Expression, Title, cases, read, row, sign, symbol, value


@dataclass(frozen=True, kw_only=True)
class Reach(Rule):
    """What puts a key out of reach: padding, another document, the future, and what lies beyond a window."""

    real: Operand | None = None
    query_documents: Operand | None = None
    key_documents: Operand | None = None
    causal: bool = False
    window: int | None = None

    def within_reach(self, tensors: Evaluator) -> dict[str, Tensor]:
        """Each reason why a key can be out of a query's reach, True = it is not."""
        reasons = {}
        keys, queries = (torch.arange(tensors.length(side)) for side in (tensors.formula.keys, tensors.formula.tokens))
        ahead = (keys[None, :] - queries[:, None])[None, None]
        if self.causal:
            reasons["not ahead"] = ahead <= 0
        if self.window is not None:
            reasons[f"within {self.window}"] = ahead.abs() <= self.window
        if self.real is not None:
            reasons["not padding"] = tensors.aligned(self.real) != 0
        if self.query_documents is not None and self.key_documents is not None:
            reasons["same document"] = tensors.aligned(self.query_documents) == tensors.aligned(self.key_documents)
        return reasons


def all_of(reasons: dict[str, Tensor]) -> Tensor:
    """True where no reason forbids; broadcasts to [sentences, heads, queries, keys]."""
    found = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    for reason in reasons.values():
        found = found & reason
    return found


def reason_at(tensors: Evaluator, answer: Tensor, cell: Cell) -> bool:
    index = tuple(0 if size == 1 else cell[axis] for axis, size in zip(tensors.axes, answer.shape, strict=True))
    return bool(answer[index])


@dataclass(frozen=True, kw_only=True)
class MayLook(Reach):
    """1 where nothing forbids this query to look at this key."""

    masked_words: Operand | None = None
    custom: Operand | None = None

    def reasons(self, tensors: Evaluator) -> dict[str, Tensor]:
        """Each reason's answer, True = does not forbid."""
        reasons = self.within_reach(tensors)
        if self.masked_words is not None:
            reasons["not masked"] = tensors.aligned(self.masked_words) == 0
        if self.custom is not None:
            reasons["custom mask"] = tensors.aligned(self.custom) != 0
        return reasons

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        """Broadcasts to [sentences, heads, queries, keys]."""
        found = all_of(self.reasons(tensors)).double()
        return found, found

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        reasons = self.reasons(tensors)
        terms = tuple(Term(words, (), float(reason_at(tensors, answer, cell))) for words, answer in reasons.items())
        return Working(terms, float(all(term.value for term in terms)))

    def expression(self) -> Expression:
        reasons = [
            *(["it is not padding"] if self.real else []),
            *(["both stand in the same document"] if self.query_documents else []),
            *(["it is not masked"] if self.masked_words else []),
            *(["the custom mask allows it"] if self.custom else []),
            *(["it does not stand ahead"] if self.causal else []),
            *([f"it stands within {self.window}"] if self.window is not None else []),
        ]
        words = f": {' and '.join(reasons)}" if reasons else ": everywhere"
        within = [
            *([symbol("key ≤ query")] if self.causal else []),
            *([symbol(f"|key − query| ≤ {self.window}")] if self.window is not None else []),
        ]
        shown = [*map(read, self.operands.values()), *within] or [value("1")]
        conditions = row(*[part for each in shown for part in (sign("∧"), each)][1:])
        return Expression(f"1 where the key may be looked at{words}", conditions.mathml)

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        reasons = [f"{term.what}: {'yes' if term.value else 'no'}" for term in explanation.terms]
        return ", ".join(reasons) or "nothing forbids"


def filled(kept: Term, fill: Term, *, added: bool) -> Working:
    """The fill added to the score, or in its place. Whether −∞ is added or set, is the same: it is written as a sum."""
    if added:
        return Working((kept, fill), kept.value + fill.value)
    return Working((kept, fill) if fill.value == -math.inf else (fill,), fill.value)


@dataclass(frozen=True, kw_only=True)
class FillSet(Reach):
    """The fill replaces a forbidden score; `out_of_reach` then replaces it for keys that are not masked by choice."""

    title: ClassVar[Title | None] = Title("Forbidden scores are filled")
    added: ClassVar[bool] = False
    x: Operand
    may_look: Operand
    fill: float | str
    out_of_reach: float | str | None = None

    def as_number(self, tensors: Evaluator, fill: float | str) -> float:
        """A fill as a number; `lowest` is the most negative number of the type the trace runs in."""
        if fill == "lowest":
            return float(torch.finfo(tensors.source.tensor(self.x.name).dtype).min)
        return float(fill)

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        scores, looks = tensors.aligned(self.x), tensors.aligned(self.may_look) != 0
        fill, base = self.as_number(tensors, self.fill), scores if self.added else torch.zeros_like(scores)
        filled, size = base + fill, base.abs() + abs(fill)
        if self.out_of_reach is not None:
            beyond, far = ~all_of(self.within_reach(tensors)), self.as_number(tensors, self.out_of_reach)
            filled, size = filled.masked_fill(beyond, far), size.masked_fill(beyond, abs(far))
        return torch.where(looks, scores, filled), torch.where(looks, scores.abs(), size)

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        score, looks = tensors.factor(self.x, cell), tensors.factor(self.may_look, cell)
        kept = Term("score", (score,), score.value)
        if looks.value:
            return Working((kept,), score.value)
        if self.out_of_reach is not None and not reason_at(tensors, all_of(self.within_reach(tensors)), cell):
            far = self.as_number(tensors, self.out_of_reach)
            return filled(kept, Term("forbidden: out of reach", (looks, Factor(None, (), far)), far), added=False)
        fill = self.as_number(tensors, self.fill)
        return filled(kept, Term("forbidden: fill", (looks, Factor(None, (), fill)), fill), added=self.added)

    def expression(self) -> Expression:
        x, fill = read(self.x), value(self.fill)
        words = f"{x.words} where one may look, else {fill.words}"
        if self.added:
            words, fill = f"{x.words}, plus {fill.words} where one may not look", row(x, sign("+"), fill)
        lines = [(x, read(self.may_look)), (fill, symbol("otherwise"))]
        if self.out_of_reach is not None:
            far = value(self.out_of_reach)
            lines.insert(1, (far, symbol("out of reach")))
            reasons = [
                *(["padding"] if self.real else []),
                *(["other documents"] if self.query_documents else []),
                *(["ahead"] if self.causal else []),
                *([f"beyond {self.window}"] if self.window is not None else []),
            ]
            words += f"; {far.words} out of reach ({', '.join(reasons)})"
        return cases(*lines, words=words)

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        def write(term: Part) -> str:
            return number(term.value) + (" (masked)" if term.fills else "")

        return " + ".join(map(write, explanation.terms))


@dataclass(frozen=True, kw_only=True)
class FillAdd(FillSet):
    """Where looking is forbidden the fill is added to the score."""

    title: ClassVar = Title("Forbidden scores are lowered")
    added: ClassVar = True
