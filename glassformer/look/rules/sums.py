"""Rules that pick, add and multiply."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from glassformer.look.named import Cell, FormulaError, align
from glassformer.look.rules.desk import Desk, Term, Working, constant, total


class LookUp:
    """Row `index + offset` of a table, times a scale; zero for a hidden word."""

    def rows(self, desk: Desk) -> Tensor:
        """Which rows, in the shape of the index."""
        rows = desk.raw("index").long() + int(desk.number("offset"))
        if int(rows.max()) >= desk.size("table", "row") or int(rows.min()) < 0:
            raise FormulaError(f"{desk.formula.name} looks up a row that {desk.operand('table').name} has not")
        return rows

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """[index axes, channel]."""
        picked = desk.aligned("table", ("row", "channel"))[self.rows(desk)] * desk.number("scale")
        value = align(picked, (*desk.names("index"), "channel"), desk.axes, desk.formula.name)
        value = desk.shown(value)
        return value, value.abs()

    def at(self, desk: Desk, cell: Cell) -> Working:
        """One term."""
        row = int(desk.factor("index", cell).value) + int(desk.number("offset"))
        entry = desk.factor("table", {**cell, "row": row})
        scale = 0.0 if desk.hides(cell) else desk.number("scale")
        value = entry.value * scale
        return Working((Term(f"row {row}", (entry, *constant(scale)), value),), value, {"row": float(row)})


class Add:
    """The sum of all operands; zero for a hidden word."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """The broadcast shape of the operands."""
        terms = [desk.aligned(role) for role in desk.formula.of if role != "hidden"]
        if not terms:
            raise FormulaError(f"{desk.formula.name} is a sum of nothing")
        value, size = terms[0], terms[0].abs()
        for term in terms[1:]:
            value, size = value + term, size + term.abs()
        return desk.shown(value), desk.shown(size)

    def at(self, desk: Desk, cell: Cell) -> Working:
        """A term for each operand."""
        kept = 0.0 if desk.hides(cell) else 1.0
        terms = []
        for role in desk.formula.of:
            if role != "hidden":
                entry = desk.factor(role, cell)
                terms.append(Term(role, (entry, *constant(kept)), entry.value * kept))
        return total(terms)


class Scale:
    """One operand times a number; zero for a hidden word."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """The shape of the operand."""
        value = desk.shown(desk.aligned("x") * desk.number("by"))
        return value, value.abs()

    def at(self, desk: Desk, cell: Cell) -> Working:
        """One term."""
        entry = desk.factor("x", cell)
        by = 0.0 if desk.hides(cell) else desk.number("by")
        return total([Term("scaled", (entry, *constant(by)), entry.value * by)])


class Dot:
    """The sum of products of two operands over an axis, times a scale, plus a bias where there is one."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """The axes of the result, whatever they are."""
        left, right = desk.raw("left").double(), desk.raw("right").double()
        letters: dict[str, str] = {}
        for name in (*desk.axes, desk.over, *desk.names("left"), *desk.names("right")):
            letters.setdefault(name, chr(ord("a") + len(letters)))
        if desk.over in desk.axes or set(letters) != {*desk.axes, desk.over}:
            raise FormulaError(f"{desk.formula.name} cannot sum over {desk.over} with these axes")
        equation = ",".join("".join(letters[name] for name in desk.names(role)) for role in ("left", "right"))
        equation += "->" + "".join(letters[name] for name in desk.axes)
        scale = desk.number("scale")
        try:
            value = torch.einsum(equation, left, right) * scale
            # The size is only a measure of rounding: single precision is enough for it and twice as fast.
            size = torch.einsum(equation, left.abs().float(), right.abs().float()).double() * abs(scale)
        except RuntimeError as error:
            raise FormulaError(f"{desk.formula.name} must multiply operands whose axes fit", got=str(error)) from None
        if desk.has("bias"):
            bias = desk.aligned("bias")
            value, size = value + bias, size + bias.abs()
        return value, size

    def at(self, desk: Desk, cell: Cell) -> Working:
        """A term for each step of the axis, and the bias."""
        scale = desk.number("scale")
        terms = []
        for step, here in desk.steps("left", cell):
            left, right = desk.factor("left", here), desk.factor("right", here)
            value = left.value * right.value * scale
            terms.append(Term(f"{desk.over} {step}", (left, right, *constant(scale)), value))
        if desk.has("bias"):
            bias = desk.factor("bias", cell)
            terms.append(Term("bias", (bias,), bias.value))
        return total(terms)


class TanhDot(Dot):
    """The hyperbolic tangent of a linear sum (BERT's pooler). It shrinks differences, so its terms measure it."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """As the sum."""
        value, size = super().whole(desk)
        return value.tanh(), size

    def at(self, desk: Desk, cell: Cell) -> Working:
        """The terms of the sum."""
        inside = super().at(desk, cell)
        return Working(inside.terms, math.tanh(inside.result), {"sum": inside.result})


class Concatenate:
    """The heads laid side by side: channel = head · size + channel within the head."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """[..., heads · size]."""
        *rest, last = desk.axes
        value = desk.aligned("x", (*rest, desk.over, last)).flatten(-2)
        return value, value.abs()

    def at(self, desk: Desk, cell: Cell) -> Working:
        """One term."""
        last = desk.axes[-1]
        head, channel = divmod(cell[last], desk.size("x", last))
        entry = desk.factor("x", {**cell, desk.over: head, last: channel})
        return total([Term(f"{desk.over} {head}", (entry,), entry.value)])
