"""What a rule works on and what it answers.

A rule tells how a tensor follows from others, twice: `whole` gives the tensor and the sum of the absolute terms of each
cell; `at` gives the terms of one cell themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from glassformer.look.named import Cell, Formula, FormulaError, Operand, Source, align, axis_names, index_of, view


@dataclass(frozen=True)
class Factor:
    """One number a term is made of: a cell of a named tensor, or a constant (no name)."""

    name: str | None
    index: tuple[int, ...]
    value: float


@dataclass(frozen=True)
class Term:
    """One part of a sum: what it is, what it is made of, and its value."""

    what: str
    factors: tuple[Factor, ...]
    value: float


@dataclass(frozen=True)
class Working:
    """How one cell comes about. `quantities` are numbers found on the way (a mean, a largest score)."""

    terms: tuple[Term, ...]
    result: float
    quantities: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Desk:
    """A formula beside the tensors it speaks of."""

    formula: Formula
    source: Source

    def has(self, role: str) -> bool:
        """Whether the formula reads such an operand."""
        return role in self.formula.of

    def operand(self, role: str) -> Operand:
        """The operand in a role; raises FormulaError."""
        if role not in self.formula.of:
            raise FormulaError(f"{self.formula.name} by {self.formula.rule} needs an operand as {role!r}")
        return self.formula.of[role]

    def number(self, name: str) -> float:
        """A setting that is a number."""
        value = self.setting(name)
        if not isinstance(value, float | int):
            raise FormulaError(f"{self.formula.name} needs a number as {name!r}", got=repr(value))
        return float(value)

    def setting(self, name: str) -> float | int | str | bool | None:
        """A setting; raises FormulaError when the formula has none of that name."""
        if name not in self.formula.settings:
            raise FormulaError(f"{self.formula.name} by {self.formula.rule} needs the setting {name!r}")
        return self.formula.settings[name]

    @property
    def over(self) -> str:
        """The axis that is summed or normalised over."""
        if self.formula.over is None:
            raise FormulaError(f"{self.formula.name} by {self.formula.rule} needs an axis to go over")
        return self.formula.over

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the result's axes."""
        return axis_names(self.formula.axes)

    def raw(self, role: str) -> Tensor:
        """The operand with one dimension per name, as it is stored."""
        operand = self.operand(role)
        return view(operand, self.source.tensor(operand.name), self.source.places)

    def names(self, role: str) -> tuple[str, ...]:
        """The names of an operand's axes."""
        return axis_names(self.operand(role).axes)

    def aligned(self, role: str, axes: tuple[str, ...] | None = None) -> Tensor:
        """The operand in double precision, its axes in the order of the result's."""
        tensor = align(self.raw(role), self.names(role), axes or self.axes, self.operand(role).name)
        return tensor if tensor.dtype == torch.bool else tensor.double()

    def factor(self, role: str, cell: Cell) -> Factor:
        """One number of an operand."""
        operand = self.operand(role)
        tensor = self.source.tensor(operand.name)
        index = index_of(operand, tensor.shape, cell, self.source.places)
        return Factor(operand.name, index, float(tensor[index]))

    def size(self, role: str, axis: str) -> int:
        """How long an operand's axis is."""
        names = self.names(role)
        if axis not in names:
            raise FormulaError(f"{self.operand(role).name} must have an axis {axis}", got=" ".join(names))
        return self.raw(role).shape[names.index(axis)]

    def steps(self, role: str, cell: Cell) -> Iterator[tuple[int, dict[str, int]]]:
        """The cells met when going over the formula's axis."""
        for step in range(self.size(role, self.over)):
            yield step, {**cell, self.over: step}

    def hides(self, cell: Cell) -> bool:
        """Whether this cell belongs to a hidden word whose vector is zeroed."""
        return self.has("hidden") and self.factor("hidden", cell).value != 0

    def shown(self, value: Tensor) -> Tensor:
        """The tensor with the vectors of hidden words zeroed, where the formula says so."""
        return value.masked_fill(self.aligned("hidden"), 0.0) if self.has("hidden") else value


class Rule(Protocol):
    """One way in which numbers follow from numbers."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """The tensor in double precision and the sum of the absolute terms of each cell."""
        ...

    def at(self, desk: Desk, cell: Cell) -> Working:
        """One cell, term by term."""
        ...


def total(terms: list[Term]) -> Working:
    """The working of a plain sum."""
    return Working(tuple(terms), math.fsum(term.value for term in terms))


def constant(value: float) -> tuple[Factor, ...]:
    """A factor that is a plain number; 1 is not worth telling."""
    return () if value == 1.0 else (Factor(None, (), value),)
