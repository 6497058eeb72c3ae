"""The steps of a walk-through as lines of text of a given width."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from glassformer.base.lines import LABEL, USUAL, columns_of, grid, indented, label, wrapped
from glassformer.look.formulas.explanation import Explanation, Limits, number
from glassformer.look.formulas.named import read_cell
from glassformer.look.formulas.rules import RULES
from glassformer.look.formulas.rules.notation import short
from glassformer.look.summaries.attributions import Attributions
from glassformer.look.summaries.mix import Look, Mixing, Share
from glassformer.look.summaries.tables import WORDS, Table
from glassformer.look.texts.walkthrough import Step

WHOLE = {"place", "id", "seen"}
"""Columns of whole numbers."""

_ATTRIBUTED = 12
OF_THE_ROW = (*WORDS, "place", "sentence")
"""Axes that say whose row is worked out; they stand above the cells when they are the same for all."""

NAMED = {"vocabulary": "token", "key_value_head": "key-value head"}


def write(steps: Iterable[Step], limits: Limits | None = None, width: int = USUAL) -> Iterator[str]:
    for count, step in enumerate(steps, start=1):
        yield ""
        title = f"{count}. {step.title}"
        extra = "(not in the slides)" if step.extra else ""
        fits = columns_of(f"{title}   {extra}") <= width
        for line in [f"{title}   {extra}".rstrip()] if fits else [title, f"   {extra}".rstrip()]:
            yield from wrapped(line, width, rest=3)
        yield from indented(step_lines(step, limits or Limits(), width - 3))


def step_lines(step: Step, limits: Limits, width: int) -> Iterator[str]:
    if step.name:
        shape = f"{shape_of(step.sizes)} ({' × '.join(step.axes)})" if step.axes else "one number" * bool(step.formula)
        fits = columns_of(f"{step.name}  {shape}") <= width
        for line in [f"{step.name}  {shape}".rstrip()] if fits else [step.name, shape]:
            yield from wrapped(line, width)
    if step.formula:
        yield from wrapped(step.formula, width)
    for weight in step.learned:
        yield from wrapped(f"{short(weight.name)}: {weight.counted} ({weight.axes}), {weight.shared}", width)
        if weight.table is not None:
            yield from indented(table_lines(weight.table, width - 2), 2)
    for rows in by_row(step.cells):
        yield from row_lines(rows, limits, width)
    for mixing in step.mixings:
        yield from mixing_lines(mixing, width)
    for table in step.tables:
        yield from table_lines(table, width)
    for remark in step.remarks:
        yield from wrapped(remark, width)
    for key, text, said_by in step.notes:
        yield from wrapped(f"Note {key}{f' ({said_by})' if said_by else ''}: {text}", width)


def shape_of(sizes: Sequence[int]) -> str:
    """3 × 5 × 6."""
    return " × ".join(map(str, sizes))


def table_lines(table: Table, width: int = USUAL) -> Iterator[str]:
    marks = table.marks or ("",) * len(table.rows)
    whole = [heading in WHOLE for heading in table.header]
    rows = [("", *(label(heading) for heading in table.header))] if table.header else []
    head = ("",) * len(rows)
    rows += [
        (label(name, LABEL), *(str(int(of)) if plain else number(of) for plain, of in zip(whole, numbers, strict=True)))
        for name, numbers in table.rows
    ]
    if table.caption:
        yield from wrapped(f"{table.caption}:", width)
    yield from indented(grid(rows, width - 2, marks=(*head, *marks)), 2)
    if table.more:
        yield from indented(wrapped(f"({table.more})", width - 2), 2)


def mixing_lines(mixing: Mixing, width: int = USUAL) -> Iterator[str]:
    """For each word weight × value = what is added, and the sum so far."""
    rows, marks = [], []
    for move in mixing.moves:
        rows.append((f"{number(move.weight)} × {label(move.word)}", move.value))
        rows += [("= added", move.added), ("sum so far", move.running)]
        marks += [move.absent, "", ""]
    caption = f"head {mixing.head}: weight × value of each word, one after the other"
    header = tuple(str(channel) for channel in range(len(mixing.moves[0].value))) if mixing.moves else ()
    yield from table_lines(Table(caption, header, tuple(rows), tuple(marks), mixing.more), width)


def share_lines(shares: Sequence[Share], width: int = USUAL) -> Iterator[str]:
    heads = [f"head {head}" for head in range(len(shares[0].weights))]
    rows = [("word", *heads, "length given")]
    rows += [(label(share.word), *map(number, share.weights), number(share.length)) for share in shares]
    return grid(rows, width, marks=("", *(share.absent for share in shares)))


def look_lines(looks: Sequence[Look], width: int, most: int = 8) -> Iterator[str]:
    """What a word looks at, a line for each head; with two stacks a word of each."""
    words = " and ".join(label(word) for word in dict.fromkeys(look.query for look in looks))
    several = " and " in words
    verb = "look" if several else "looks"
    yield from wrapped(f"What {words} {verb} at, by head; heads with the most on another word first:", width)
    for look in looks[:most]:
        stack, _, block, kind = look.attention.split(".")
        at = f"{stack} block {block}, {kind.replace('_', '-')}, head {look.cell[1]}"
        at += f", from {label(look.query)}" if several else ""
        shares = ", ".join(f"{label(key)} {weight:.0%}" for key, weight in look.largest)
        yield from wrapped(f"  {at}: {shares}", width, rest=4)
    more = len(looks) - most
    if more > 0:
        yield from wrapped(f"  {more} more heads: --html FILE, or the steps below", width, rest=4)


def attribution_lines(
    found: Attributions, sentence: int, words: Sequence[str], scored: str | None, width: int
) -> Iterator[str]:
    """Input times gradient of each word of the text, for the score of a label or the only one, the largest first."""
    what = "the score" if scored is None else f"the score of {scored}"
    products = found.of[0].product[sentence].tolist()
    order = sorted(range(len(words)), key=lambda place: -abs(products[place]))
    shown = ", ".join(f"{label(words[place])} {products[place]:+.2f}" for place in order[:_ATTRIBUTED])
    more = f" … {len(words) - _ATTRIBUTED} more words" if len(words) > _ATTRIBUTED else ""
    yield from wrapped(f"Input times gradient of each word, for {what}, {found.value:.2f}: {shown}{more}", width)
    yield ""


def by_row(cells: Sequence[Explanation]) -> Iterator[list[Explanation]]:
    def of(cell: Explanation) -> tuple[object, ...]:
        at = tuple(
            (axis, index) for axis, index in cell.cell.items() if axis in ("token", "query", "place", "sentence")
        )
        of_tokens = bool(cell.terms) and cell.terms[0].what.startswith("token ")  # a softmax for each label
        return (at, cell.cell.get("label" if of_tokens else "head")) if "largest" in cell.quantities else (at,)

    return (list(group) for _, group in groupby(cells, of))


def row_lines(cells: Sequence[Explanation], limits: Limits, width: int) -> Iterator[str]:
    words = [named(cell) for cell in cells]
    same = [axis for axis in words[0] if axis in OF_THE_ROW and len({cell[axis] for cell in words}) == 1]
    head = " of ".join(row_name(axis, words[0][axis]) for axis in same[::-1])
    head = f"row of {head}" if head else ""
    if "largest" in cells[0].quantities:
        yield from softmax_lines(cells, head, words, width)
        return
    if head:
        yield from wrapped(f"{head}:", width)
    for cell, at in zip(cells, words, strict=True):
        name = ", ".join(f"{NAMED.get(axis, axis)} {label(word)}" for axis, word in at.items() if axis not in same)
        yield from indented(wrapped(cell_line(cell, name, limits), width - 2, rest=4), 2)


def row_name(axis: str, word: str) -> str:
    """A word of the text; what has no words, by its axis and its number."""
    return f"{axis if axis in ('sentence', 'place') else 'token'} {word}" if word.isdigit() else label(word)


def named(cell: Explanation) -> dict[str, str]:
    return {axis: word.strip('"') for axis, word in read_cell(cell.where).items()}


def cell_line(explanation: Explanation, name: str, limits: Limits) -> str:
    value, rule = number(explanation.value), RULES.get(explanation.rule)
    arithmetic = "" if rule is None else rule.arithmetic(explanation, limits)
    return " = ".join(part for part in (name, arithmetic if arithmetic != value else "", value) if part)


def softmax_lines(
    cells: Sequence[Explanation], head: str, words: Sequence[Mapping[str, str]], width: int
) -> Iterator[str]:
    """Number, minus the largest, exponential, and the exponential over the sum of all, or the logarithm of that."""
    first = cells[0].quantities
    final = "log of that" if cells[0].rule == "log_softmax" else "over the sum"
    over = next((axis for axis in ("key", "candidate") if axis in words[0]), list(words[0])[-1])
    rows = tuple(
        (label(at[over]), (found["score"], found["score"] - found["largest"], found["own"], cell.value))
        for at, cell in zip(words, cells, strict=True)
        for found in [cell.quantities]
    )
    which = f"head {words[0]['head']}" if "head" in words[0] else ""
    sums = f"largest {number(first['largest'])}, sum of all exponentials {number(first['sum'])}"
    heading = ("number", "less largest", "exponential", final)
    yield from table_lines(Table(", ".join(part for part in (head, which, sums) if part), heading, rows), width)
