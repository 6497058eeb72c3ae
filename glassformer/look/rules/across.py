"""Rules over a whole axis: softmax, norms, cross-entropy."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from glassformer.look.named import Cell, FormulaError
from glassformer.look.rules.desk import Desk, Factor, Term, Working, constant, total


def dim_of(desk: Desk) -> int:
    """Which dimension of the result the formula goes over."""
    if desk.over not in desk.axes:
        raise FormulaError(f"{desk.formula.name} goes over {desk.over}", got=" ".join(desk.axes))
    return desk.axes.index(desk.over)


def line(desk: Desk, role: str, cell: Cell) -> list[Factor]:
    """The operand's numbers along the formula's axis."""
    return [desk.factor(role, here) for _, here in desk.steps(role, cell)]


class Softmax:
    """exp(x) over the sum of exp(x) along an axis. Where there is nothing but −∞, all weights are 0."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """The shape of the operand."""
        x, dim = desk.aligned("x"), dim_of(desk)
        largest = x.amax(dim, keepdim=True)
        raised = torch.exp(x - largest.masked_fill(largest == -math.inf, 0.0))
        value = raised / raised.sum(dim, keepdim=True).clamp(min=1e-300)
        return value, value

    def at(self, desk: Desk, cell: Cell) -> Working:
        """The terms are the exponentials whose sum divides this cell's own."""
        entries = line(desk, "x", cell)
        largest = max(entry.value for entry in entries)
        if largest == -math.inf:
            return Working(tuple(Term("nothing", (entry,), 0.0) for entry in entries), 0.0)
        raised = [math.exp(entry.value - largest) for entry in entries]
        terms = (
            Term(f"{desk.over} {step}", (entry,), value)
            for step, (entry, value) in enumerate(zip(entries, raised, strict=True))
        )
        sum_, own, score = math.fsum(raised), raised[cell[desk.over]], entries[cell[desk.over]].value
        return Working(tuple(terms), own / sum_, {"score": score, "largest": largest, "own": own, "sum": sum_})


class LogSoftmax(Softmax):
    """The logarithm of the softmax: x less the logarithm of the sum of exponentials."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """The shape of the operand."""
        x, dim = desk.aligned("x"), dim_of(desk)
        largest = x.amax(dim, keepdim=True)
        log_sum = largest + torch.exp(x - largest).sum(dim, keepdim=True).log()
        return x - log_sum, x.abs() + log_sum.abs()

    def at(self, desk: Desk, cell: Cell) -> Working:
        """The terms are those of the softmax."""
        inside = super().at(desk, cell)
        own = desk.factor("x", cell).value
        result = own - inside.quantities["largest"] - math.log(inside.quantities["sum"])
        return Working(inside.terms, result, inside.quantities)


class LayerNorm:
    """(x − mean) / deviation, then a weight and a bias for each channel."""

    centred = True

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """The shape of the operand."""
        x, dim = desk.aligned("x"), dim_of(desk)
        mean = x.mean(dim, keepdim=True) if self.centred else torch.zeros_like(x.narrow(dim, 0, 1))
        spread = ((x - mean) ** 2).mean(dim, keepdim=True)
        gain = desk.aligned("weight") / torch.sqrt(spread + desk.number("epsilon"))
        value, size = (x - mean) * gain, (x.abs() + mean.abs()) * gain.abs()
        if desk.has("bias"):
            bias = desk.aligned("bias")
            value, size = value + bias, size + bias.abs()
        return value, size

    def at(self, desk: Desk, cell: Cell) -> Working:
        """Three terms: the number, the mean it is measured from, the bias."""
        entries = [entry.value for entry in line(desk, "x", cell)]
        mean = math.fsum(entries) / len(entries) if self.centred else 0.0
        spread = math.fsum((entry - mean) ** 2 for entry in entries) / len(entries)
        deviation = math.sqrt(spread + desk.number("epsilon"))
        own, weight = desk.factor("x", cell), desk.factor("weight", cell)
        per = constant(1 / deviation)
        terms = [Term("x / deviation", (own, weight, *per), own.value * weight.value / deviation)]
        quantities = {"deviation": deviation}
        if self.centred:
            less = -mean * weight.value / deviation
            terms.append(Term("− mean / deviation", (Factor(None, (), -mean), weight, *per), less))
            quantities["mean"] = mean
        if desk.has("bias"):
            bias = desk.factor("bias", cell)
            terms.append(Term("bias", (bias,), bias.value))
        return Working(tuple(terms), math.fsum(term.value for term in terms), quantities)


class RMSNorm(LayerNorm):
    """x over the root of its mean square, times a weight."""

    centred = False


class CrossEntropy:
    """The mean over the places of − log probability of the right piece."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """A scalar."""
        right = self.right(desk)
        return right.mean(), right.abs().mean()

    def right(self, desk: Desk) -> Tensor:
        """− log probability of the right piece at each place, [N]."""
        table = desk.aligned("x", (desk.over, "vocabulary"))
        return -table.gather(1, desk.raw("labels").long()[:, None])[:, 0]

    def at(self, desk: Desk, cell: Cell) -> Working:
        """A term for each place."""
        count = desk.size("labels", desk.over)
        terms = []
        for step, here in desk.steps("labels", cell):
            label = int(desk.factor("labels", here).value)
            entry = desk.factor("x", {**here, "vocabulary": label})
            terms.append(Term(f"{desk.over} {step}", (entry, Factor(None, (), -1 / count)), -entry.value / count))
        return total(terms)
