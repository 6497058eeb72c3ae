"""The texts a verb is asked about: from the command, standard input and files, in this order, a batch at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from glassformer.errors import DataError
from glassformer.paths import check_path, refuse_endless

if TYPE_CHECKING:
    from io import BufferedReader

# Texts handed to the model together: enough to fill its batches, few enough to show the first answers soon.
_TOGETHER = 64
Answer = TypeVar("Answer")


class Asked(NamedTuple):
    """A text and where it stands, empty for one from the command itself; `last` of those that are there, where the
    next would have to be waited for.
    """

    text: str
    where: str = ""
    last: bool = False


def texts(given: Sequence[str] | None, files: Sequence[str] | None, column: str) -> Iterator[Asked]:
    """All texts that were asked about; raises DataError when there is none or a file cannot be read."""
    if not given and not files:
        raise DataError("a text is needed", got="none", do="write one in quotes, - for standard input, or --file FILE")
    for text in given or ():
        yield from _standard_input() if text == "-" else [Asked(_whole(text))]
    for file in files or ():
        from glassformer.data.read import files_of, read

        check_path(file, DataError)
        refuse_endless(file, DataError, streams=True, do="- reads standard input")
        for path in files_of([file]):
            for document in read(path, text=column, documents="line"):
                yield Asked(document.text, document.where)


def looked_at(text: str) -> Iterator[str]:
    """The text of a verb that looks inside; of `-` each line of standard input, of which there must be one.

    Raises DataError.
    """
    found = False
    for asked in texts([text], None, ""):
        found = True
        yield asked.text
    if not found:
        raise DataError("a text is needed", got="nothing on standard input")


def answered(asked: Iterable[Asked], answer: Callable[[list[str]], Sequence[Answer]]) -> Iterator[tuple[Asked, Answer]]:
    """Each text with its answer, in order. A text that is refused is named with its file and line."""
    for batch in _batches(asked):
        try:
            answers = answer([each.text for each in batch])
        except DataError:
            for each in batch:
                _alone(each, answer)
            raise
        yield from zip(batch, answers, strict=True)


def _batches(asked: Iterable[Asked]) -> Iterator[list[Asked]]:
    """Full batches, and smaller ones where more must be waited for: whoever types one line is answered after it."""
    batch: list[Asked] = []
    for each in asked:
        batch.append(each)
        if each.last or len(batch) == _TOGETHER:
            yield batch
            batch = []
    if batch:
        yield batch


def _alone(asked: Asked, answer: Callable[[list[str]], Sequence[Answer]]) -> None:
    try:
        answer([asked.text])
    except DataError as error:
        if not asked.where:
            raise
        raise DataError(f"{asked.where}: {error.wanted}", got=error.got, do=error.do) from None


def _whole(text: str) -> str:
    """The text of a command, where Python has kept bytes of it as halves of letters; raises DataError for no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(text).decode()  # a locale without letters beyond ASCII
        except UnicodeDecodeError as error:
            raise DataError("a text must be UTF-8", got=f"the byte 0x{error.object[error.start]:02x}") from None
        except UnicodeEncodeError as error:
            raise DataError("a text must be UTF-8", got=repr(error.object[error.start])) from None
    return text


def _standard_input() -> Iterator[Asked]:
    number = 0
    for lines in _lines_as_they_come():
        there = []
        for raw in lines:
            number += 1
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"standard input, line {number} must be UTF-8 text",
                    got=f"the byte 0x{error.object[error.start]:02x}",
                ) from None
            if text.strip():
                there.append(Asked(text, f"standard input, line {number}"))
        if there:
            yield from [*there[:-1], there[-1]._replace(last=True)]


def _lines_as_they_come() -> Iterator[list[bytes]]:
    """The lines that are there, whenever something is; only the very last may have no end."""
    begun: list[bytes] = []
    while chunk := _read_some(cast("BufferedReader", sys.stdin.buffer)):
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join([*begun, lines[0]])
            begun.clear()
        begun.append(rest)
        yield lines
    yield [b"".join(begun)]


def _read_some(stream: BufferedReader) -> bytes:
    try:
        return stream.read1(1 << 16)
    except OSError as error:
        raise DataError("standard input must be readable", got=error.strerror or str(error)) from None
