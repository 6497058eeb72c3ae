"""One number of a trace and the numbers it was computed from: as data, and as lines of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, overload

from glassformer.base.html import page, paragraph, table
from glassformer.base.lines import USUAL, grid, indented, label, wrapped
from glassformer.config import ModelConfig
from glassformer.look.formulas.named import read_cell

LOWERED = "each exponent is less the largest: nothing overflows, the result is the same"


@dataclass(frozen=True)
class Limits:
    """How much is written out: terms of a sum, cells of a row, heads, words, sentences, blocks of layers, answers."""

    terms: int = 16
    cells: int = 16
    heads: int = 4
    words: int = 30
    sentences: int = 4
    blocks: int = 1
    answers: int = 5

    @staticmethod
    def fitting(config: ModelConfig) -> Limits:
        """Everything of a model as small as the slides'; a few of each of a larger one."""
        return Limits() if config.output_stack.width <= 8 else Limits(terms=3, cells=4, heads=2)


@dataclass(frozen=True)
class Reference:
    """A cell of a named tensor and its value; a constant has no name. `where` is the cell in words."""

    name: str | None
    cell: Mapping[str, int]
    where: str
    value: float

    def __str__(self) -> str:
        return f"{self.value:.6g}" if self.name is None else f"{self.name}[{self.where}]"


@dataclass(frozen=True)
class Part:
    """One term of the formula: its factors, its value, and the sum up to it; `added`: its value is their sum."""

    what: str
    factors: tuple[Reference, ...]
    value: float
    running: float
    added: bool = False

    @property
    def fills(self) -> bool:
        """Whether a mask has put it there: its value is no product of the mask and the fill."""
        return self.what.startswith("forbidden")

    @property
    def numbers(self) -> str:
        """The numbers it is made of: `0.5 · −2`, or `0.5 − 2`."""
        if self.fills:
            return "masked: not looked at"
        if self.added:
            return " + ".join(number(factor.value) for factor in self.factors).replace("+ −", "− ")
        return " · ".join(number(factor.value) for factor in self.factors) or self.what

    @property
    def cells(self) -> str:
        return " · ".join(str(factor) for factor in self.factors if factor.name is not None)


class _Valued(Protocol):
    @property
    def value(self) -> float: ...


Valued = TypeVar("Valued", bound=_Valued, covariant=True)


class Terms(Sequence[Valued]):
    """The terms of a sum by their values: a softmax over a vocabulary has thousands, so each is made when it is asked
    for. Equal to a tuple of them, and pickled as one.
    """

    def __init__(self, values: list[float], made: Callable[[int], Valued]) -> None:
        self.values, self.made = values, made

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, at: int) -> Valued: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Valued, ...]: ...

    def __getitem__(self, at: int | slice) -> Valued | tuple[Valued, ...]:
        places = range(len(self))[at]
        return self.made(places) if isinstance(places, int) else tuple(map(self.made, places))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # as of what has terms: a cell is a mapping

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type[tuple[Valued, ...]], tuple[tuple[Valued, ...]]]:
        return tuple, (tuple(self),)


def values_of(terms: Sequence[_Valued]) -> list[float]:
    return terms.values if isinstance(terms, Terms) else [term.value for term in terms]


@dataclass(frozen=True)
class Explanation:
    """One number of a trace, its formula in words and as MathML, its terms, and the number computed again. `error` =
    |difference| / (1 + sum of the absolute terms). A weight or a fact has no formula.
    """

    name: str
    cell: Mapping[str, int]
    where: str
    value: float
    rule: str
    formula: str
    mathml: str
    terms: Sequence[Part] = ()
    quantities: Mapping[str, float] = field(default_factory=dict)
    recomputed: float | None = None
    difference: float = 0.0
    error: float = 0.0

    def __str__(self) -> str:
        return "\n".join(explained_lines(self))

    def _repr_html_(self) -> str:
        """What a notebook shows: the number, its formula, its terms with their running sum, the number again."""
        kept, left, rest = self.largest(Limits().terms)
        rows = [(term_name(term), term.numbers, number(term.value), number(term.running), term.cells) for term in kept]
        rows += [(f"{left} more", "", number(rest), "", "")] * bool(left)
        head = ("term", heading_of(kept), self.worth, "sum so far", "from")
        facts = [(name, number(value)) for name, value in self.quantities.items()]
        if self.recomputed is not None:
            facts.append(("computed again", f"{number(self.recomputed)}, difference {self.difference:.1e}"))
        if self.lowered:
            facts.append(("exponents", LOWERED))
        return page(
            f"{self.name}[{self.where}] = {number(self.value)}",
            paragraph(self.formula),
            table(rows, head=head, right=(1, 2, 3)) if rows else "",
            table(facts) if facts else "",
        )

    @property
    def worth(self) -> str:
        """What a term adds to the sum."""
        return "exponential" if self.rule in ("softmax", "log_softmax") else "value"

    @property
    def lowered(self) -> bool:
        """Whether its exponents are the scores less the largest one."""
        return self.worth == "exponential" and bool(self.quantities)

    @property
    def operands(self) -> tuple[Reference, ...]:
        """The cells this number was made from, each once."""
        named = (factor for term in self.terms for factor in term.factors if factor.name is not None)
        found: dict[tuple[str | None, str], Reference] = {}
        for factor in named:
            found.setdefault((factor.name, factor.where), factor)
        return tuple(found.values())

    def largest(self, count: int) -> tuple[tuple[Part, ...], int, float]:
        """The `count` largest terms in their order, how many are left out, and their sum."""
        if len(self.terms) <= count:
            return tuple(self.terms), 0, 0.0
        values = values_of(self.terms)
        order = sorted(range(len(values)), key=lambda index: -abs(values[index]))
        kept = tuple(map(self.terms.__getitem__, sorted(order[:count])))
        return kept, len(values) - count, sum(values[index] for index in sorted(order[count:]))

    def sum_of(self, write: Callable[[Part], str], limits: Limits) -> str:
        """The largest terms as a sum: `a + b − c + (5 more: 0.25)`."""
        kept, left, rest = self.largest(limits.terms)
        text = " + ".join(write(term) for term in kept).replace("+ −", "− ")
        return text + (f" + ({left} more: {number(rest)})" if left else "")


def largest_first(terms: Sequence[Part], limits: Limits, write: Callable[[Part], str], rest: str = "more") -> str:
    """The largest terms, the largest first, and how many are left out: `a, b, 3 more`."""
    kept = sorted(terms, key=lambda term: -term.value)[: limits.terms]
    left = len(terms) - len(kept)
    return ", ".join(map(write, kept)) + (f", {left} {rest}" if left else "")


def number(value: float) -> str:
    """A number as it is printed: four decimals, or as many digits as it needs."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "−∞" if value < 0 else "∞"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value)).replace("-", "−")
    text = f"{value:.4f}" if 1e-3 <= abs(value) < 1e4 else f"{value:.3g}"
    return text.replace("-", "−")


def explained_lines(explanation: Explanation, limits: Limits | None = None, width: int = USUAL) -> Iterator[str]:
    """One number in full: formula, a table of its terms with their running sum, the number computed again."""
    yield from wrapped(f"{explanation.name}[{explanation.where}] = {number(explanation.value)}", width)
    yield from indented(wrapped(explanation.formula, width - 2), 2)
    kept, left, rest = explanation.largest((limits or Limits()).terms)
    if kept:
        names, heading = [term_name(term) for term in kept], heading_of(kept)
        if max(map(len, names)) + len(heading) > width - 6:  # the names are in "made from"
            heading = "numbers"
        rows = [("term", heading, explanation.worth, "sum so far")]
        rows += [
            (name, term.numbers, number(term.value), number(term.running))
            for name, term in zip(names, kept, strict=True)
        ]
        yield from indented(grid(rows, width - 4), 4)
    if left:
        yield f"    {left} more: sum {number(rest)}"
    for quantity, value in explanation.quantities.items():
        yield f"    {quantity}: {number(value)}"
    if explanation.lowered:
        yield from indented(wrapped(LOWERED, width - 4), 4)
    if explanation.operands:
        yield "    made from:"
        for operand in made_from(explanation):
            yield from indented(wrapped(operand, width - 6, rest=4), 6)
    if explanation.recomputed is not None:
        again = f"computed again: {number(explanation.recomputed)}, difference {explanation.difference:.1e}"
        yield from indented(wrapped(again, width - 2), 2)


def heading_of(terms: Sequence[Part]) -> str:
    """What the numbers of the terms are: `query · key`; where it differs from term to term, `numbers`."""
    found = {
        " · ".join("constant" if factor.name is None else last_of(factor.name) for factor in term.factors)
        for term in terms
    }
    plain = len(found) == 1 and "" not in found and not any(term.fills for term in terms)
    return found.pop() if plain else "numbers"


def last_of(name: str) -> str:
    """The end of a name: `query`, `query.weight`."""
    steps = name.split(".")
    return ".".join(steps[-2:]) if steps[0] == "parameters" else steps[-1]


def term_name(term: Part) -> str:
    """What a term is: the step of an axis by its word."""
    axis, _, index = term.what.partition(" ")
    for factor in term.factors:
        if index.isdigit() and factor.cell.get(axis) == int(index):
            return f"{axis} {label(read_cell(factor.where).get(axis, index))}"
    return label(term.what, 24)


def made_from(explanation: Explanation) -> Iterator[str]:
    """The cells that a number was made from, a line for each tensor; what differs between them is `…`."""
    by_name: dict[str | None, list[dict[str, str]]] = {}
    for operand in explanation.operands:
        by_name.setdefault(operand.name, []).append(read_cell(operand.where))
    for name, found in by_name.items():
        where = ((axis, {cell.get(axis, "") for cell in found}) for axis in found[0])
        shown = ",".join(f"{axis}={words.pop() if len(words) == 1 else '…'}" for axis, words in where)
        yield f"{name}[{shown}]" if shown else f"{name}"
