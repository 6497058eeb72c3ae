"""Rules of one number: activations and gates."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from glassformer.look.named import Cell, FormulaError
from glassformer.look.rules.desk import Desk, Factor, Term, Working


def gelu(x: Tensor) -> Tensor:
    """x · Φ(x), with the exact normal distribution."""
    return x * 0.5 * torch.erfc(-x / math.sqrt(2))


def gelu_tanh(x: Tensor) -> Tensor:
    """The tanh form, another function than the exact one."""
    return x / (1 + torch.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


CURVES: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: (x + x.abs()) / 2,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "silu": lambda x: x / (1 + torch.exp(-x)),
    "tanh": lambda x: 1 - 2 / (1 + torch.exp(2 * x)),
}


def curve(desk: Desk) -> Callable[[Tensor], Tensor]:
    """The activation a formula names."""
    kind = desk.setting("kind")
    if kind not in CURVES:
        raise FormulaError(f"{desk.formula.name} needs an activation", got=repr(kind))
    return CURVES[str(kind)]


class Activation:
    """One number bent by a curve."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """The shape of the operand."""
        x = desk.aligned("x")
        return curve(desk)(x), x.abs()

    def at(self, desk: Desk, cell: Cell) -> Working:
        """One term: what is bent."""
        entry = desk.factor("x", cell)
        return Working((Term("before", (entry,), entry.value),), bend(desk, entry.value))


class Gate:
    """A bent gate times what it lets through."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """The shape of the operands."""
        gate, x = desk.aligned("gate"), desk.aligned("x")
        return curve(desk)(gate) * x, (gate * x).abs()

    def at(self, desk: Desk, cell: Cell) -> Working:
        """One product."""
        gate, x = desk.factor("gate", cell), desk.factor("x", cell)
        bent = bend(desk, gate.value)
        term = Term("gate · x", (Factor(gate.name, gate.index, gate.value), x), bent * x.value)
        return Working((term,), bent * x.value, {"bent gate": bent})


def bend(desk: Desk, x: float) -> float:
    """The formula's curve at one number."""
    return float(curve(desk)(torch.tensor(x, dtype=torch.float64)))
