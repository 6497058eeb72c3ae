"""Rules of a conditional random field: label after label, through the tokens of a text that are labelled.

A table of these follows from its own numbers at the token before, so that each step is held to the one before it.
B sentences · S tokens · L labels
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from glassformer.look.formulas.explanation import Explanation, Limits, Part, largest_first, number, values_of
from glassformer.look.formulas.named import Cell, FormulaError, Operand
from glassformer.look.formulas.rules.evaluator import Evaluator, Factor, Rule, Term, Working
from glassformer.look.formulas.rules.notation import Expression, Title, cases, function, read, row, sign, summed, symbol

AXES = ("sentence", "token", "label")
# Two scores of float32 numbers that differ by less than this share of their size may change places.
ROUNDING = 1e-5


def table_of(tensors: Evaluator, operand: Operand, last: str = "label") -> Tensor:
    """A table [B, S, L] in double precision; raises FormulaError where the result is no such table."""
    if tensors.axes != AXES:
        raise FormulaError(f"{tensors.formula.name} goes from token to token over {' '.join(AXES)}")
    return tensors.aligned(operand, ("sentence", "token", last))


def flags(tensors: Evaluator, operand: Operand) -> Tensor:
    """Which tokens are labelled, [B, S]."""
    found = tensors.aligned(operand, ("sentence", "token"))
    if found.dtype != torch.bool:
        raise FormulaError(f"{tensors.formula.name} must know which tokens are labelled", got=operand.name)
    return found


class AllWays(Rule):
    """What is made of all ways: the logarithm of the sum of exp(score)."""

    verb: ClassVar[str] = "log of the sum of exponentials"

    def over(self, x: Tensor, dim: int) -> Tensor:
        largest = x.amax(dim, keepdim=True)
        return (largest + torch.exp(x - largest).sum(dim, keepdim=True).log()).squeeze(dim)

    def over_terms(self, terms: Sequence[Term]) -> float:
        return float(self.over(torch.tensor(values_of(terms), dtype=torch.float64), 0))

    def ways(self, axis: str, inside: Expression) -> Expression:
        return function("log", summed(axis, function("exp", inside)))

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        return cls.of_ways(explanation.terms, limits)

    @classmethod
    def of_ways(cls, terms: Sequence[Part], limits: Limits) -> str:
        return f"{cls.verb}({largest_first(terms, limits, lambda term: term.numbers)})"


class BestWay(AllWays):
    """What is made of the best way: the largest score."""

    verb: ClassVar[str] = "largest"

    def over(self, x: Tensor, dim: int) -> Tensor:
        return x.amax(dim)

    def ways(self, axis: str, inside: Expression) -> Expression:
        return function("max", inside)


def added(what: str, *factors: Factor) -> Term:
    return Term(what, factors, math.fsum(factor.value for factor in factors), added=True)


@dataclass(frozen=True)
class ChainSum(AllWays):
    """log Σ exp(score) of all sequences that end with this label (forward algorithm); else as the token before."""

    title: ClassVar[Title | None] = Title("The forward algorithm: all ways to each label, token by token", extra=True)
    x: Operand
    before: Operand
    steps: Operand
    first: Operand
    labelled: Operand

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        x, table = table_of(tensors, self.x), table_of(tensors, self.before, "before")
        steps, first = tensors.aligned(self.steps, ("before", "label")), tensors.aligned(self.first, ("label",))
        here = flags(tensors, self.labelled)[..., None]  # [B, S, 1]
        begun = (here.cumsum(dim=1) - here.long()) > 0  # [B, S, 1]
        previous = torch.cat([torch.zeros_like(table[:, :1]), table[:, :-1]], dim=1)  # [B, S, L]
        reached = torch.where(begun, self.over(previous[..., None] + steps, 2), first)  # [B, S, L]
        size = torch.where(begun, previous.abs().amax(-1, keepdim=True) + steps.abs().max(), first.abs())
        found = torch.where(here, reached + x, previous)
        return found, torch.where(here, size + x.abs(), previous.abs())

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        """A term for each label of the token before, without this token's own logit, which is added."""
        known = tensors.source.tensor(self.labelled.name)[cell["sentence"]]
        at = cell["token"]
        if not known[at]:
            if at == 0:
                return Working((), 0.0)
            kept = tensors.factor(self.before, {**cell, "token": at - 1, "before": cell["label"]})
            return Working((Term("not labelled: as before", (kept,), kept.value),), kept.value)
        own = tensors.factor(self.x, cell)
        logit = Term("logit", (own,), own.value)
        if not known[:at].any():
            first = tensors.factor(self.first, cell)
            return Working((Term("first label", (first,), first.value), logit), first.value + own.value)
        terms = []
        for step, way in tensors.steps(self.steps, "before", cell):
            before = tensors.factor(self.before, {**way, "token": at - 1})
            terms.append(added(f"label {step}", before, tensors.factor(self.steps, way)))
        ways = self.over_terms(terms)
        return Working((*terms, logit), ways + own.value, {"ways": ways})

    def expression(self) -> Expression:
        ways = row(read(self.before), sign("+", " at the token before + "), read(self.steps))
        x, labelled, first = read(self.x), read(self.labelled), read(self.first)
        words = (
            f"{x.words} + the {self.verb} over the label before of {ways.words}; "
            f"{first.words} for the first of the {labelled.words}"
        )
        lines = [
            (row(x, sign("+"), self.ways("before", ways)), labelled),
            (row(x, sign("+"), first), symbol("first")),
            (read(self.before), symbol("otherwise")),
        ]
        return cases(*lines, words=words)

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        if not explanation.quantities:
            return explanation.sum_of(lambda term: number(term.value), limits)
        *ways, own = explanation.terms
        return f"{number(own.value)} + {cls.of_ways(ways, limits)}"


@dataclass(frozen=True)
class ChainBest(BestWay, ChainSum):
    """The largest score of all sequences of labels that end with this one: Viterbi's algorithm."""

    title: ClassVar[Title | None] = Title("Viterbi: the best way to each label, token by token", extra=True)


@dataclass(frozen=True)
class ChainEnd(AllWays):
    """The logarithm of the sum of exp(score) over all sequences: those of the last token, with their last label."""

    title: ClassVar[Title | None] = Title("All sequences of labels together", extra=True)
    x: Operand
    last: Operand
    labelled: Operand

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        ends = tensors.aligned(self.x, AXES)[:, -1]  # [B, L]
        last = tensors.aligned(self.last, ("label",))  # [L]
        some = flags(tensors, self.labelled).any(dim=1)  # [B]
        if tensors.axes != ("sentence",):
            raise FormulaError(f"{tensors.formula.name} is one number for each sentence", got=" ".join(tensors.axes))
        found = self.over(ends + last, 1)  # [B]
        return torch.where(some, found, 0.0), ends.abs().amax(1) + last.abs().max()

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        if not tensors.source.tensor(self.labelled.name)[cell["sentence"]].any():
            return Working((), 0.0)
        end = {**cell, "token": tensors.size(self.x, "token") - 1}
        terms = [
            added(f"label {step}", tensors.factor(self.x, here), tensors.factor(self.last, here))
            for step, here in tensors.steps(self.last, "label", end)
        ]
        return Working(tuple(terms), self.over_terms(terms))

    def expression(self) -> Expression:
        inside = row(read(self.x), sign("+", " at the last token + "), read(self.last))
        words = f"the {self.verb} over the label of {inside.words}; 0 where nothing is {read(self.labelled).words}"
        return cases((self.ways("label", inside), read(self.labelled)), (symbol("0"), symbol("otherwise")), words=words)


@dataclass(frozen=True)
class ChainBestEnd(BestWay, ChainEnd):
    """The score of the best sequence."""

    title: ClassVar[Title | None] = Title("The score of the best sequence of labels", extra=True)


@dataclass(frozen=True)
class BestPath(Rule):
    """1 at the labels of the best sequence: at the last token the one that ends best, before it the one from which the
    next label is reached best. Of two that are equal but for rounding the model may take either.
    """

    title: ClassVar[Title | None] = Title("The best sequence, read from its end", extra=True)
    x: Operand
    after: Operand
    steps: Operand
    last: Operand
    labelled: Operand

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        """[B, S, L]."""
        best, path = table_of(tensors, self.x), table_of(tensors, self.after, "after")
        steps = tensors.aligned(self.steps, ("label", "after"))  # [L, L]
        onwards = tensors.aligned(self.last, ("label",)).expand_as(best[:, 0])  # [B, L]
        labelled = flags(tensors, self.labelled)
        found = torch.zeros_like(best)
        for token in reversed(range(best.shape[1])):
            here, own = labelled[:, token, None], path[:, token]
            scores = best[:, token] + onwards  # [B, L]
            most = scores.amax(1, keepdim=True)
            least = most - ROUNDING * (1 + best[:, token].abs().amax(1, keepdim=True))
            stands = (scores * own).sum(1, keepdim=True) >= least
            single = (own.sum(1, keepdim=True) == 1) & (own * (1 - own) == 0).all(1, keepdim=True)
            chosen = torch.nn.functional.one_hot(scores.argmax(1), best.shape[2]).double()
            found[:, token] = torch.where(stands & single, own, chosen) * here
            onwards = torch.where(here, own @ steps.T, onwards)
        return found, found

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        labelled = tensors.source.tensor(self.labelled.name)[cell["sentence"]]
        if not labelled[cell["token"]]:
            return Working((), 0.0)
        chosen, _ = self.whole(tensors)
        own = tensors.factor(self.x, cell)
        later = [token for token in range(cell["token"] + 1, len(labelled)) if labelled[token]]
        result = float(chosen[cell["sentence"], cell["token"], cell["label"]])
        if not later:
            onwards = tensors.factor(self.last, cell)
        else:
            path = tensors.raw(self.after)[cell["sentence"], later[0]]
            onwards = tensors.factor(self.steps, {**cell, "after": int(path.argmax())})
        return Working((Term("score so far", (own,), own.value), Term("onwards", (onwards,), onwards.value)), result)

    def expression(self) -> Expression:
        onwards = row(read(self.x), sign("+"), read(self.steps), read(self.after))
        end = row(read(self.x), sign("+"), read(self.last))
        words = (
            f"1 at the label where {read(self.x).words} + {read(self.steps).words} to the next label of "
            f"{read(self.after).words} is largest; {read(self.last).words} at the end"
        )
        lines = [(function("argmax", onwards), read(self.labelled)), (function("argmax", end), symbol("last"))]
        return cases(*lines, words=words)

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        if not explanation.terms:
            return "not labelled"
        sum_ = " + ".join(number(term.value) for term in explanation.terms).replace("+ −", "− ")
        whole = number(sum(term.value for term in explanation.terms))
        return f"{'the largest' if explanation.value else 'not the largest'}: {sum_} = {whole}"


@dataclass(frozen=True)
class Difference(Rule):
    """One number less another one."""

    x: Operand
    less: Operand

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        x, less = tensors.aligned(self.x), tensors.aligned(self.less)
        return x - less, x.abs() + less.abs()

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        x, less = tensors.factor(self.x, cell), tensors.factor(self.less, cell)
        terms = (Term("score", (x,), x.value), Term("less", (less, Factor(None, (), -1.0)), -less.value))
        return Working(terms, x.value - less.value)

    def expression(self) -> Expression:
        return row(read(self.x), sign("−"), read(self.less))

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        x, less = (term.factors[0].value for term in explanation.terms)
        return f"{number(x)} − {number(less)}".replace("− −", "+ ")
