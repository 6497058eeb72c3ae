"""The records for a verb: from the command, standard input and files, in this order, each as soon as it is there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

from glassformer.errors import DataError
from glassformer.paths import check_path, is_stream, refuse_endless

if TYPE_CHECKING:
    from io import BufferedReader

    from glassformer.data.lines import OnBad
    from glassformer.data.named_rows import Row
    from glassformer.data.rows import Columns
    from glassformer.data.settings import TagData

# Records given to the model together: few at first, so that the first predictions come soon, then enough to be sorted
# by length, but not more than a command that was stopped can compute again.
_FIRST, _TOGETHER = 64, 2048
# The most characters of these records, so that they fit into memory whatever their length.
_CHARACTERS = 1 << 24


# The field of a record that comes back with its answer, to tell which record it is of.
_KEPT = ("id",)


class Text(NamedTuple):
    """The values of a record by role, and its file and line (empty for one from the command itself). `last`: no further
    record can be read without waiting for input. `kept`: the record's `id`, where it has one.
    """

    values: Mapping[str, object]
    where: str = ""
    last: bool = False
    kept: Mapping[str, object] = MappingProxyType({})


def stop(error: DataError) -> None:
    """Raise the error of the first line or row that cannot be used."""
    raise error


def records(
    given: Sequence[str] | None,
    files: Sequence[str] | None,
    columns: Mapping[str, Columns],
    also: Mapping[str, str | Sequence[str]] = MappingProxyType({}),
    *,
    tagged: bool = False,
    blank: bool = False,
    bad: OnBad = stop,
) -> Iterator[Text]:
    """All records for a verb; `columns` are those of a table by role, `also` what every text of the command has by role
    (candidates and a target those of files, too). `tagged`: files may hold sentences as words. `blank`: lines of only
    blanks are texts. A line or row that cannot be used goes to `bad`. Raises DataError when there is none or a file
    cannot be read.
    """
    if not given and not files:
        raise DataError("a text is needed", got="none", do="write one in quotes, - for standard input, or --file FILE")
    more: dict[str, object] = {
        role: _without_surrogates(value) if isinstance(value, str) else list(map(_without_surrogates, value))
        for role, value in also.items()
    }
    same = {role: value for role, value in more.items() if role != "pair"}
    for text in given or ():
        if text == "-":
            typed = _lines_of(_standard_input(), "standard input", bad, blank=blank)
            yield from (each._replace(values={**each.values, **more}) for each in typed)
        else:
            yield Text({"text": _without_surrogates(text), **more})
    for file in files or ():
        for each in _of_one(file, columns, tagged=tagged, blank=blank, bad=bad):
            yield each._replace(values={**each.values, **same})


def _standard_input() -> BufferedReader:
    return cast("BufferedReader", sys.stdin.buffer)


def _of_one(file: str, columns: Mapping[str, Columns], *, tagged: bool, blank: bool, bad: OnBad) -> Iterator[Text]:
    """The records of a file, or for - those of standard input, as JSON."""
    if file == "-":
        yield from _records_of(_lines_of(_standard_input(), "standard input", bad), columns, bad, tagged=tagged)
    elif is_stream(file):
        with open(file, "rb") as stream:
            lines = _lines_of(stream, file, bad, blank=blank and len(columns) == 1)
            yield from lines if len(columns) == 1 else _records_of(lines, columns, bad, tagged=tagged)
    else:
        yield from _of_file(file, columns, tagged=tagged, blank=blank, bad=bad)


def _of_file(file: str, columns: Mapping[str, Columns], *, tagged: bool, blank: bool, bad: OnBad) -> Iterator[Text]:
    from glassformer.data.files import files_of
    from glassformer.data.lines import read_lines
    from glassformer.data.read import read
    from glassformer.data.rows import names_of, read_table
    from glassformer.data.table_format import table_kind
    from glassformer.tasks.tagged import tagged_rows

    check_path(file, DataError)
    refuse_endless(file, DataError, do="- reads standard input")
    column = columns["text"]
    assert isinstance(column, str)
    for path in files_of([file], text=column):
        kind = table_kind(path)
        if tagged and kind in ("conll", "jsonl", "parquet"):
            yield from _of_sentences(tagged_rows(path, _tag_data(columns), bad=bad, tagged=False))
        elif kind is None and len(columns) == 1 and blank:
            for line in read_lines(path, bad=bad):
                yield Text({"text": line.text}, f"{path}, line {line.number}")
        elif kind is None and len(columns) == 1:
            for document in read(path, text=column, documents="line", bad=bad):
                yield Text({"text": document.text}, document.where)
        else:
            mine = _named(columns) if kind in ("jsonl", "parquet", "squad") else columns
            for row in read_table(path, names_of(mine), optional=_KEPT, bad=bad):
                yield from _text_of(row, mine, bad)


def _named(columns: Mapping[str, Columns]) -> dict[str, Columns]:
    """Columns for a table that names them: by their role where the training table had numbers."""
    from glassformer.data.table_format import is_number

    return {role: role if isinstance(name, str) and is_number(name) else name for role, name in columns.items()}


def _records_of(lines: Iterable[Text], columns: Mapping[str, Columns], bad: OnBad, *, tagged: bool) -> Iterator[Text]:
    """The records of lines of JSON, each as soon as it is there."""
    from glassformer.data.named_rows import json_row
    from glassformer.data.rows import names_of
    from glassformer.tasks.tagged import sentence_rows

    mine = _named(columns)
    for line in lines:
        try:
            row = json_row(str(line.values["text"]), line.where, () if tagged else names_of(mine), _KEPT)
        except DataError as error:
            bad(error)
            continue
        if tagged:
            rows = sentence_rows([row], _tag_data(columns), bad=bad, tagged=False)
            found: Iterator[Text] = _of_sentences(rows)
        else:
            found = _text_of(row, mine, bad)
        yield from (each._replace(last=line.last) for each in found)


def _text_of(row: Row, columns: Mapping[str, Columns], bad: OnBad) -> Iterator[Text]:
    from glassformer.data.rows import by_role

    values = by_role(row.values, columns)
    if isinstance(values["text"], str):
        yield Text(values, row.where, kept=_kept(row))
    else:
        error = DataError(f"{row.where}: column {columns['text']!r} must hold text", got=repr(values["text"])[:80])
        bad(error.about(row.where, dict(row.values)))


def _of_sentences(rows: Iterable[Row]) -> Iterator[Text]:
    for row in rows:
        left_out = ("tags", "spans", *_KEPT)
        yield Text({role: row.values[role] for role in row.values if role not in left_out}, row.where, kept=_kept(row))


def _kept(row: Row) -> dict[str, object]:
    return {name: row.values[name] for name in _KEPT if name in row.values}


def _tag_data(columns: Mapping[str, Columns]) -> TagData:
    from glassformer.data.settings import TagData

    return TagData.model_validate(dict(columns))


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


def _lines_of(stream: BufferedReader, name: str, bad: OnBad, *, blank: bool = False) -> Iterator[Text]:
    number = 0
    for lines in _lines_as_they_come(stream, name):
        there = []
        for raw in lines:
            number += 1
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                where, byte = f"{name}, line {number}", error.object[error.start]
                bad(DataError(f"{where} must be UTF-8 text", got=f"the byte 0x{byte:02x}").about(where, None))
                continue
            if text.strip() or blank:
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
    if begun and (rest := b"".join(begun)):
        yield [rest]


def _read_some(stream: BufferedReader, name: str) -> bytes:
    try:
        return stream.read1(1 << 16)
    except OSError as error:
        raise DataError(f"{name} must be readable", got=error.strerror or str(error)) from None
