"""Messages in lines that fit a terminal and end between words: a terminal itself breaks inside them."""

import os
import shlex
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import IO

# Names of files, and words from files of others, may contain control characters of the terminal, characters that turn
# the order of those after them around, or bytes that are no characters: these are printed as escapes.
_TURNS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
CONTROL = {
    code: repr(chr(code))[1:-1]
    for code in (*range(32), *range(127, 160), 0x2028, 0x2029, *_TURNS, *range(0xD800, 0xE000))
}
"""Characters of untrusted text that a terminal must not get, by their code, and what is shown for each."""
# Where a terminal does not report its width.
_USUAL = 80


def in_one_line(message: str) -> str:
    """The message with escapes for line ends and all that would act on a terminal."""
    return message.translate(CONTROL)


def printable(message: str, *, stay: str = "\n") -> str:
    """The same, but its line ends stay, or all of these characters."""
    return message.translate(_but(stay))


@cache
def _but(stay: str) -> dict[int, str]:
    return {code: escape for code, escape in CONTROL.items() if chr(code) not in stay}


def wrapped(message: str, width: int) -> str:
    """The message in lines of at most `width` columns; a word that is longer, such as a path, stays whole."""
    lines = (
        textwrap.wrap(line, max(width, 1), break_long_words=False, break_on_hyphens=False, drop_whitespace=True)
        for line in message.split("\n")
    )
    return "\n".join("\n".join(parts) for parts in lines)


def wrapped_command(begin: str, words: Sequence[str], width: int | None) -> str:
    """A command after `begin`, on the same line if it fits into `width` columns, else continued by backslashes."""
    quoted = [in_one_line(shlex.quote(word)) for word in words]
    whole = f"{begin} {' '.join(quoted)}"
    if width is None or len(whole) <= width:
        return whole
    lines = [""]
    for word in quoted:
        if lines[-1] and len(lines[-1]) + len(word) + 5 > width:  # two spaces before it, " \\" after it, one between
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join([begin, "  " + " \\\n  ".join(lines)])


def width_of(stream: IO[str]) -> int | None:
    """The columns of a terminal; None for a file or a pipe, whose lines are never broken."""
    try:
        if not stream.isatty():
            return None
        asked = os.environ.get("COLUMNS", "")
        return (
            int(asked) if asked.isdecimal() and int(asked) else os.get_terminal_size(stream.fileno()).columns or _USUAL
        )
    except (OSError, ValueError):  # a stream without a file
        return _USUAL


def table_width(stream: IO[str]) -> int:
    """The columns of a table or a picture: those of a terminal; of a file or a pipe those that COLUMNS says, or 80."""
    asked = os.environ.get("COLUMNS", "")
    return width_of(stream) or (int(asked) if asked.isdecimal() and int(asked) else _USUAL)


def for_reading(message: str, stream: IO[str]) -> str:
    """A note in lines as wide as the tables next to it, also in a file or a pipe."""
    return wrapped(message, table_width(stream))


def for_stream(message: str, stream: IO[str]) -> str:
    """An error as it is shown on this stream: in a file or a pipe on one line, for programs that search it."""
    width = width_of(stream)
    return message if width is None else wrapped(message, width)
