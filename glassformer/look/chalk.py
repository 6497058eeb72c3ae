"""The steps of the board as lines of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from glassformer.look.board import Step, Table
from glassformer.look.explain import Explanation, Part
from glassformer.look.mix import Mixing, Share, Thin


def number(value: float) -> str:
    """A number as it is written at the board: four decimals, or as many digits as it needs."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "−∞" if value < 0 else "∞"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value)).replace("-", "−")
    told = f"{value:.4f}" if 1e-3 <= abs(value) < 1e4 else f"{value:.3g}"
    return told.replace("-", "−")


def write(steps: Iterable[Step], thin: Thin | None = None) -> Iterator[str]:
    """All steps as lines."""
    thin = thin or Thin()
    for count, step in enumerate(steps, start=1):
        yield from ("", f"{count}. {step.title}" + ("   (not in the slides)" if step.extra else ""))
        if step.name:
            yield f"   {step.name}"
        if step.formula:
            yield f"   {step.formula}"
        for table in step.tables:
            yield from indented(table_lines(table))
        for cell in step.cells:
            yield from indented(cell_lines(cell, thin))
        for mixing in step.mixings:
            yield from indented(mixing_lines(mixing))
        yield from (f"   {remark}" for remark in step.remarks)
        yield from (f"   Note {key}: {text}" for key, text in step.notes)


def indented(lines: Iterable[str]) -> Iterator[str]:
    """Three spaces in."""
    return (f"   {line}".rstrip() for line in lines)


def columns(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> Iterator[str]:
    """Rows of words as columns, numbers to the right; `left` are the columns that hold words."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = [
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(padded).rstrip()


def table_lines(table: Table) -> Iterator[str]:
    """A caption, a header, and the rows with their marks."""
    marks = table.marks or ("",) * len(table.rows)
    whole = {"place", "id"} & set(table.header)
    show: Callable[[float], str] = (lambda value: str(int(value))) if whole else number
    rows = [("", *table.header)] + [(label, *map(show, numbers)) for label, numbers in table.rows]
    yield f"{table.caption}:"
    for line, mark in zip(columns(rows), ("", *marks), strict=True):
        yield f"  {line}  {mark}".rstrip()
    if table.more:
        yield f"  ({table.more})"


def mixing_lines(mixing: Mixing) -> Iterator[str]:
    """Weight × value = what is added → the sum so far, a word a line."""
    yield f"head {mixing.head}:"
    rows = []
    for move in mixing.moves:
        sides = [vector(move.value), vector(move.added), vector(move.running)]
        rows.append((move.word, number(move.weight), "×", sides[0], "=", sides[1], "→", sides[2], move.absent))
    yield from (f"  {line}" for line in columns(rows, left=(0, 8)))
    if mixing.more:
        yield f"  ({mixing.more})"


def vector(numbers: Sequence[float]) -> str:
    """[a b c]."""
    return f"[{' '.join(number(value).rjust(7) for value in numbers)}]"


def share_lines(shares: Sequence[Share]) -> Iterator[str]:
    """Each source word's share, absent words marked."""
    heads = [f"head {head}" for head in range(len(shares[0].weights))]
    rows = [("", *heads, "length given", "")]
    rows += [(share.word, *map(number, share.weights), number(share.length), share.absent) for share in shares]
    return columns(rows, left=(0, len(heads) + 2))


# --------------------------------------------------------------------------- one cell


def cell_lines(explanation: Explanation, thin: Thin | None = None) -> Iterator[str]:
    """One number and where it came from, on one line where it fits."""
    thin = thin or Thin()
    name = explanation.name.rpartition(".")[2]
    yield f"{name}[{explanation.where}] = {working(explanation, thin)}"


def explained_lines(explanation: Explanation, thin: Thin | None = None) -> Iterator[str]:
    """One number in full: formula, terms with their running sum, the number computed again."""
    thin = thin or Thin()
    yield f"{explanation.name}[{explanation.where}] = {number(explanation.value)}"
    yield f"  {explanation.formula}"
    kept, left, rest = explanation.largest(thin.terms)
    rows = [(f"{factors(term)}", number(term.value), f"sum {number(term.running)}", names(term)) for term in kept]
    yield from (f"    {line}" for line in columns(rows, left=(3,))) if rows else ()
    if left:
        yield f"    {left} more: sum {number(rest)}"
    for quantity, value in explanation.quantities.items():
        yield f"    {quantity}: {number(value)}"
    if explanation.recomputed is not None:
        yield f"  computed again: {number(explanation.recomputed)}, difference {explanation.difference:.1e}"


def names(term: Part) -> str:
    """The cells a term is made of."""
    return " · ".join(str(factor) for factor in term.factors if factor.name is not None)


def factors(term: Part) -> str:
    """The numbers a term is made of."""
    return " · ".join(number(factor.value) for factor in term.factors) or term.what


def working(explanation: Explanation, thin: Thin) -> str:
    """The arithmetic of one cell as a line, the largest terms first cut when there are too many."""
    teller = TELLERS.get(explanation.rule, tell_sum)
    return f"{teller(explanation, thin)} = {number(explanation.value)}"


def tell_sum(explanation: Explanation, thin: Thin) -> str:
    """a·b + c·d + …"""
    kept, left, rest = explanation.largest(thin.terms)
    told = " + ".join(f"({factors(term)})" if len(term.factors) > 1 else factors(term) for term in kept)
    told = told.replace("+ −", "− ")
    return told + (f" + ({left} more: {number(rest)})" if left else "")


def tell_tanh(explanation: Explanation, thin: Thin) -> str:
    """tanh(a·b + …)"""
    return f"tanh({tell_sum(explanation, thin)})"


def tell_softmax(explanation: Explanation, thin: Thin) -> str:
    """exp(x − largest) / (sum of such)."""
    if not explanation.quantities:
        return "nothing to look at"
    kept, left, rest = explanation.largest(thin.terms)
    below = " + ".join(number(term.value) for term in kept) + (f" + ({left} more: {number(rest)})" if left else "")
    told = explanation.quantities
    return f"exp({number(told['score'])} − {number(told['largest'])}) / ({below})"


def tell_log_softmax(explanation: Explanation, thin: Thin) -> str:
    """x − log of the sum."""
    told = explanation.quantities
    return f"log({number(told['own'])} / {number(told['sum'])})"


def tell_curve(explanation: Explanation, thin: Thin) -> str:
    """relu(x)."""
    curve = explanation.formula.partition(" = ")[2].partition(" of ")[0]
    term = explanation.terms[0]
    inner, *others = term.factors
    return f"{curve}({number(inner.value)})" + "".join(f" · {number(other.value)}" for other in others)


def tell_reasons(explanation: Explanation, thin: Thin) -> str:
    """Each reason, yes or no."""
    told = ", ".join(f"{term.what}: {'yes' if term.value else 'no'}" for term in explanation.terms)
    return told or "nothing forbids"


def tell_fill(explanation: Explanation, thin: Thin) -> str:
    """The score, or the fill that takes its place or is added."""
    return " + ".join(
        number(term.value) + (" (forbidden)" if term.what.startswith("forbidden") else "") for term in explanation.terms
    )


def tell_wave(explanation: Explanation, thin: Thin) -> str:
    """sin(position × rate)."""
    term = explanation.terms[0]
    return f"{term.what.partition(' ')[0]}({factors(term)})"


def tell_row(explanation: Explanation, thin: Thin) -> str:
    """Row 3 of the table."""
    term = explanation.terms[0]
    if len(term.factors) > 1 and term.value == 0:
        return "hidden, so zeroed"
    scale = f" · {number(term.factors[1].value)}" if len(term.factors) > 1 else ""
    return f"row {int(explanation.quantities['row'])} of the table" + (
        f": {number(term.factors[0].value)}{scale}" if scale else ""
    )


def tell_place(explanation: Explanation, thin: Thin) -> str:
    """Which head it was copied from."""
    return explanation.terms[0].what


TELLERS: dict[str, Callable[[Explanation, Thin], str]] = {
    "look_up": tell_row,
    "concatenate": tell_place,
    "softmax": tell_softmax,
    "log_softmax": tell_log_softmax,
    "tanh_linear": tell_tanh,
    "activation": tell_curve,
    "gate": tell_curve,
    "may_look": tell_reasons,
    "fill_set": tell_fill,
    "fill_add": tell_fill,
    "sinusoid": tell_wave,
}
