"""One number followed to the numbers it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from torch import Tensor

from glassformer.look.cell import Axes, Words, name_cell
from glassformer.look.formulas import Statement
from glassformer.look.named import Cell, Source
from glassformer.look.rules import RULES
from glassformer.look.rules.desk import Desk, Factor, Working
from glassformer.look.said import in_mathml, in_words


@dataclass(frozen=True)
class Reference:
    """A cell of a named tensor and its value; a constant has no name. `where` says the cell in words."""

    name: str | None
    cell: Mapping[str, int]
    where: str
    value: float

    def __str__(self) -> str:
        return f"{self.value:.6g}" if self.name is None else f"{self.name}[{self.where}]"


@dataclass(frozen=True)
class Part:
    """One term of the formula: what it is made of, its value, and the sum up to it."""

    what: str
    factors: tuple[Reference, ...]
    value: float
    running: float


@dataclass(frozen=True)
class Explanation:
    """One number of a trace: its formula, its terms, and the number computed again from its operands.

    `formula` is in words, `mathml` the same as MathML. Each factor of each term that has a name can be explained
    again. `error` = |difference| / (1 + sum of the absolute terms). A weight or a fact has no formula.
    """

    name: str
    cell: Mapping[str, int]
    where: str
    value: float
    rule: str
    formula: str
    mathml: str
    terms: tuple[Part, ...] = ()
    quantities: Mapping[str, float] = field(default_factory=dict)
    recomputed: float | None = None
    difference: float = 0.0
    error: float = 0.0

    def __str__(self) -> str:
        """As it is written at the board."""
        from glassformer.look.chalk import explained_lines  # which writes explanations, and so imports them

        return "\n".join(explained_lines(self))

    @property
    def operands(self) -> tuple[Reference, ...]:
        """The cells this number was made from, each once."""
        found: dict[tuple[str, str], Reference] = {}
        for term in self.terms:
            for factor in term.factors:
                if factor.name is not None:
                    found.setdefault((factor.name, factor.where), factor)
        return tuple(found.values())

    def largest(self, count: int) -> tuple[tuple[Part, ...], int, float]:
        """The `count` largest terms in their order, how many are left out, and their sum."""
        if len(self.terms) <= count:
            return self.terms, 0, 0.0
        order = sorted(range(len(self.terms)), key=lambda index: -abs(self.terms[index].value))
        shown = set(order[:count])
        kept = tuple(term for index, term in enumerate(self.terms) if index in shown)
        left = [term.value for index, term in enumerate(self.terms) if index not in shown]
        return kept, len(left), sum(left)


class Explained(Protocol):
    """What explaining needs of a trace."""

    @property
    def statement(self) -> Statement:
        """The formulas."""
        ...

    @property
    def words(self) -> Words:
        """What cells may be called by."""
        ...

    def described(self, name: str, tensor: Tensor | None = None) -> Axes:
        """Axes with sizes and words."""
        ...


def explain(trace: Explained, name: str, cell: Cell, held: Source) -> Explanation:
    """Explain one cell of a tensor, a weight or a fact; `held` has the tensor and its operands at hand."""
    formula = trace.statement.formulas.get(name)
    tensor = held.tensor(name)
    axes = trace.described(name, tensor)
    where = said(axes, cell, trace.words)
    value = float(tensor[tuple(cell[axis] for axis in axes.names)])
    if formula is None:
        kind = "a weight, learned in training" if name.startswith("parameters.") else "given with the text"
        return Explanation(name, dict(cell), where, value, "given", f"{name}[{where}] is {kind}", "")
    working = RULES[formula.rule].at(Desk(formula, held), cell)
    terms = parts(trace, held, working)
    difference = 0.0 if value == working.result else abs(value - working.result)
    size = sum(abs(term.value) for term in terms)
    return Explanation(
        name=name,
        cell=dict(cell),
        where=where,
        value=value,
        rule=formula.rule,
        formula=in_words(formula, where),
        mathml=in_mathml(formula),
        terms=terms,
        quantities=working.quantities,
        recomputed=working.result,
        difference=difference,
        error=0.0 if difference == 0 else difference / (1 + size),
    )


def parts(trace: Explained, held: Source, working: Working) -> tuple[Part, ...]:
    """The terms with their running sum and their factors' cells in words."""
    sums = accumulate(term.value for term in working.terms)
    return tuple(
        Part(term.what, tuple(reference(trace, held, factor) for factor in term.factors), term.value, running)
        for term, running in zip(working.terms, sums, strict=True)
    )


def reference(trace: Explained, held: Source, factor: Factor) -> Reference:
    """A factor with its cell by axis and in words."""
    if factor.name is None:
        return Reference(None, {}, "", factor.value)
    axes = trace.described(factor.name, held.tensor(factor.name))
    cell = dict(zip(axes.names, factor.index, strict=True))
    return Reference(factor.name, cell, said(axes, cell, trace.words), factor.value)


def said(axes: Axes, cell: Cell, words: Words) -> str:
    """`head=1,query=likes,key=She`."""
    return ",".join(f"{axis}={index}" for axis, index in name_cell(axes, cell, words).items())
