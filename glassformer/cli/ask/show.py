"""Answers on the screen: each says what is shown of it (`tasks/answered.py`), and this draws it."""

import re
from collections.abc import Mapping
from typing import Any, TextIO

from rich.table import Table

from glassformer.base.errors import ConfigError
from glassformer.base.shown import Grid, Line, Part, Parts, Remark, Share, Style, Tick
from glassformer.base.wrapping import in_one_line, printable
from glassformer.cli.ask.job import Job
from glassformer.cli.terminal.layout import print_table
from glassformer.cli.terminal.readers import Text
from glassformer.cli.terminal.screen import bar, console, escaped, note, plain_table, record
from glassformer.tasks import VERBS

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


# What a tree and its page do not have, or have anyway.
_NOT_BESIDE = ("stream", "alignment", "paragraphs", "out", "rejects")


def check_tree(values: Mapping[str, Any]) -> None:
    mine = "--tree" if values.get("tree") else "--html"
    others = _NOT_BESIDE if mine == "--tree" else (*_NOT_BESIDE, "json")
    beside = [f"--{name}" for name in others if values.get(name)]
    beside += ["--html"] if mine == "--tree" and values.get("html") else []
    if beside:
        raise ConfigError(
            "--tree shows how each text was found and nothing else"
            if mine == "--tree"
            else "--html writes the page of one text and nothing else",
            got=f"{beside[0]} as well",
            do=f"leave {mine} or {beside[0]} out",
        )


def show_trees(job: Job) -> None:
    from glassformer.base.lines import screen_width
    from glassformer.look.texts.search_tree import search_tree  # not at the top: --help must not import torch
    from glassformer.look.texts.tree import tree_lines

    number, handle = 0, job.out.handle
    for number, text in enumerate(job.texts, start=1):
        tree = search_tree(job.opened, given(text), job.writing, verb=job.verb)
        if job.json:
            record({**text.kept, **tree.to_dict()}, handle)
            continue
        if number > 1:
            handle.write("\n")
        for line in tree_lines(tree, screen_width()):
            handle.write(f"{in_one_line(line)}\n")
        handle.flush()
    if number and not job.json:
        draws = "explain MODEL TEXT" if VERBS[job.verb].writes == "translation" else f"{job.verb} MODEL TEXT"
        note(f"glassformer {draws} --html page.html draws it, with the numbers of each word")


def given(text: Text) -> str | list[str]:
    """What a record asks to continue: its text, or the turns of a conversation."""
    value = text.values.get("turns", text.values.get("text"))
    return list(value) if isinstance(value, list | tuple) else str(value)
