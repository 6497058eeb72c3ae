"""What a formula is: a tensor, its axes, and the rule by which it follows from others; and what a rule works with.

A rule computes twice: `whole` gives the tensor and the sum of the absolute terms of each cell; `at` gives the terms
of one cell. It also gives its own words and MathML, and writes the arithmetic of one cell as a line.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from glassformer.look.formulas import named
from glassformer.look.formulas.explanation import Explanation, Limits, Part, Terms, values_of
from glassformer.look.formulas.named import Cell, FormulaError, Operand, Source
from glassformer.look.formulas.rules.notation import Expression, Title, read, row, short, sign

WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Factor(NamedTuple):
    """One number a term is made of: a cell of a named tensor, or a constant (no name)."""

    name: str | None
    index: tuple[int, ...]  # type: ignore[assignment]  # a tuple's own method of this name is not used
    value: float


class Term(NamedTuple):
    """One part of a sum: what it is, what it is made of, and its value; `added`: the sum of these, not the product."""

    what: str
    factors: tuple[Factor, ...]
    value: float
    added: bool = False


def along(
    over: str, values: list[float], factors: Callable[[int], tuple[Factor, ...]], last: Term | None = None
) -> Terms[Term]:
    """The terms of a sum along an axis, and at most one last."""

    def term(step: int) -> Term:
        return Term(f"{over} {step}", factors(step), values[step]) if step < len(values) or last is None else last

    return Terms(values if last is None else [*values, last.value], term)


@dataclass(frozen=True)
class Working:
    """How one cell is computed. `quantities` are numbers found on the way (a mean, a largest score)."""

    terms: Sequence[Term]
    result: float
    quantities: Mapping[str, float] = field(default_factory=dict)


class Line(NamedTuple):
    """The numbers of an operand that are met along an axis, and each of them as a factor."""

    values: list[float]
    factor: Callable[[int], Factor]


@dataclass(frozen=True)
class Rule(ABC):
    """One way in which a tensor follows from others. Its fields are its operands, its axis and its settings. The page
    knows it by its name, `layer_norm` for `LayerNorm`.
    """

    name: ClassVar[str]
    title: ClassVar[Title | None] = None

    def __init_subclass__(cls) -> None:
        cls.name = WORD.sub("_", cls.__name__).lower()

    @property
    def operands(self) -> dict[str, Operand]:
        """The tensors it reads, by role."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {role: value for role, value in values.items() if isinstance(value, Operand)}

    @abstractmethod
    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        """The tensor in double precision and the sum of the absolute terms of each cell."""

    @abstractmethod
    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        """One cell, term by term."""

    @abstractmethod
    def expression(self) -> Expression:
        """The right side of the formula."""

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        """The arithmetic of one cell on a line: (a · b) + (c · d) + …"""

        def write(term: Part) -> str:
            return f"({term.numbers})" if len(term.factors) > 1 else term.numbers

        return explanation.sum_of(write, limits)


@dataclass(frozen=True)
class Formula:
    """How one tensor follows from others; `tokens` and `keys`: whose words the axes query/token and key count."""

    name: str
    axes: str
    rule: Rule
    tokens: str = "inputs"
    keys: str = "inputs"

    def in_words(self, where: str = "") -> str:
        """`weights[head=1] = exp(masked) over the sum of exp(masked) along key`."""
        return f"{short(self.name)}{f'[{where}]' if where else ''} = {self.rule.expression().words}"

    def in_mathml(self) -> str:
        equation = row(read(Operand(self.name, self.axes)), sign("="), self.rule.expression())
        return f'<math display="block">{equation.mathml}</math>'


@dataclass(frozen=True)
class Evaluator:
    formula: Formula
    source: Source

    @property
    def axes(self) -> tuple[str, ...]:
        return named.axis_names(self.formula.axes)

    def raw(self, operand: Operand) -> Tensor:
        """The operand with one dimension for each of its names, as it is stored."""
        return named.view(operand, self.source.tensor(operand.name), self.source.scored_at)

    def aligned(self, operand: Operand, axes: tuple[str, ...] | None = None) -> Tensor:
        """The operand in double precision, its axes in the order of the result's."""
        tensor = named.align(self.raw(operand), operand.names, axes or self.axes, operand.name)
        return tensor if tensor.dtype == torch.bool else tensor.double()

    def factor(self, operand: Operand, cell: Cell) -> Factor:
        tensor = self.source.tensor(operand.name)
        index = named.index_of(operand, tensor.shape, cell, self.source.scored_at)
        return Factor(operand.name, index, float(tensor[index]))

    def along(self, operand: Operand, over: str, cell: Cell) -> Line:
        """The numbers of an operand met along an axis, read at once: single reads of a vocabulary take too long."""
        tensor, size = self.source.tensor(operand.name), self.size(operand, over)
        place = named.step_along(operand, tensor.shape, over)
        if place is None:
            met = [self.factor(operand, here) for _, here in self.steps(operand, over, cell)]
            return Line([factor.value for factor in met], met.__getitem__)
        dim, by = place
        first = named.index_of(operand, tensor.shape, {**cell, over: 0}, self.source.scored_at)
        before, start, after = first[:dim], first[dim], first[dim + 1 :]
        line = tensor[(*before, slice(start, start + by * (size - 1) + 1, by or None), *after)].tolist()
        values = list(map(float, line * size if by == 0 else line))

        def factor(step: int) -> Factor:
            return Factor(operand.name, (*before, start + by * step, *after), values[step])

        return Line(values, factor)

    def size(self, operand: Operand, axis: str) -> int:
        if axis not in operand.names:
            raise FormulaError(f"{operand.name} must have an axis {axis}", got=" ".join(operand.names))
        return named.sizes_of(operand, self.source.tensor(operand.name).shape, self.source.scored_at)[axis]

    def steps(self, operand: Operand, over: str, cell: Cell) -> Iterator[tuple[int, dict[str, int]]]:
        for step in range(self.size(operand, over)):
            yield step, {**cell, over: step}

    def length(self, side: str) -> int:
        return self.source.tensor(f"{side}.positions").shape[1]

    def is_zeroed(self, masked_words: Operand | None, cell: Cell) -> bool:
        return masked_words is not None and self.factor(masked_words, cell).value != 0

    def zeroed(self, value: Tensor, masked_words: Operand | None) -> Tensor:
        """The tensor with the vectors of masked words zeroed, where the formula has such."""
        return value if masked_words is None else value.masked_fill(self.aligned(masked_words), 0.0)


def total(terms: list[Term]) -> Working:
    return Working(tuple(terms), math.fsum(values_of(terms)))


def constant(value: float) -> tuple[Factor, ...]:
    """A factor that is a plain number; a factor of 1 is left out."""
    return () if value == 1.0 else (Factor(None, (), value),)


# The loss, and the softmax over the candidates of a choice: `run.py` computes them from the model's scores.
AFTERWARDS = ("loss", "choice")


def unit_of(name: str) -> str:
    """The part of the model that computes a tensor: `encoder.blocks.3`, `head`, `loss`, `choice` …"""
    steps = name.split(".")
    if steps[0] in ("encoder", "decoder"):
        return ".".join(steps[:3] if steps[1] == "blocks" else steps[:2])
    return steps[0]


@dataclass(frozen=True, eq=False)
class Statement:
    """All formulas of a model by name, and the tensor that enters each unit; shared by the runs of a model."""

    formulas: Mapping[str, Formula]
    entering: Mapping[str, str]
    memory: str | None = None

    @property
    def of_model(self) -> list[str]:
        """The tensors that the model itself computes: not what is made of its scores afterwards."""
        return [name for name in self.formulas if self.unit(name) not in AFTERWARDS]

    unit = staticmethod(unit_of)
