"""Rules of one number: activations, gates, and what compares two texts."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from glassformer.look.formulas.explanation import Explanation, Limits, number
from glassformer.look.formulas.named import Cell, Operand
from glassformer.look.formulas.rules.evaluator import Evaluator, Factor, Rule, Term, Working, total
from glassformer.look.formulas.rules.notation import Expression, Title, function, read, row, sign, symbol


def gelu(x: Tensor) -> Tensor:
    """x · Φ(x), with the exact normal distribution."""
    return x * 0.5 * torch.erfc(-x / math.sqrt(2))


def gelu_tanh(x: Tensor) -> Tensor:
    """The tanh form, another function than the exact one."""
    return x / (1 + torch.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def mish(x: Tensor) -> Tensor:
    """x · tanh(log(1 + eˣ)), with tanh written out: ((1 + eˣ)² − 1) / ((1 + eˣ)² + 1)."""
    e = torch.exp(-x.abs())  # never above 1
    right = (1 + 2 * e) / (1 + 2 * e + 2 * e * e)
    left = (e * e + 2 * e) / (e * e + 2 * e + 2)
    return x * torch.where(x > 0, right, left)


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: (x + x.abs()) / 2,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "silu": lambda x: x / (1 + torch.exp(-x)),
    "tanh": lambda x: 1 - 2 / (1 + torch.exp(2 * x)),
    "relu2": lambda x: x * (x + x.abs()) / 2,
    "quick_gelu": lambda x: x / (1 + torch.exp(-1.702 * x)),
    "gelu_10": lambda x: torch.where(gelu(x) > 10, 10.0, gelu(x)),  # it is never below -0.17
    "mish": mish,
    "sigmoid": lambda x: 1 / (1 + torch.exp(-x)),
    "log_sigmoid": lambda x: torch.where(x < 0, x, 0.0) - torch.log(1 + torch.exp(-x.abs())),
}


def value_at(kind: str, x: float) -> float:
    return float(FUNCTIONS[kind](torch.tensor(x, dtype=torch.float64)))


@dataclass(frozen=True)
class Activation(Rule):
    x: Operand
    kind: str

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        x = tensors.aligned(self.x)
        found = FUNCTIONS[self.kind](x)
        return found, torch.maximum(x.abs(), found.abs())  # a square rounds by its own size

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        entry = tensors.factor(self.x, cell)
        return Working((Term("before", (entry,), entry.value),), value_at(self.kind, entry.value))

    def expression(self) -> Expression:
        return function(self.kind, read(self.x), "{} of {}")

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        """gelu(0.25), of a gate times what it lets through."""
        kind = explanation.formula.partition(" = ")[2].partition(" of ")[0]
        inner, *others = (number(factor.value) for factor in explanation.terms[0].factors)
        return " · ".join((f"{kind}({inner})", *others))


@dataclass(frozen=True)
class Gate(Rule):
    """An activation function of a gate, times what the gate lets through."""

    title: ClassVar = Title("The activation function of the gate, times the other layer", extra=True)
    gate: Operand
    x: Operand
    kind: str

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        gate, x = tensors.aligned(self.gate), tensors.aligned(self.x)
        found = FUNCTIONS[self.kind](gate) * x
        return found, torch.maximum((gate * x).abs(), found.abs())

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        gate, x = tensors.factor(self.gate, cell), tensors.factor(self.x, cell)
        activated = value_at(self.kind, gate.value)
        product = Term("gate · x", (gate, x), activated * x.value)
        return Working((product,), product.value, {"activated gate": activated})

    def expression(self) -> Expression:
        return row(function(self.kind, read(self.gate), "{} of {}"), sign("·", ", times "), read(self.x))

    arithmetic = Activation.arithmetic


@dataclass(frozen=True)
class Compared(Rule):
    """Two vectors, their absolute difference and their product, one after the other: four times as many channels."""

    first: Operand
    second: Operand

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        first, second = tensors.aligned(self.first), tensors.aligned(self.second)
        product = first * second
        found = torch.cat([first, second, (first - second).abs(), product], dim=-1)
        return found, torch.cat([first.abs(), second.abs(), first.abs() + second.abs(), product.abs()], dim=-1)

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        part, channel = divmod(cell["channel"], tensors.size(self.first, "channel"))
        both = [tensors.factor(each, {**cell, "channel": channel}) for each in (self.first, self.second)]
        if part < 2:
            return total([Term(("first text", "second text")[part], (both[part],), both[part].value)])
        if part == 3:
            return total([Term("product", tuple(both), both[0].value * both[1].value)])
        less, more = sorted(both, key=lambda each: each.value)
        return total(
            [Term("larger", (more,), more.value), Term("smaller", (Factor(None, (), -1.0), less), -less.value)]
        )

    def expression(self) -> Expression:
        u, v = symbol("u"), symbol("v")
        difference = row(sign("|", "|"), u, sign("−"), v, sign("|", "|"))
        four = row(u, sign(";", "; "), v, sign(";", "; "), difference, sign(";", "; "), u, sign("·"), v)
        first, second = row(u, sign("="), read(self.first)), row(v, sign("="), read(self.second))
        return row(four, sign(",", " with "), first, sign(",", " and "), second)
