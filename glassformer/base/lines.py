"""Lines that fit a screen: text, sums and tables are broken between numbers, never inside one."""

import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

NARROWEST, USUAL, WIDEST = 40, 80, 120

WORD, LABEL = 16, 30
"""The most columns of a word that is cut, and of all that precedes a row of numbers."""

_HELD = "\0"
"""Stands for a blank at which no line is broken."""


def screen_width() -> int:
    """The columns of the terminal, from 40 to 120; 80 where there is no terminal."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((USUAL, 24)).columns))


def columns_of(text: str) -> int:
    """How many columns a text takes: two for a wide character, none for one that is written over another."""
    return len(text) if text.isascii() else sum(map(_columns, text))


@cache
def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fitting(text: str, width: int) -> int:
    """How many of the first characters fit into so many columns."""
    taken = 0
    for count, character in enumerate(text):
        taken += _columns(character)
        if taken > width:
            return count
    return len(text)


def padded(text: str, width: int, *, right: bool = False) -> str:
    blanks = " " * (width - columns_of(text))
    return blanks + text if right else text + blanks


def label(word: str, most: int = WORD) -> str:
    """A word as a label: on one line, and cut when it is long."""
    shown = "".join(character if character.isprintable() else repr(character)[1:-1] for character in word)
    return shown if _fitting(shown, most) == len(shown) else f"{shown[: _fitting(shown, most - 1)]}…"


def indented(lines: Iterable[str], by: int = 3) -> Iterator[str]:
    return (f"{' ' * by}{line}".rstrip() for line in lines)


def wrapped(text: str, width: int, *, first: int = 0, rest: int = 2) -> Iterator[str]:
    """A text on lines of at most `width` columns after `first` and `rest` blanks. Products stay whole, operators with
    what follows; longer words are broken at a comma, bracket or dot.
    """
    text = text.replace(" · ", f"{_HELD}·{_HELD}")
    text = re.sub(r"(?<= )([-+−=×→/]) ", rf"\1{_HELD}", text)
    line, filled = " " * first, False
    for word in text.split(" "):
        for part in _parts(word, width - max(first, rest)):
            joint = " " if filled else ""
            if filled and columns_of(line) + columns_of(joint) + columns_of(part) > width:
                yield line.replace(_HELD, " ").rstrip()
                line, joint = " " * rest, ""
            line, filled = line + joint + part, True
    yield line.replace(_HELD, " ").rstrip()


def _parts(word: str, width: int) -> Iterator[str]:
    while (end := _fitting(word, width)) < len(word):
        breaks = [found.end() for found in re.finditer(rf"[,\[({_HELD}]|\.(?=[a-z])", word[:end])]
        end = breaks[-1] if breaks else end
        yield word[:end]
        word = word[end:]
    yield word


def grid(
    rows: Sequence[Sequence[str]], width: int, *, marks: Sequence[str] = (), left: Sequence[int] = ()
) -> Iterator[str]:
    """Aligned columns: the first row are headings, the first column labels. What does not fit follows below, with the
    labels, and where not even one column does, each number below its label. `marks` end the rows; `left` are columns of
    words.
    """
    marks = marks or ("",) * len(rows)
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    of_marks = max((columns_of(mark) + 2 for mark in marks if mark), default=0)
    for block in _blocks(widths[1:], width - widths[0] - of_marks):
        for row, mark in zip(rows, marks, strict=True):
            numbers = (padded(row[at + 1], widths[at + 1], right=at + 1 not in left) for at in block)
            line = "  ".join([padded(row[0], widths[0]), *numbers])
            if not mark and len(block) == 1 and widths[0] + 2 + widths[block[0] + 1] > width:
                yield from (row[0], padded(row[block[0] + 1], width, right=True))
            else:
                yield from wrapped(f"{line}  {mark}", width) if mark else (line.rstrip(),)


def _blocks(widths: Sequence[int], room: int) -> list[range]:
    """Which columns are printed side by side: as many as there is room for, in blocks of similar size."""

    def taken(block: range) -> int:
        return sum(widths[at] + 2 for at in block)

    for size in range(len(widths), 1, -1):
        blocks = -(-len(widths) // size)
        even = -(-len(widths) // blocks)
        found = [range(start, min(start + even, len(widths))) for start in range(0, len(widths), even)]
        if all(taken(block) <= room for block in found):
            return found
    return [range(at, at + 1) for at in range(len(widths))] or [range(0)]
