"""Answers on the screen: each says what is shown of it (`tasks/answered.py`), and this draws it."""

import re
from typing import TextIO

from rich.table import Table

from glassformer.base.shown import Grid, Line, Part, Parts, Remark, Share, Style, Tick
from glassformer.base.wrapping import printable
from glassformer.cli.terminal.layout import print_table
from glassformer.cli.terminal.screen import bar, console, escaped, note, plain_table

# What ends a line for some program.
_LINE_END = re.compile("\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")


def show(parts: Parts, handle: TextIO) -> None:
    for part in parts:
        _draw(part, handle)


def _draw(part: Part, handle: TextIO) -> None:
    if isinstance(part, Remark):
        note(part.text)
    elif isinstance(part, Grid):
        print_table(console(handle), _table(part))
    elif isinstance(part, Line):
        words = "".join(_styled(*((each, "") if isinstance(each, str) else each)) for each in part.parts)
        console(handle).print(_styled_markup(words, part.style) + "\n" * part.after)
    else:
        handle.write(f"{part.before}{on_screen(part.text, handle, lines=part.lines)}\n")


def _styled(text: str, style: Style) -> str:
    return _styled_markup(escaped(text), style)


def _styled_markup(markup: str, style: Style) -> str:
    if style == "answer":
        return f"[green]→[/green] {markup}"
    return f"[{style}]{markup}[/{style}]" if style else markup


def _table(grid: Grid) -> Table:
    table = plain_table()
    for place, heading in enumerate(grid.columns):
        table.add_column(
            escaped(heading),
            justify="right" if place in grid.right else "left",
            style="bold" if place in grid.bold else "cyan" if place in grid.bars else None,
            min_width=12 if place in grid.bars else None,
        )
    for row in grid.rows:
        table.add_row(*map(_cell, row))
    return table


def _cell(cell: str | Share) -> str:
    if isinstance(cell, Share):
        return bar(cell)
    return f"[green]{cell}[/green]" if isinstance(cell, Tick) else escaped(cell)


def on_screen(text: str, handle: TextIO, *, lines: bool) -> str:
    """A text as it is for a file; for a terminal its control characters as escapes, but not tabs."""
    kept = text if lines else _LINE_END.sub(" ", text)
    return printable(kept, stay="\n\t") if handle.isatty() else kept
