"""What is shown of an answer, before it is drawn: lines, tables and bars."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Style = Literal["", "dim", "bold", "answer"]
Words = str | tuple[str, Style]
"""Words, or words in a style."""


class Share(float):
    """A number between 0 and 1, drawn as a bar."""


class Tick(str):
    """A cell that marks its row."""

    __slots__ = ()


@dataclass(frozen=True)
class Line:
    """Words of a line with styles; `answer` begins an answer's line. `after`: an empty line follows."""

    parts: tuple[Words, ...]
    style: Style = ""
    after: bool = False


@dataclass(frozen=True)
class Written:
    """A text as written, not wrapped or coloured; `lines`: its line breaks stay; `before` begins its line."""

    text: str
    lines: bool = False
    before: str = ""


@dataclass(frozen=True)
class Remark:
    """A sentence for the user, not a part of the answer."""

    text: str


@dataclass(frozen=True)
class Grid:
    """A table: its columns, its rows, and which columns are right-aligned or bold."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | Share, ...], ...]
    right: tuple[int, ...] = ()
    bold: tuple[int, ...] = ()
    bars: tuple[int, ...] = ()


Part = Line | Written | Remark | Grid
Parts = Iterable[Part]


def line(*parts: Words, style: Style = "", after: bool = False) -> Line:
    return Line(parts, style, after)


def bold(text: str) -> Words:
    return (text, "bold")
