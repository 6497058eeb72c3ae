"""Rules over a whole axis: softmax, norms, cross-entropy."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from glassformer.look.formulas.explanation import Explanation, Limits, largest_first, number
from glassformer.look.formulas.named import Cell, FormulaError, Operand
from glassformer.look.formulas.rules.evaluator import Evaluator, Factor, Rule, Term, Working, along, constant, total
from glassformer.look.formulas.rules.notation import (
    Expression,
    Title,
    fraction,
    function,
    read,
    root,
    row,
    sign,
    summed,
    symbol,
    value,
)


def dim_of(tensors: Evaluator, over: str) -> int:
    if over not in tensors.axes:
        raise FormulaError(f"{tensors.formula.name} goes over {over}", got=" ".join(tensors.axes))
    return tensors.axes.index(over)


@dataclass(frozen=True)
class Softmax(Rule):
    """exp(x) over the sum of exp(x) along an axis. Where there is nothing but −∞, all weights are 0."""

    x: Operand
    over: str

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        x, dim = tensors.aligned(self.x), dim_of(tensors, self.over)
        largest = x.amax(dim, keepdim=True)
        raised = torch.exp(x - largest.masked_fill(largest == -math.inf, 0.0))
        found = raised / raised.sum(dim, keepdim=True).clamp(min=1e-300)
        return found, found

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        scores, factor = tensors.along(self.x, self.over, cell)
        largest = max(scores)
        if largest == -math.inf:
            return Working(tuple(Term("nothing", (factor(step),), 0.0) for step in range(len(scores))), 0.0)
        raised = [math.exp(score - largest) for score in scores]
        terms = along(self.over, raised, lambda step: (factor(step),))
        sum_, own, score = math.fsum(raised), raised[cell[self.over]], scores[cell[self.over]]
        return Working(terms, own / sum_, {"score": score, "largest": largest, "own": own, "sum": sum_})

    def expression(self) -> Expression:
        return fraction(function("exp", read(self.x)), self.exponentials())

    def exponentials(self) -> Expression:
        return summed(self.over, function("exp", read(self.x)), "the sum of {body} along {over}")

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        found = explanation.quantities
        if not found:
            return "nothing to look at"
        below = explanation.sum_of(lambda term: number(term.value), limits)
        return f"exp({number(found['score'])} − {number(found['largest'])}) / ({below})"


@dataclass(frozen=True)
class LogSoftmax(Softmax):
    """The logarithm of the softmax: x less the logarithm of the sum of exponentials."""

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        x, dim = tensors.aligned(self.x), dim_of(tensors, self.over)
        largest = x.amax(dim, keepdim=True)
        log_sum = largest + torch.exp(x - largest).sum(dim, keepdim=True).log()
        return x - log_sum, x.abs() + log_sum.abs()

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        inside = super().at(tensors, cell)
        found = inside.quantities
        own = tensors.factor(self.x, cell).value
        return Working(inside.terms, own - found["largest"] - math.log(found["sum"]), found)

    def expression(self) -> Expression:
        logarithm = function("log", self.exponentials(), "the logarithm of {1}")
        return row(read(self.x), sign("−", " less "), logarithm)

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        found = explanation.quantities
        return f"log({number(found['own'])} / {number(found['sum'])})"


@dataclass(frozen=True)
class Largest(Rule):
    """The largest number along an axis, padding left out."""

    x: Operand
    over: str
    real: Operand | None = None

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        axes = (*tensors.axes, self.over)
        x = tensors.aligned(self.x, axes)
        if self.real is not None:
            x = x.masked_fill(tensors.aligned(self.real, axes) == 0, -math.inf)
        found = x.amax(-1)
        return found, found.abs()

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        values, factor = tensors.along(self.x, self.over, cell)
        counts = [1.0] * len(values) if self.real is None else tensors.along(self.real, self.over, cell).values
        real = (step for step, counted in enumerate(counts) if counted)
        found = [Term(f"{self.over} {step}", (factor(step),), values[step]) for step in real]
        return Working(tuple(found), max((term.value for term in found), default=-math.inf))

    def expression(self) -> Expression:
        if self.real is None:
            return function("max", read(self.x), f"the largest {{1}} along {self.over}")
        inside = row(read(self.x), sign("|", " where "), read(self.real))
        return function("max", inside, f"the largest {{1}} along {self.over}")

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        found = largest_first(explanation.terms, limits, lambda term: number(term.value), "smaller")
        return f"the largest of {found}"


@dataclass(frozen=True)
class LayerNorm(Rule):
    """(x − mean) / deviation, then a weight and a bias for each channel."""

    title: ClassVar[Title | None] = Title("Mean 0, variance 1", extra=True)
    centred: ClassVar[bool] = True
    x: Operand
    weight: Operand
    bias: Operand | None = None
    over: str = "channel"
    epsilon: float = 1e-5

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        x, dim = tensors.aligned(self.x), dim_of(tensors, self.over)
        mean = x.mean(dim, keepdim=True) if self.centred else torch.zeros_like(x.narrow(dim, 0, 1))
        spread = ((x - mean) ** 2).mean(dim, keepdim=True)
        gain = tensors.aligned(self.weight) / torch.sqrt(spread + self.epsilon)
        found, size = (x - mean) * gain, (x.abs() + mean.abs()) * gain.abs()
        if self.bias is not None:
            bias = tensors.aligned(self.bias)
            found, size = found + bias, size + bias.abs()
        return found, size

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        entries = tensors.along(self.x, self.over, cell).values
        mean = math.fsum(entries) / len(entries) if self.centred else 0.0
        spread = math.fsum((entry - mean) ** 2 for entry in entries) / len(entries)
        deviation = math.sqrt(spread + self.epsilon)
        own, weight = tensors.factor(self.x, cell), tensors.factor(self.weight, cell)
        per = constant(1 / deviation)
        terms = [Term("x / deviation", (own, weight, *per), own.value * weight.value / deviation)]
        quantities = {"deviation": deviation}
        if self.centred:
            less = -mean * weight.value / deviation
            terms.append(Term("− mean / deviation", (Factor(None, (), -mean), weight, *per), less))
            quantities["mean"] = mean
        if self.bias is not None:
            bias = tensors.factor(self.bias, cell)
            terms.append(Term("bias", (bias,), bias.value))
        return Working(tuple(terms), math.fsum(term.value for term in terms), quantities)

    def expression(self) -> Expression:
        x = read(self.x)
        top = row(x, sign("−"), symbol("mean"), words=f"({x.words} − mean)") if self.centred else x
        spread = symbol("variance" if self.centred else "mean square")
        normalised = fraction(top, root(row(spread, sign("+"), value(self.epsilon))), " / ")
        bias = () if self.bias is None else (sign("+", ", plus "), read(self.bias))
        return row(normalised.remarked(f" over {self.over}"), sign("·", ", times "), read(self.weight), *bias)


@dataclass(frozen=True)
class RMSNorm(LayerNorm):
    """x over the root of its mean square, times a weight."""

    title: ClassVar = Title("Mean square 1", extra=True)
    centred: ClassVar = False


@dataclass(frozen=True)
class CrossEntropy(Rule):
    """The mean over the places of − log probability of the right token."""

    x: Operand
    labels: Operand
    over: str = "place"

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        table = tensors.aligned(self.x, (self.over, "vocabulary"))
        right = -table.gather(1, tensors.raw(self.labels).long()[:, None])[:, 0]  # [N]
        return right.mean(), right.abs().mean()

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        count = tensors.size(self.labels, self.over)
        terms = []
        for step, here in tensors.steps(self.labels, self.over, cell):
            label = int(tensors.factor(self.labels, here).value)
            entry = tensors.factor(self.x, {**here, "vocabulary": label})
            terms.append(Term(f"{self.over} {step}", (entry, Factor(None, (), -1 / count)), -entry.value / count))
        return total(terms)

    def expression(self) -> Expression:
        x = read(self.x)
        words = f"the mean over {self.over} of −{x.words} of the right token"
        return row(sign("−"), fraction(value("1"), symbol("N")), summed(self.over, x), words=words)
