"""One number of a trace and the numbers it was computed from: as data, and as lines of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from glassformer.config import ModelConfig
from glassformer.look.html import page, paragraph, table


@dataclass(frozen=True)
class Limits:
    """How much is written out: terms of a sum, cells of a row, heads, words, blocks of layers, answers."""

    terms: int = 16
    cells: int = 16
    heads: int = 4
    words: int = 12
    blocks: int = 1
    answers: int = 5

    @staticmethod
    def fitting(config: ModelConfig) -> Limits:
        """Everything of a model as small as the slides'; a few of each of a larger one."""
        return Limits() if config.output_stack.width <= 16 else Limits(terms=3, cells=4, heads=2)


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
    """One term of the formula: its factors, its value, and the sum up to it."""

    what: str
    factors: tuple[Reference, ...]
    value: float
    running: float

    @property
    def numbers(self) -> str:
        """The numbers it is made of: `0.5 · −2`."""
        return " · ".join(number(factor.value) for factor in self.factors) or self.what

    @property
    def cells(self) -> str:
        """The cells it is made of."""
        return " · ".join(str(factor) for factor in self.factors if factor.name is not None)


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
        return "\n".join(explained_lines(self))

    def _repr_html_(self) -> str:
        """What a notebook shows: the number, its formula, its terms with their running sum, the number again."""
        kept, left, rest = self.largest(Limits().terms)
        rows = [(term.numbers, number(term.value), number(term.running), term.cells) for term in kept]
        rows += [(f"{left} more", number(rest), "", "")] * bool(left)
        facts = [(name, number(value)) for name, value in self.quantities.items()]
        if self.recomputed is not None:
            facts.append(("computed again", f"{number(self.recomputed)}, difference {self.difference:.1e}"))
        return page(
            f"{self.name}[{self.where}] = {number(self.value)}",
            paragraph(self.formula),
            table(rows, head=("numbers", "term", "sum", "from"), right=(0, 1, 2)) if rows else "",
            table(facts) if facts else "",
        )

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
            return self.terms, 0, 0.0
        order = sorted(range(len(self.terms)), key=lambda index: -abs(self.terms[index].value))
        shown = set(order[:count])
        kept = tuple(term for index, term in enumerate(self.terms) if index in shown)
        left = [term.value for index, term in enumerate(self.terms) if index not in shown]
        return kept, len(left), sum(left)

    def sum_of(self, write: Callable[[Part], str], limits: Limits) -> str:
        """The largest terms as a sum: `a + b − c + (5 more: 0.25)`."""
        kept, left, rest = self.largest(limits.terms)
        text = " + ".join(write(term) for term in kept).replace("+ −", "− ")
        return text + (f" + ({left} more: {number(rest)})" if left else "")


def number(value: float) -> str:
    """A number as it is printed: four decimals, or as many digits as it needs."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "−∞" if value < 0 else "∞"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value)).replace("-", "−")
    text = f"{value:.4f}" if 1e-3 <= abs(value) < 1e4 else f"{value:.3g}"
    return text.replace("-", "−")


def columns(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> Iterator[str]:
    """Rows as aligned columns, numbers to the right; `left` are the columns that hold words."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = [
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(padded).rstrip()


def indented(lines: Iterable[str], by: int = 3) -> Iterator[str]:
    """Lines moved to the right."""
    return (f"{' ' * by}{line}".rstrip() for line in lines)


def explained_lines(explanation: Explanation, limits: Limits | None = None) -> Iterator[str]:
    """One number in full: formula, terms with their running sum, the number computed again."""
    yield f"{explanation.name}[{explanation.where}] = {number(explanation.value)}"
    yield f"  {explanation.formula}"
    kept, left, rest = explanation.largest((limits or Limits()).terms)
    rows = [(term.numbers, number(term.value), f"sum {number(term.running)}", term.cells) for term in kept]
    yield from indented(columns(rows, left=(3,)), 4) if rows else ()
    if left:
        yield f"    {left} more: sum {number(rest)}"
    for quantity, value in explanation.quantities.items():
        yield f"    {quantity}: {number(value)}"
    if explanation.recomputed is not None:
        yield f"  computed again: {number(explanation.recomputed)}, difference {explanation.difference:.1e}"
