"""Where results and notes go: results to standard output or a file, notes to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, TextIO

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import DataError, from_system
from glassformer.base.json_text import in_json
from glassformer.base.outputs import output_file
from glassformer.base.wrapping import CONTROL, for_reading, printable, table_width, width_of, wrapped_command
from glassformer.cli.terminal.formats import TABLES, suffix_of, write_table
from glassformer.cli.terminal.streams import is_utf8

if TYPE_CHECKING:  # rich is imported where something is drawn: --help and a note need none of it
    from rich.console import Console
    from rich.table import Table

    from glassformer.data.settings import DataSection

# Characters that a terminal obeys, or at which programs end a line, and that JSON would leave as they are.
_IN_JSON = {code: f"\\u{code:04x}" for code in CONTROL if code > 126 and not 0xD800 <= code < 0xE000}
# Characters of a text by which a note names it.
_QUOTED = 40


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
def results(out: Path | None, data: DataSection | None = None) -> Iterator[TextIO]:
    """The output; a file is replaced when all is written. Raises DataError, also for a file of `data`."""
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
                        write_table(handle, draft, suffix)


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


def plain_table(*columns: str, right: slice = slice(0)) -> Table:
    """A table without a frame, with the columns of numbers to the `right`."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column)
    for each in table.columns[right]:
        each.justify = "right"
    return table


def bar(share: float, width: int = 12) -> str:
    """A share between 0 and 1 as a bar, with a resolution of an eighth of a character."""
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]


def escaped(text: str) -> str:
    """A user's text on the screen: its brackets are no markup, and the terminal obeys none of its characters."""
    from rich.markup import escape

    return escape(printable(text))
