"""Documents from files: plain text, folders, JSONL, CSV, TSV, Parquet, and `.gz` of each, as a stream; and
dialogues.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from glassformer.base.errors import DataError
from glassformer.data.readers.files import files_of
from glassformer.data.readers.lines import OnBad, of_each, plain_suffix, read_lines, stop
from glassformer.data.readers.rows import read_table
from glassformer.data.readers.table_format import find_format, names_columns, table_kind

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


# The column of a conversation as chat programs write it: a list of {"role": …, "content": …}.
MESSAGES = "messages"
# The columns of a table of single exchanges.
PAIR = ("prompt", "reply")
# Who asks, and who answers; what stands before all turns.
ASKING, ANSWERING, BEFORE = ("user", "human"), ("assistant", "gpt", "model"), ("system",)
ROLE_OF = {word: words[0] for words in (ASKING, ANSWERING, BEFORE) for word in words}
"""The role that each of these words means."""


class Dialogue(NamedTuple):
    """Turns in a line each, which are replies to learn, where the dialogue begins, and the roles, () without any."""

    turns: tuple[str, ...]
    replies: tuple[bool, ...]
    where: str
    roles: tuple[str, ...] = ()


def read_dialogues(path: Path, *, column: str, header: bool | None = None, bad: OnBad = stop) -> Iterator[Dialogue]:
    """The dialogues of a file: lists of turns in `column` or `messages`, rows of `prompt` and `reply`, or a turn a line
    and a blank line between dialogues. Learned are the assistant's turns, else all but the first. A bad one goes to
    `bad`.
    """
    if names_columns(path):
        for row in read_table(path, bad=bad):
            try:
                yield dialogue_of(_list_in(row.values, column, row.where), row.where)
            except DataError as error:
                bad(error.about(row.where, row.own))
        return
    rows = _pairs(path, header, bad) if table_kind(path) else _blocks(path, bad)
    for turns, where in rows:
        try:
            yield dialogue_of(turns, where)
        except DataError as error:
            bad(error.about(where, list(turns)))


def dialogue_of(given: object, where: str) -> Dialogue:
    """A dialogue of strings, or objects with `role` and `content`; raises DataError for fewer than two turns."""
    if not isinstance(given, list):
        raise DataError(f"{where}: a dialogue must be a list of turns", got=repr(given)[:60])
    turns, replies, roles = [], [], []
    for number, turn in enumerate(given):
        text, role = turn, ""
        if isinstance(turn, Mapping):
            text, role = text_and_role(turn)
            if role not in (*ASKING, *ANSWERING, *BEFORE):
                known = ", ".join((*ASKING, *ANSWERING, *BEFORE))
                raise DataError(f"{where}: turn {number + 1} must have a role, one of {known}", got=repr(role)[:40])
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{where}: turn {number + 1} must hold words", got=repr(text)[:60])
        turns.append(in_a_line(text))
        replies.append(number > 0 and (role in ANSWERING if role else True))
        roles.append(ROLE_OF.get(role, ""))
    if len(turns) < 2:
        raise DataError(f"{where}: a dialogue needs two turns", got=str(len(turns)))
    if not any(replies):
        raise DataError(f"{where}: a dialogue needs a reply", got=f"{len(turns)} turns, none of the assistant")
    if any(roles) and not all(roles):
        raise DataError(
            f"{where}: either all turns of a dialogue have a role, or none", got=f"{roles.count('')} without"
        )
    return Dialogue(tuple(turns), tuple(replies), where, tuple(roles) if all(roles) else ())


def text_and_role(turn: Mapping[object, object]) -> tuple[object, str]:
    """What a turn says and who says it, in small letters, under either pair of names that are in use."""
    return turn.get("content", turn.get("value")), str(turn.get("role", turn.get("from", ""))).lower()


def in_a_line(text: str) -> str:
    """A turn in one line: line ends part turns."""
    return " ".join(text.split())


def _list_in(values: Mapping[str, object], column: str, where: str) -> object:
    for name in (column, MESSAGES):
        if name in values:
            return values[name]
    raise DataError(
        f"{where} must have a column {column!r} or {MESSAGES!r} with a list of turns",
        got=", ".join(map(repr, list(values)[:8])) or "no column",
        do="name the column with --text-column COLUMN",
    )


def _pairs(path: Path, header: bool | None, bad: OnBad) -> Iterator[tuple[list[object], str]]:
    named = find_format(path, ("0",), header=True).columns
    columns = PAIR if {*PAIR} <= {*named} else ("0", "1")
    for row in read_table(path, columns, format=find_format(path, columns, header=header), bad=bad):
        yield [row.values[name] for name in columns], row.where


def _blocks(path: Path, bad: OnBad) -> Iterator[tuple[list[object], str]]:
    if plain_suffix(path) == ".json":
        raise DataError(f"{path} must be text or a table", got="JSON", do="write one dialogue per line, as .jsonl")
    turns: list[object] = []
    begins = 1
    for line in read_lines(path, bad=bad):
        if line.text.strip():
            if not turns:
                begins = line.number
            turns.append(line.text)
        elif turns:
            yield turns, f"{path}, line {begins}"
            turns = []
    if turns:
        yield turns, f"{path}, line {begins}"
