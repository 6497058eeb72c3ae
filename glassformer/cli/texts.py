"""The records for a verb: from the command, standard input and files, in this order, each as soon as it is there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from glassformer.errors import DataError
from glassformer.paths import check_path, is_stream, refuse_endless

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path

    from glassformer.data.rows import Columns

# Records given to the model together: few at first, so that the first predictions come soon, then enough to be sorted
# by length, but not more than a command that was stopped can compute again.
_FIRST, _TOGETHER = 64, 2048
# The most characters of these records, so that they fit into memory whatever their length.
_CHARACTERS = 1 << 24


class Text(NamedTuple):
    """The values of a record by role, and its file and line (empty for one from the command itself). `last`: no further
    record can be read without waiting for input.
    """

    values: Mapping[str, object]
    where: str = ""
    last: bool = False


def records(
    given: Sequence[str] | None,
    files: Sequence[str] | None,
    columns: Mapping[str, Columns],
    pair: str | None = None,
    choices: Sequence[str] | None = None,
    *,
    tagged: bool = False,
) -> Iterator[Text]:
    """All records for a verb; `columns` are those of a table by role, `pair` is a second text for each text
    of the command, `choices` are the candidates of every text. `tagged`: files may hold sentences as words. Raises
    DataError when there is none or a file cannot be read.
    """
    if not given and not files:
        raise DataError("a text is needed", got="none", do="write one in quotes, - for standard input, or --file FILE")
    more: dict[str, object] = {} if pair is None else {"pair": _without_surrogates(pair)}
    same: dict[str, object] = {"choices": list(map(_without_surrogates, choices))} if choices else {}
    more |= same
    for text in given or ():
        if text == "-":
            typed = _lines_of(cast("BufferedReader", sys.stdin.buffer), "standard input")
            yield from (each._replace(values={**each.values, **more}) for each in typed)
        else:
            yield Text({"text": _without_surrogates(text), **more})
    for file in files or ():
        if is_stream(file) and len(columns) == 1:
            with open(file, "rb") as stream:
                found = _lines_of(stream, file)
                yield from (each._replace(values={**each.values, **same}) for each in found)
        else:
            found = _of_file(file, columns, tagged=tagged)
            yield from (each._replace(values={**each.values, **same}) for each in found)


def _of_file(file: str, columns: Mapping[str, Columns], *, tagged: bool) -> Iterator[Text]:
    from glassformer.data.files import files_of
    from glassformer.data.read import read
    from glassformer.data.rows import by_role, names_of, read_table
    from glassformer.data.table_format import table_kind

    check_path(file, DataError)
    refuse_endless(file, DataError, do="- reads standard input")
    column = columns["text"]
    assert isinstance(column, str)
    for path in files_of([file], text=column):
        if tagged and table_kind(path) in ("conll", "jsonl", "parquet"):
            yield from _of_sentences(path, columns)
        elif table_kind(path) is None and len(columns) == 1:
            for document in read(path, text=column, documents="line"):
                yield Text({"text": document.text}, document.where)
        else:
            for row in read_table(path, names_of(columns)):
                values = by_role(row.values, columns)
                if not isinstance(values["text"], str):
                    raise DataError(f"{row.where}: column {column!r} must hold text", got=repr(values["text"])[:80])
                yield Text(values, row.where)


def _of_sentences(path: Path, columns: Mapping[str, str]) -> Iterator[Text]:
    from glassformer.data.lines import stop
    from glassformer.data.settings import TagData
    from glassformer.tasks.tagged import tagged_rows

    for row in tagged_rows(path, TagData(**columns), bad=stop, tagged=False):
        yield Text({role: row.values[role] for role in row.values if role not in ("tags", "spans")}, row.where)


def texts_to_explain(texts: Sequence[str]) -> Iterator[str]:
    """The texts of a verb that explains them one by one; for `-` the lines of standard input.

    Raises DataError when there is no text, and when standard input has no line.
    """
    found = False
    for asked in records(texts, None, {}):
        found = True
        yield str(asked.values["text"])
    if not found:
        raise DataError("a text is needed", got="nothing on standard input")


def batches(asked: Iterable[Text]) -> Iterator[list[Text]]:
    """Full batches, and smaller ones when reading on would wait for input: a typed line is answered at once."""
    batch: list[Text] = []
    characters, most = 0, _FIRST
    for each in asked:
        batch.append(each)
        characters += sum(len(value) for value in each.values.values() if isinstance(value, str))
        if each.last or len(batch) == most or characters >= _CHARACTERS:
            yield batch
            batch, characters, most = [], 0, _TOGETHER
    if batch:
        yield batch


def _without_surrogates(text: str) -> str:
    """The text of a command, with bytes that Python holds as lone surrogates decoded; raises DataError for no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(text).decode()  # a locale that only knows ASCII
        except UnicodeDecodeError as error:
            raise DataError("a text must be UTF-8", got=f"the byte 0x{error.object[error.start]:02x}") from None
        except UnicodeEncodeError as error:
            raise DataError("a text must be UTF-8", got=repr(error.object[error.start])) from None
    return text


def _lines_of(stream: BufferedReader, name: str) -> Iterator[Text]:
    number = 0
    for lines in _lines_as_they_come(stream, name):
        there = []
        for raw in lines:
            number += 1
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{name}, line {number} must be UTF-8 text",
                    got=f"the byte 0x{error.object[error.start]:02x}",
                ) from None
            if text.strip():
                there.append(Text({"text": text}, f"{name}, line {number}"))
        if there:
            yield from [*there[:-1], there[-1]._replace(last=True)]


def _lines_as_they_come(stream: BufferedReader, name: str) -> Iterator[list[bytes]]:
    """The complete lines of each read, as soon as there are any; the rest of the input comes last."""
    from glassformer.data.lines import LONGEST_LINE

    begun: list[bytes] = []
    size = 0
    while chunk := _read_some(stream, name):
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join([*begun, lines[0]])
            begun.clear()
            size = 0
        begun.append(rest)
        size += len(rest)
        if size > LONGEST_LINE:
            raise DataError(
                f"a line of standard input must have at most {LONGEST_LINE:,} bytes", got="more without an end of line"
            )
        yield lines
    yield [b"".join(begun)]


def _read_some(stream: BufferedReader, name: str) -> bytes:
    try:
        return stream.read1(1 << 16)
    except OSError as error:
        raise DataError(f"{name} must be readable", got=error.strerror or str(error)) from None
