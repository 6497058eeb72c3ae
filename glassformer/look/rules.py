"""The rules by which a tensor follows from others, each told twice: for a whole tensor and for one cell of it.

Written out in elementary steps, in double precision, and sharing no code with `parts/`: this is the side
that checks. `whole` gives the value and the sum of the absolute terms; `at` gives the terms themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
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


# --------------------------------------------------------------------------- sums


def total(terms: list[Term]) -> Working:
    """The working of a plain sum."""
    return Working(tuple(terms), math.fsum(term.value for term in terms))


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


# --------------------------------------------------------------------------- functions of one number


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


def constant(value: float) -> tuple[Factor, ...]:
    """A factor that is a plain number; 1 is not worth telling."""
    return () if value == 1.0 else (Factor(None, (), value),)


# --------------------------------------------------------------------------- over a whole axis


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
