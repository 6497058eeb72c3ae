"""Tables that fit the screen: cells are broken between words and so never inside a number; where that is not enough,
the cells of a row stand below each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from glassformer.base.wrapping import wrapped

if TYPE_CHECKING:  # rich is imported where something is drawn: --help needs none of it
    from rich.console import Console
    from rich.table import Column, Table

BARS = "█▏▎▍▌▋▊▉"
# The columns beside the cells of a table of `plain_table`: a blank at each end, three between two cells.
_ENDS, _BETWEEN = 2, 3
# A longer word, which is no number, may be broken; beside a bar a column of words keeps so many columns, and so many
# before a column of numbers is narrowed, so that a number and its interval stay on one line.
_LONGEST_WORD, _BESIDE_A_BAR, _BESIDE_NUMBERS = 24, 16, 12


def print_table(screen: Console, table: Table) -> None:
    """Print a `plain_table` at the width of the screen; a file without rich, which would take twenty times as long."""
    from rich.cells import cell_len

    columns = [_plain_cells(column) for column in table.columns]
    natural = [
        max([column.min_width or 0, *(cell_len(line) for cell in cells for line in cell.split("\n"))])
        for column, cells in zip(table.columns, columns, strict=True)
    ]
    if _total(natural) <= screen.width:
        lines = any("\n" in cell for cells in columns for cell in cells)
        if screen.is_terminal or lines:
            screen.print(table)
        else:
            _write(screen, table, columns, natural)
        return
    bars = [_is_bar(cells) for cells in columns]
    words = [column.justify != "right" for column in table.columns]
    least = [_least(cells) for cells in columns]
    beside = [
        width if bar else max(its, min(width, _BESIDE_A_BAR))
        for width, its, bar in zip(natural, least, bars, strict=True)
    ]
    if (widths := _narrowed(natural, beside, words, screen.width)) is not None:
        screen.print(_with_widths(table, widths, range(len(columns))))
        return
    kept = [place for place, bar in enumerate(bars) if not bar]
    natural, least = ([of[place] for place in kept] for of in (natural, least))
    widths = _narrowed(natural, least, [words[place] for place in kept], screen.width)
    if widths is not None:
        screen.print(_with_widths(table, widths, kept))
    else:
        _print_below_each_other(screen, [columns[place] for place in kept])


def _total(widths: list[int]) -> int:
    return sum(widths) + _BETWEEN * (len(widths) - 1) + _ENDS


def _plain_cells(column: Column) -> list[str]:
    from rich.markup import render

    cells = (str(cell) for cell in (column.header, *column.cells))
    return [render(cell, emoji=False).plain if "[" in cell or "\\" in cell else cell for cell in cells]


def _is_bar(cells: list[str]) -> bool:
    return not cells[0] and any(cells) and all(set(cell) <= set(BARS) for cell in cells)


def _least(cells: list[str]) -> int:
    from rich.cells import cell_len

    words = [word for cell in cells for word in cell.split()]
    return max(
        (cell_len(word) if word[-1:].isdigit() else min(cell_len(word), _LONGEST_WORD) for word in words), default=0
    )


def _narrowed(natural: list[int], least: list[int], words: list[bool], width: int) -> list[int] | None:
    """Widths that fit, columns of words narrowed before those of numbers; None where the least do not."""
    if _total(least) > width:
        return None
    widths = list(natural)
    while _total(widths) > width:
        wide = [place for place in range(len(widths)) if widths[place] > least[place]]
        texts = [place for place in wide if words[place] and widths[place] > _BESIDE_NUMBERS]
        widths[max(texts or wide, key=widths.__getitem__)] -= 1
    return widths


def _with_widths(table: Table, widths: list[int], kept: Iterable[int]) -> Table:
    columns = [table.columns[place] for place in kept]
    for place, (column, width) in enumerate(zip(columns, widths, strict=True)):
        columns[place] = replace(column, _index=place, width=width, min_width=width, no_wrap=False, overflow="fold")
    table.columns = columns
    return table


def _print_below_each_other(screen: Console, columns: list[list[str]]) -> None:
    """Each row as lines: its first cell, and below it the others, each after its heading."""
    headings, *rows = zip(*columns, strict=True)
    for row in rows:
        for place, (heading, cell) in enumerate(zip(headings, row, strict=True)):
            if cell:
                named = f"{heading}: {cell}" if heading else cell
                inside = "  " * (place > 0)
                lines = wrapped(named, screen.width - 4).splitlines()
                screen.print("\n".join([f"{inside}{lines[0]}", *(f"    {line}" for line in lines[1:])]), markup=False)
    screen.print()


def _write(screen: Console, table: Table, columns: list[list[str]], widths: list[int]) -> None:
    from rich.cells import cell_len

    for cells, width, column in zip(columns, widths, table.columns, strict=True):
        right = column.justify == "right"
        for place, cell in enumerate(cells):
            blanks = " " * (width - cell_len(cell))
            cells[place] = blanks + cell if right else cell + blanks
    head, *rows = (f" {'   '.join(cells)} " for cells in zip(*columns, strict=True))
    total = _total(widths)
    lines = [" " * total, head, f" {'─' * (total - _ENDS)} ", *rows, " " * total]
    screen.file.write("".join(f"{line}\n" for line in lines))
