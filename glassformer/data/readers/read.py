"""Documents from files: plain text, folders, JSONL, CSV, TSV, Parquet, and `.gz` of each, as a stream."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from glassformer.base.errors import DataError
from glassformer.data.readers.files import files_of
from glassformer.data.readers.lines import OnBad, of_each, plain_suffix, read_lines, stop
from glassformer.data.readers.rows import read_table
from glassformer.data.readers.table_format import table_kind

Documents = Literal["blank-line", "line", "file"]

# Characters: a longer document comes in parts, so that a book of 2 GB is never in memory as a whole.
_PART = 1 << 20


class Document(NamedTuple):
    """A text and where it begins (file and line or row). `continued`: it is the next part of the document before it."""

    text: str
    where: str
    continued: bool = False


def read(
    path: str | Path, *, text: str = "text", documents: Documents = "blank-line", bad: OnBad = stop
) -> Iterator[Document]:
    """The documents of one file or folder: rows of tables by their column `text`; in plain text separated by a blank
    line, each line, or the file. Raises DataError; a bad row, or one of several files, goes to `bad`.
    """
    yield from of_each(files_of([path], text=text), lambda file: _of_file(file, text, documents, bad), bad)


def _of_file(file: Path, text: str, documents: Documents, bad: OnBad) -> Iterator[Document]:
    if plain_suffix(file) == ".json":  # as plain text, its braces and quotes would be learned
        raise DataError(f"{file} must be text or a table", got="JSON", do="write one object per line, as .jsonl")
    some = False

    def left_out(error: DataError) -> None:
        nonlocal some
        bad(error)
        some = True  # not of blanks only: what is there is left out, and the other files are read

    for document in _rows(file, text, left_out) if table_kind(file) else _plain(file, documents, left_out):
        some = True
        yield document
    if not some:
        raise DataError(f"{file} must hold text", got="only blanks")


def _rows(path: Path, column: str, bad: OnBad) -> Iterator[Document]:
    for row in read_table(path, [column], bad=bad):
        value = row.values[column]
        if not isinstance(value, str):
            bad(DataError(f"{row.where}: column {column!r} must hold text", got=repr(value)[:80]))
        elif not value.strip():
            bad(DataError(f"{row.where}: column {column!r} must hold text", got="only blanks"))
        else:
            yield from _in_parts(value, row.where)


def _in_parts(text: str, where: str) -> Iterator[Document]:
    """A document, in parts if it is too long for one: each ends before whitespace, if there is any."""
    begin = 0
    while len(text) - begin > _PART:
        low, high = begin + 1, begin + _PART
        cut = max(text.rfind(" ", low, high), text.rfind("\n", low, high))
        end = cut if cut > 0 else high
        yield Document(text[begin:end], where, begin > 0)
        begin = end
    yield Document(text[begin:], where, begin > 0)


def _plain(path: Path, documents: Documents, bad: OnBad) -> Iterator[Document]:
    """Gather lines into documents; a document that is too long for one part is yielded in parts."""
    gathered: list[str] = []
    size, begins, number, continued = 0, 1, 0, False
    for line in read_lines(path, bad=bad, longest=_PART):
        new_line = line.number != number
        number = line.number
        blank = new_line and not line.text.strip()
        if new_line and (documents == "line" or (documents == "blank-line" and blank)):
            if gathered:
                yield Document("".join(gathered), f"{path}, line {begins}", continued)
            gathered, size, continued = [], 0, False
        if not (gathered or continued):
            if blank:
                continue
            begins = number
        elif new_line:
            gathered.append("\n")
        gathered.append(line.text)
        size += len(line.text)
        if size >= _PART:
            yield Document("".join(gathered), f"{path}, line {begins}", continued)
            gathered, size, continued = [], 0, True
    rest = "".join(gathered).rstrip("\n")
    if rest.strip():
        yield Document(rest, f"{path}, line {begins}", continued)
