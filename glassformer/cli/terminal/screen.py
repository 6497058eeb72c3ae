"""Where results and notes go: results to standard output or a file, notes to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Literal, TextIO

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import DataError, from_system
from glassformer.base.json_text import in_json
from glassformer.base.outputs import output_file
from glassformer.base.wrapping import CONTROL, for_reading, printable, table_width, width_of, wrapped, wrapped_command
from glassformer.cli.terminal.outputs import TABLES, suffix_of, write_table
from glassformer.cli.terminal.streams import is_utf8

if TYPE_CHECKING:  # rich is imported where something is drawn: --help and a note need none of it
    from rich.console import Console

    from glassformer.data.settings import DataSection

# Characters that a terminal obeys, or at which programs end a line, and that JSON would leave as they are.
_IN_JSON = {code: f"\\u{code:04x}" for code in CONTROL if code > 126 and not 0xD800 <= code < 0xE000}
# Characters of a text by which a note names it.
_QUOTED = 40
BARS = "█▏▎▍▌▋▊▉"
# The columns around the cells of a table: a blank at each end, three between two cells.
_ENDS, _BETWEEN = 2, 3
# The columns of a bar.
_BAR = 12
# A longer word that is not a number may be broken; next to a bar a column of words keeps so many columns, and so many
# before a column of numbers is narrowed, so that a number and its interval stay on one line.
_LONGEST_WORD, _NEXT_TO_BAR, _NEXT_TO_NUMBERS = 24, 16, 12


def note(message: str) -> None:
    print(for_reading(printable(message), sys.stderr), file=sys.stderr)


def note_command(begin: str, words: Sequence[str]) -> None:
    print(wrapped_command(begin, words, width_of(sys.stderr)), file=sys.stderr)


def note_windows(text: object, windows: int, row_tokens: int | None, tell: Callable[[str], None] = note) -> None:
    """Note that a text or pair was longer than a row of the model, which contains special tokens too."""
    if windows > 1:
        words = " ".join(str(text).split())
        shown = words if len(words) <= _QUOTED else f"{words[:_QUOTED]}…"
        tell(
            f"{shown!r} has more tokens (special tokens included) than the {row_tokens} that the model reads at once: "
            f"it was read in {windows:,} parts"
        )


class Few:
    """Notes of which there may be one for each text: the first ones, then how many more there were."""

    def __init__(self, most: int = 5) -> None:
        self.most, self.count = most, 0

    def __call__(self, message: str) -> None:
        self.count += 1
        if self.count <= self.most:
            note(message)

    def rest(self) -> None:
        if self.count > self.most:
            note(f"{self.count - self.most:,} more notes of this kind")


@contextmanager
def results(out: Path | None, data: DataSection | None = None, inputs: Iterable[Path] = ()) -> Iterator[TextIO]:
    """The output; a file is replaced when all is written, a CSV file with the delimiter of the `inputs`. Raises
    DataError, also for a file of `data`.
    """
    if out is None:
        yield sys.stdout
        return
    read = () if data is None else (*data.files, *data.validation_files)
    file = output_file(out, DataError, inputs=read, overwrite=True, devices=True)
    with from_system(DataError, f"cannot write results to {out}", do="choose another path"):
        if file.exists() and not file.is_file():  # a device or a pipe, which must not be replaced by a file
            with out.open("w", encoding="utf-8", errors="backslashreplace") as handle:
                yield handle
        else:
            suffix = suffix_of(out)
            with atomic_write(file) as draft:
                written = TemporaryFile if suffix in TABLES else partial(open, draft)
                with written(mode="w+", encoding="utf-8", errors="backslashreplace") as handle:
                    yield handle
                    if suffix in TABLES:
                        write_table(handle, draft, suffix, inputs)


def console(handle: TextIO | None = None) -> Console:
    """A console as wide as the terminal (COLUMNS or 80 for a file), which makes no picture of a `:word:`."""
    from rich.console import Console

    handle = sys.stdout if handle is None else handle
    return Console(file=handle, highlight=False, emoji=False, width=table_width(handle))


def record(values: Mapping[str, Any], handle: TextIO) -> None:
    """One JSON record on one line: numbers unknown to JSON as strings, control characters as escapes."""
    escapes = not is_utf8(getattr(handle, "encoding", None) or "utf-8")
    print(json_line(values, escapes=escapes), file=handle, flush=True)


def json_line(values: Mapping[str, Any], *, escapes: bool = False) -> str:
    """A record as `record` writes it."""
    line = json.dumps(in_json(values), ensure_ascii=escapes, allow_nan=False)
    return line if line.isascii() and "\x7f" not in line else line.translate(_IN_JSON)


def bar(share: float, width: int = _BAR) -> str:
    """A share between 0 and 1 as a bar, with a resolution of an eighth of a character."""
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]


def escaped(text: str) -> str:
    """A user's text on the screen: its brackets are no markup, and the terminal obeys none of its characters."""
    from rich.markup import escape

    return escape(printable(text))


def print_table(
    screen: Console,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: slice | Collection[int] = (),
    *,
    bold: Collection[int] = (),
    bars: Collection[int] = (),
) -> None:
    """Print a table without a frame that fits the screen: cells are broken between words and so never inside a number;
    where that is not enough, the cells of a row stand below each other. Cells are markup, and at `right`, `bold` and
    `bars` are columns of numbers and of bars. In a file it is written without rich, which would take twenty times as
    long.
    """
    from rich.cells import cell_len

    columns = list(zip(heads, *rows, strict=True))
    texts = [_plain_cells(cells) for cells in columns]
    natural = [
        max([_BAR * (place in bars), *(cell_len(line) for cell in cells for line in cell.split("\n"))])
        for place, cells in enumerate(texts)
    ]
    numbers = range(len(columns))[right] if isinstance(right, slice) else right
    kept, words = list(range(len(columns))), [place not in numbers for place in range(len(columns))]
    widths: list[int] | None = natural
    if _total(natural) <= screen.width:
        if not (screen.is_terminal or any("\n" in cell for cells in texts for cell in cells)):
            _write(screen, texts, natural, words)
            return
    else:
        drawn, least = [_is_bar(cells) for cells in texts], [_least(cells) for cells in texts]
        with_bars = [
            width if bar else max(its, min(width, _NEXT_TO_BAR))
            for width, its, bar in zip(natural, least, drawn, strict=True)
        ]
        widths = _narrowed(natural, with_bars, words, screen.width)
        if widths is None:
            kept = [place for place, bar in enumerate(drawn) if not bar]
            natural, least = ([of[place] for place in kept] for of in (natural, least))
            widths = _narrowed(natural, least, [words[place] for place in kept], screen.width)
    if widths is None:
        _print_below_each_other(screen, [texts[place] for place in kept])
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, width in zip(kept, widths, strict=True):
        justify: Literal["left", "right"] = "left" if words[place] else "right"
        style = "bold" if place in bold else "cyan" if place in bars else None
        table.add_column(columns[place][0], justify=justify, style=style, width=width, overflow="fold")
    for row in zip(*(columns[place][1:] for place in kept), strict=True):
        table.add_row(*row)
    screen.print(table)


def print_facts(screen: Console, facts: Mapping[str, str]) -> None:
    """Names and what is known of each, which is wrapped next to its name; markup is escaped."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, escaped(value))
    screen.print(table)


def _total(widths: list[int]) -> int:
    return sum(widths) + _BETWEEN * (len(widths) - 1) + _ENDS


def _plain_cells(cells: Sequence[str]) -> list[str]:
    from rich.markup import render

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
        texts = [place for place in wide if words[place] and widths[place] > _NEXT_TO_NUMBERS]
        widths[max(texts or wide, key=widths.__getitem__)] -= 1
    return widths


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


def _write(screen: Console, columns: list[list[str]], widths: list[int], words: list[bool]) -> None:
    from rich.cells import cell_len

    for cells, width, left in zip(columns, widths, words, strict=True):
        for place, cell in enumerate(cells):
            blanks = " " * (width - cell_len(cell))
            cells[place] = cell + blanks if left else blanks + cell
    head, *rows = (f" {'   '.join(cells)} " for cells in zip(*columns, strict=True))
    total = _total(widths)
    lines = [" " * total, head, f" {'─' * (total - _ENDS)} ", *rows, " " * total]
    screen.file.write("".join(f"{line}\n" for line in lines))
