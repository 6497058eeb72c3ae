"""Sentences of words in columns, one word a line and a blank line after each sentence: CoNLL, and CoNLL-U.

A file is CoNLL-U (universaldependencies.org/format.html) when its lines have ten cells and begin with a word's number,
or when it names its columns; in any other file the columns have numbers. Cells are separated by tabs, or by blanks
where the first line of a word has no tab.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from glassformer.base.errors import DataError, MissingColumnError
from glassformer.data.readers.lines import First, OnBad, read_lines, stop
from glassformer.data.readers.named_rows import Row, no_column

NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
# A word's number in CoNLL-U; that of several words written as one (3-4); that of a word that is not written (8.1).
_WORD, _SEVERAL, _NOT_WRITTEN = re.compile(r"\d+"), re.compile(r"(\d+)-(\d+)"), re.compile(r"\d+\.\d+")
_GLOBAL = re.compile(r"#\s*global\.columns\s*=\s*(.+)")
# Other blanks, as that of 10 000 in French, stand inside words.
_BLANKS = re.compile("[ \t]+")
# Marks the beginning of a document in files of the CoNLL-2003 task.
_DOCUMENT = "-DOCSTART-"
# The columns that a task asks for: the words, and the last column, or UPOS.
WORDS, TAGS, TEXT, OFFSETS = "words", "tags", "text", "offsets"


class _Cells(NamedTuple):
    cells: list[str]
    line: int


@dataclass
class _Layout:
    """How the lines of a file are written; `names` of CoNLL-U alone. `words` and `tags` are the columns asked for."""

    words: str | None = None
    tags: str | None = None
    names: tuple[str, ...] = ()
    tabs: bool = True
    count: int = 0
    asked: dict[str, int] = field(default_factory=dict)


def conll_rows(
    path: Path, columns: Sequence[str] = (), *, words: str | None = None, tags: str | None = None, bad: OnBad = stop
) -> Iterator[Row]:
    """The sentences of a file: `words`, `offsets` (characters [start, end) of each word in the text), `text`, and
    `tags`. These and further `columns` are lists of one cell for each word.

    Columns have a number from 0, or in CoNLL-U also a name; by default the first one holds the words and the last one
    the tags, in CoNLL-U FORM and UPOS.

    The text has a space between words except where CoNLL-U says SpaceAfter=No. Several words written as one (don't) are
    joined in the text where they spell it, else separate; words that are not written are left out. A sentence with a
    line that lacks a cell goes to `bad`. Raises MissingColumnError for a column that the file does not have.
    """
    layout = _Layout(words=words, tags=tags)
    sentence: list[_Cells] = []
    fault: DataError | None = None  # of this sentence, the first

    def broken(error: DataError) -> None:
        nonlocal fault
        fault = fault or error

    def ended() -> Iterator[Row]:
        nonlocal sentence, fault
        whole, why = sentence, fault
        sentence, fault = [], None
        if why is not None:
            bad(why.about(why.where, [each.cells for each in whole] or None))
        elif whole:
            yield _row(path, whole, layout)

    for line in read_lines(path, bad=broken):
        text = line.text
        if not text.strip():
            yield from ended()
            continue
        if not sentence and _is_comment(text, layout):
            continue
        if text.split()[0] == _DOCUMENT:
            continue
        if not layout.count:
            _begin(path, text, line.number, layout, columns)
        cells = text.split("\t") if layout.tabs else _BLANKS.split(text.strip())
        sentence.append(_Cells(cells, line.number))
        more = any(cell.strip() for cell in cells[layout.count :])
        if more or len(cells) < layout.count or not cells[layout.asked[WORDS]].strip():
            where = f"{path}, line {line.number}"
            got = (
                "a blank word"
                if len(cells) >= layout.count and not more
                else f"{len(cells)} of them: {text.strip()[:40]!r}"
            )
            broken(DataError(f"{where} must have {layout.count} columns with a word", got=got).about(where, None))
    yield from ended()


def conll_columns(path: Path) -> tuple[str, ...]:
    """The names of a CoNLL-U file's columns, or the numbers of another file's."""
    layout = _Layout()
    bad = First()  # lines before the first good one, which are refused, or left out, where all are read
    for line in read_lines(path, bad=bad):
        if line.text.strip() and not _is_comment(line.text, layout) and line.text.split()[0] != _DOCUMENT:
            _begin(path, line.text, line.number, layout, ())
            break
    if not layout.count:
        raise bad.error or DataError(f"{path} must hold words", got="only blanks")
    return layout.names or tuple(map(str, range(layout.count)))


def _is_comment(text: str, layout: _Layout) -> bool:
    """Whether a line before a sentence is a comment; # is a word where its line has the cells of one."""
    if not text.startswith("#"):
        return False
    if found := _GLOBAL.match(text):
        layout.names = tuple(found[1].split())
        return True
    if "\t" in text or layout.names:
        return bool(layout.names)
    if layout.count:
        return layout.tabs or text.startswith("# id ")
    return text[1:2].isspace() or "=" in text or len(text.split()) == 1


def _begin(path: Path, text: str, line: int, layout: _Layout, columns: Sequence[str]) -> None:
    layout.tabs = "\t" in text
    cells = text.split("\t") if layout.tabs else _BLANKS.split(text.strip())
    layout.count = len(cells)
    numbered = any(kind.fullmatch(cells[0]) for kind in (_WORD, _SEVERAL, _NOT_WRITTEN))
    if not layout.names and len(cells) == len(NAMES) and numbered:
        layout.names = NAMES
    known = layout.names or tuple(map(str, range(len(cells))))
    usual = {WORDS: "FORM", TAGS: "UPOS"} if layout.names else {WORDS: "0", TAGS: known[-1]}
    usual |= {role: name for role, name in ((WORDS, layout.words), (TAGS, layout.tags)) if name is not None}
    for column in (WORDS, TAGS, *columns):
        if column in (TEXT, OFFSETS) or (column == TAGS and layout.tags is None and len(cells) == 1):
            continue  # words alone have no tags
        name = usual.get(column, column)
        if name.upper() in known:
            layout.asked[column] = known.index(name.upper())
        elif name.isdecimal() and int(name) < len(cells):
            layout.asked[column] = int(name)
        elif column != TAGS or column in columns or layout.tags is not None:
            where = f"{path}, line {line}"
            if layout.names:
                raise no_column(where, name, known)
            raise MissingColumnError(
                f"{where} must have a column {name[:40]!r}",
                got=f"{len(cells)} columns",
                do="columns of CoNLL files have numbers, the first is 0",
            )


def _row(path: Path, sentence: Sequence[_Cells], layout: _Layout) -> Row:
    named = bool(layout.names)
    words, glued = _written(sentence, layout) if named else (sentence, [False] * len(sentence))
    forms = [word.cells[layout.asked[WORDS]].strip() for word in words]
    text, offsets = joined(forms, glued)
    values: dict[str, object] = {TEXT: text, WORDS: forms, OFFSETS: offsets}
    for column, index in layout.asked.items():
        if column != WORDS:
            values[column] = [word.cells[index].strip() for word in words]
    return Row(values, f"{path}, line {sentence[0].line}", [each.cells for each in sentence])


def joined(words: Sequence[str], glued: Sequence[bool] = ()) -> tuple[str, list[tuple[int, int]]]:
    """Words as a text with spaces between, none after `glued` ones; and the characters [start, end) of each."""
    parts: list[str] = []
    offsets: list[tuple[int, int]] = []
    at = 0
    for number, word in enumerate(words):
        offsets.append((at, at + len(word)))
        space = "" if number + 1 == len(words) or (glued and glued[number]) else " "
        parts.append(word + space)
        at += len(word) + len(space)
    return "".join(parts), offsets


def _written(sentence: Sequence[_Cells], layout: _Layout) -> tuple[list[_Cells], list[bool]]:
    """The words of a CoNLL-U sentence, and for each whether the next one follows it without a space."""
    form = layout.asked[WORDS]
    misc = layout.names.index("MISC") if "MISC" in layout.names else None
    number = layout.names.index("ID") if "ID" in layout.names else None

    def close(word: _Cells) -> bool:
        return misc is not None and "SpaceAfter=No" in word.cells[misc].split("|")

    words: list[_Cells] = []
    glued: list[bool] = []
    together: dict[str, tuple[str, bool]] = {}  # the last word of several: how they are written, what follows
    several: list[tuple[int, int]] = []
    for word in sentence:
        own = str(len(words) + 1) if number is None else word.cells[number]
        if _NOT_WRITTEN.fullmatch(own):
            continue
        if found := _SEVERAL.fullmatch(own):
            together[found[2]] = (word.cells[form].strip(), close(word))
            several.append((int(found[2]) - int(found[1]) + 1, len(words)))
            continue
        words.append(word)
        glued.append(close(word))
        if own in together:
            surface, then = together.pop(own)
            count, first = several.pop()
            spells = "".join(each.cells[form].strip() for each in words[first:]) == surface
            glued[first:] = [*[spells] * (count - 1), then]
    return words, glued
