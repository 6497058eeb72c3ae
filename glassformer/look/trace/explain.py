"""Explain one cell: its formula worked out on the numbers of a trace."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from torch import Tensor

from glassformer.look.formulas.explanation import Explanation, Part, Reference, Terms, values_of
from glassformer.look.formulas.named import Cell, Source
from glassformer.look.formulas.rules.evaluator import Evaluator, Factor, Formula, Term
from glassformer.look.trace.cell import Axes, Words, name_cell

AxesOf = Callable[[str, Tensor], Axes]  # The axes of a named tensor with their sizes and words


def explain(
    name: str, cell: Cell, formula: Formula | None, source: Source, axes_of: AxesOf, words: Words
) -> Explanation:
    """Explain one cell of a tensor, or of a weight or a fact, which have no formula."""
    tensor = source.tensor(name)
    axes = axes_of(name, tensor)
    where = in_words(axes, cell, words)
    worked = work_out(name, {axis: cell[axis] for axis in axes.names}, formula, source)
    if formula is None:
        kind = "a weight, learned in training" if name.startswith("parameters.") else "given with the text"
        return Explanation(name, dict(cell), where, worked.value, "given", f"{name}[{where}] is {kind}", "")

    # A softmax has a factor for each token of the vocabulary: what is the same for all is found once, and each is named
    # when it is asked for. No tensor is held for that.
    summed = worked.terms
    ends = (summed[0], summed[-1]) if isinstance(summed, Terms) else summed
    met = {factor.name for term in ends for factor in term.factors if factor.name is not None}
    described = {name: axes_of(name, source.tensor(name)) for name in met}
    called: dict[str, dict[tuple[str, int, int], str]] = {}

    def reference(factor: Factor) -> Reference:
        if factor.name is None:
            return Reference(None, {}, "", factor.value)
        known = described[factor.name]
        at = dict(zip(known.names, factor.index, strict=True))
        named = name_cell(known, at, words, called.setdefault(factor.name, {}))
        return Reference(factor.name, at, ",".join(f"{axis}={index}" for axis, index in named.items()), factor.value)

    def part(place: int) -> Part:
        term = summed[place]
        return Part(term.what, tuple(map(reference, term.factors)), term.value, sums[place], term.added)

    values = values_of(summed)
    sums = list(accumulate(values))
    return Explanation(
        name=name,
        cell=dict(cell),
        where=where,
        value=worked.value,
        rule=formula.rule.name,
        formula=formula.in_words(where),
        mathml=formula.in_mathml(),
        terms=Terms(values, part),
        quantities=worked.quantities,
        recomputed=worked.recomputed,
        difference=worked.difference,
        error=worked.error,
    )


@dataclass(frozen=True)
class Worked:
    """One number and its formula worked out; without a formula a weight or fact. `error` as in Explanation."""

    value: float
    terms: Sequence[Term] = ()
    quantities: Mapping[str, float] = field(default_factory=dict)
    recomputed: float | None = None
    difference: float = 0.0
    error: float = 0.0


def work_out(name: str, cell: Cell, formula: Formula | None, source: Source) -> Worked:
    """Work out one cell, its axes in the tensor's order; along an axis stored with size 1 any index will do."""
    tensor = source.tensor(name)
    index = tuple(0 if size == 1 else at for at, size in zip(cell.values(), tensor.shape, strict=True))
    value = float(tensor[index])
    if formula is None:
        return Worked(value)
    working = formula.rule.at(Evaluator(formula, source), cell)
    difference = 0.0 if value == working.result else abs(value - working.result)
    size = sum(map(abs, values_of(working.terms)))
    error = 0.0 if difference == 0 else difference / (1 + size)
    return Worked(value, working.terms, working.quantities, working.result, difference, error)


def in_words(axes: Axes, cell: Cell, words: Words) -> str:
    """`head=1,query=likes,key=She`."""
    return ",".join(f"{axis}={index}" for axis, index in name_cell(axes, cell, words).items())
