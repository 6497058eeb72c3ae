"""Rules that select, add and multiply."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.look.formulas.explanation import Explanation, Limits
from glassformer.look.formulas.named import Cell, FormulaError, Operand, align
from glassformer.look.formulas.rules.activations import FUNCTIONS, value_at
from glassformer.look.formulas.rules.evaluator import Evaluator, Rule, Term, Working, along, constant, total
from glassformer.look.formulas.rules.notation import (
    Expression,
    function,
    joined,
    read,
    row,
    short,
    sign,
    summed,
    symbol,
    value,
)

HIDDEN = "; 0 for a masked word"


@dataclass(frozen=True)
class LookUp(Rule):
    """Row `index + offset` of a table, times a scale; zero for a masked word."""

    index: Operand
    table: Operand
    masked_words: Operand | None = None
    scale: float = 1.0
    offset: int = 0

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        """[index axes, channel] or another axis of the table."""
        rows = tensors.raw(self.index).long() + self.offset
        if int(rows.max()) >= tensors.size(self.table, "row") or int(rows.min()) < 0:
            got = f"{int(rows.max())}"
            raise FormulaError(f"{tensors.formula.name} must look up rows of {self.table.name}", got=got)
        found = tensors.aligned(self.table, self.table.names)[rows] * self.scale
        found = align(found, (*self.index.names, self.table.names[1]), tensors.axes, tensors.formula.name)
        found = tensors.zeroed(found, self.masked_words)
        return found, found.abs()

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        place = int(tensors.factor(self.index, cell).value) + self.offset
        entry = tensors.factor(self.table, {**cell, "row": place})
        scale = 0.0 if tensors.is_zeroed(self.masked_words, cell) else self.scale
        found = entry.value * scale
        return Working((Term(f"row {place}", (entry, *constant(scale)), found),), found, {"row": float(place)})

    def expression(self) -> Expression:
        words = f"row {short(self.index.name)}" + (f" + {self.offset}" if self.offset else "")
        words += f" of {short(self.table.name)}" + (f", times {value(self.scale).words}" if self.scale != 1.0 else "")
        place = (sign(","), symbol("row"), sign("="), read(self.index))
        product = row(*self.factors, read(self.table), *place, words=words)
        return product.remarked(HIDDEN if self.masked_words else "")

    @property
    def factors(self) -> tuple[Expression, ...]:
        """What the row is multiplied by: `visible` is 0 for a masked word, 1 for others."""
        visible = (symbol("visible"), sign("·")) if self.masked_words else ()
        return visible if visible and self.scale == 1.0 else (*visible, value(self.scale), sign("·"))

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        (term,) = explanation.terms
        if len(term.factors) > 1 and term.value == 0:
            return "masked, so zeroed"
        scaled = f": {term.numbers}" if len(term.factors) > 1 else ""
        return f"row {int(explanation.quantities['row'])} of the table{scaled}"


@dataclass(frozen=True)
class Add(Rule):
    """The sum of its terms; zero for a masked word."""

    terms: Mapping[str, Operand]
    masked_words: Operand | None = None

    @property
    def operands(self) -> dict[str, Operand]:
        return {**self.terms, **super().operands}

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        first, *others = (tensors.aligned(term) for term in self.terms.values())
        found, size = first, first.abs()
        for term in others:
            found, size = found + term, size + term.abs()
        return tensors.zeroed(found, self.masked_words), tensors.zeroed(size, self.masked_words)

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        kept = 0.0 if tensors.is_zeroed(self.masked_words, cell) else 1.0
        entries = {role: tensors.factor(term, cell) for role, term in self.terms.items()}
        return total([Term(role, (entry, *constant(kept)), entry.value * kept) for role, entry in entries.items()])

    def expression(self) -> Expression:
        return joined("+", self.terms.values()).remarked(HIDDEN if self.masked_words else "")


@dataclass(frozen=True)
class Scale(Rule):
    """One operand times a number; zero for a masked word."""

    x: Operand
    by: float
    masked_words: Operand | None = None

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        found = tensors.zeroed(tensors.aligned(self.x) * self.by, self.masked_words)
        return found, found.abs()

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        entry = tensors.factor(self.x, cell)
        by = 0.0 if tensors.is_zeroed(self.masked_words, cell) else self.by
        return total([Term("scaled", (entry, *constant(by)), entry.value * by)])

    def expression(self) -> Expression:
        by, x = value(self.by), read(self.x)
        return row(by, sign("·"), x, words=f"{x.words} times {by.words}").remarked(HIDDEN if self.masked_words else "")


@dataclass(frozen=True)
class DotProduct(Rule):
    """The sum of products of two operands over an axis, times a scale, plus a bias where there is one."""

    left: Operand
    right: Operand
    bias: Operand | None = None
    over: str = "channel"
    scale: float = 1.0

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        left, right = tensors.raw(self.left).double(), tensors.raw(self.right).double()
        order = list(dict.fromkeys((*tensors.axes, self.over, *self.left.names, *self.right.names)))
        if self.over in tensors.axes or set(order) != {*tensors.axes, self.over}:
            raise FormulaError(f"{tensors.formula.name} cannot sum over {self.over} with these axes")
        read_as = ([order.index(name) for name in names] for names in (self.left.names, self.right.names, tensors.axes))
        of_left, of_right, result = read_as
        try:
            found = torch.einsum(left, of_left, right, of_right, result) * self.scale
            # The size is only a measure of rounding: single precision is enough for it and twice as fast.
            sizes = torch.einsum(left.abs().float(), of_left, right.abs().float(), of_right, result)
            size = sizes.double() * abs(self.scale)
        except RuntimeError as error:
            name = tensors.formula.name
            raise FormulaError(f"{name} must multiply operands whose axes fit", got=str(error)) from None
        if self.bias is not None:
            bias = tensors.aligned(self.bias)
            found, size = found + bias, size + bias.abs()
        return found, size

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        lefts, rights = tensors.along(self.left, self.over, cell), tensors.along(self.right, self.over, cell)
        scale = constant(self.scale)
        products = [left * right * self.scale for left, right in zip(lefts.values, rights.values, strict=True)]
        bias = None if self.bias is None else tensors.factor(self.bias, cell)
        last = None if bias is None else Term("bias", (bias,), bias.value)
        terms = along(self.over, products, lambda step: (lefts.factor(step), rights.factor(step), *scale), last)
        return Working(terms, math.fsum(terms.values))

    def expression(self) -> Expression:
        products = summed(self.over, row(read(self.left), sign("·", " × "), read(self.right)))
        parts, words = [products], products.words
        if self.scale != 1.0:
            parts, words = [value(self.scale), sign("·"), *parts], f"{words}, times {value(self.scale).words}"
        if self.bias is not None:
            parts, words = [*parts, sign("+"), read(self.bias)], f"{words}, plus {read(self.bias).words}"
        return row(*parts, words=words)


@dataclass(frozen=True)
class WeightedSum(DotProduct):
    """The values of an attention, weighted and summed over the keys."""


@dataclass(frozen=True)
class Linear(DotProduct):
    """The numbers that come in, times a row of weights for each that goes out."""


@dataclass(frozen=True)
class ActivatedLinear(DotProduct):
    """An activation of a linear layer (BERT's pooler: tanh). It may shrink differences, so its terms measure it."""

    kind: str = "tanh"

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        found, size = super().whole(tensors)
        return FUNCTIONS[self.kind](found), size

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        inside = super().at(tensors, cell)
        return Working(inside.terms, value_at(self.kind, inside.result), {"sum": inside.result})

    def expression(self) -> Expression:
        return function(self.kind, super().expression(), "{} of {}")

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        kind = explanation.formula.partition(" = ")[2].partition(" of ")[0]
        return f"{kind}({super().arithmetic(explanation, limits)})"


@dataclass(frozen=True)
class Concatenate(Rule):
    """The heads laid side by side: channel = head · size + channel within the head."""

    x: Operand
    over: str = "head"

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        """[..., heads · size]."""
        *rest, last = tensors.axes
        found = tensors.aligned(self.x, (*rest, self.over, last)).flatten(-2)
        return found, found.abs()

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        last = tensors.axes[-1]
        head, channel = divmod(cell[last], tensors.size(self.x, last))
        entry = tensors.factor(self.x, {**cell, self.over: head, last: channel})
        return total([Term(f"{self.over} {head}", (entry,), entry.value)])

    def expression(self) -> Expression:
        return function("concatenate", read(self.x), "{1} of all heads, side by side")

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        return explanation.terms[0].what
