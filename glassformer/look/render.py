"""The steps of a walk-through as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from glassformer.look.explanation import Explanation, Limits, columns, indented, number
from glassformer.look.mix import Mixing, Share
from glassformer.look.rules import RULES
from glassformer.look.walkthrough import Step, Table


def write(steps: Iterable[Step], limits: Limits | None = None) -> Iterator[str]:
    """All steps as lines."""
    for count, step in enumerate(steps, start=1):
        yield from ("", f"{count}. {step.title}" + ("   (not in the slides)" if step.extra else ""))
        if step.name:
            yield f"   {step.name}"
        if step.formula:
            yield f"   {step.formula}"
        for table in step.tables:
            yield from indented(table_lines(table))
        for cell in step.cells:
            yield from indented(cell_lines(cell, limits))
        for mixing in step.mixings:
            yield from indented(mixing_lines(mixing))
        yield from (f"   {remark}" for remark in step.remarks)
        yield from (f"   Note {key}: {text}" for key, text in step.notes)


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


def cell_lines(explanation: Explanation, limits: Limits | None = None) -> Iterator[str]:
    """One number and the arithmetic behind it, on a line."""
    name, value = explanation.name.rpartition(".")[2], number(explanation.value)
    rule = RULES.get(explanation.rule)
    arithmetic = "" if rule is None else rule.arithmetic(explanation, limits or Limits())
    yield f"{name}[{explanation.where}] = {arithmetic} = {value}"
