"""How a verb reads records: the columns of a table by their role, or sentences as words; and lines as they come."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from glassformer.base.errors import DataError
from glassformer.base.json_text import in_json
from glassformer.cli.terminal.screen import note
from glassformer.data.readers.lines import First, OnBad, decoded_head, plain_suffix, read_lines
from glassformer.data.readers.named_rows import Row, json_row, json_rows, no_column
from glassformer.data.readers.rows import Columns, by_role, named, names_of, read_table
from glassformer.data.readers.table_format import (
    DELIMITERS,
    TableFormat,
    find_format,
    is_number,
    names_columns,
    table_kind,
)

# The field of a record that comes back with its answer, to tell which record it is of.
_KEPT = ("id",)
# The column of the text in files of other programs, where none is named and the usual one is missing.
_OTHERWISE = {"turns": "messages", "source": "text"}
# Bytes of a file that show whether it holds objects.
_HEAD = 8192


class Text(NamedTuple):
    """A record's values by role, its file and line. `last`: the next may have to be waited for. `kept`: its `id`."""

    values: Mapping[str, object]
    where: str = ""
    last: bool = False
    kept: Mapping[str, object] = MappingProxyType({})
    own: object = None


class TableReader:
    """Reads rows of tables by `columns`, or by `usual` names; of `pairs` else the first two; `lists` are turns.
    `documents`: what a text of a plain file is; the lines of one are joined. `keep`: columns that come back. `learned`:
    the columns are those of the training; where these are numbers, a table with the usual names is read by them.
    """

    def __init__(
        self,
        columns: Mapping[str, Columns],
        usual: Mapping[str, Columns] = MappingProxyType({}),
        *,
        blank: bool = False,
        pairs: bool = False,
        lists: bool = False,
        documents: Literal["line", "blank-line", "file"] = "line",
        keep: tuple[str, ...] = (),
        learned: bool = False,
    ) -> None:
        self.keep, self._learned = keep, learned
        column = columns["text"]
        assert isinstance(column, str)
        self.column, self.plain = column, len(columns) == 1
        self.documents, self.blank = documents, blank and self.plain and documents == "line"
        self.columns, self._usual, self._pairs, self._lists = columns, usual, pairs, lists

    def of_file(self, path: Path, bad: OnBad, tell: Callable[[str], None] = note) -> Iterator[Text]:
        """A record for each row, or for each line of a plain file; a table found by its content is reported."""
        from glassformer.data.readers.read import read

        objects = _holds_objects(path)
        table = None if objects or not self.plain else _table_without_suffix(path, self.column)
        if table is not None:
            tell(f"{path.name} is read as a table ({table}): its first line names the column {self.column!r}")
            for row in read_table(path, self._names({"text": self.column}), optional=_KEPT, format=table, bad=bad):
                yield from _by_role(row, {"text": self.column}, bad, self.keep, lists=False)
            return
        if self.plain and not objects and table_kind(path) is None:
            if self.keep:
                do = "leave --keep out, or save the texts as a table"
                raise DataError(f"{path} must have the columns to keep", got="lines of text", do=do)
            for line in read_lines(path, bad=bad) if self.blank else ():
                yield Text({"text": line.text}, f"{path}, line {line.number}", own=line.text)
            if self.blank:
                return
            left_out = last = 0
            for document in read(path, text=self.column, documents=self.documents, bad=bad):
                number = int(document.where.rpartition(" ")[2])
                left_out, last = left_out + max(number - last - 1, 0), number
                text = document.text.replace("\n", " ")
                yield Text({"text": text}, document.where, own=text)
            if left_out and self.documents == "line":
                tell(f"{path.name}: blank lines have no answer; left out: {left_out:,}")
            return
        by_name = objects or names_columns(path) or (self._learned and self._has_names(path))
        columns = named(self.columns, self._usual) if by_name else self.columns
        columns = self._of_pairs(columns, path) if self._pairs and not objects else columns
        read_rows = json_rows if objects else read_table
        if by_name and self._learned and columns["text"] in _OTHERWISE:
            first = next(read_rows(path, bad=First()), None)
            columns = _present(columns, () if first is None else first.values)
        for row in read_rows(path, self._names(columns), optional=_KEPT, bad=bad):
            yield from _by_role(row, columns, bad, self.keep, lists=self._lists)

    def _has_names(self, path: Path) -> bool:
        """Whether the header of a table has the usual names of the columns that were numbers in the training."""
        names = set(names_of(named(self.columns, self._usual)))
        found = find_format(path, names_of(self.columns))
        if not found.header or names == set(names_of(self.columns)) or not names <= set(found.columns):
            return False
        note(f"{path.name}: read by the names {', '.join(sorted(names))}, as the columns of the training have numbers")
        return True

    def _of_pairs(self, columns: Mapping[str, Columns], path: Path) -> Mapping[str, Columns]:
        from glassformer.data.readers.parallel import pair_columns, unread_note

        found = pair_columns(columns, path)
        chosen = not names_columns(path) and (len(found) > 1 or found != columns)
        if chosen and (unread := unread_note(found, find_format(path, names_of(found)), back={*self.keep, *_KEPT})):
            note(f"{path.name}: {unread}")
        return found

    def of_line(self, line: str, where: str, bad: OnBad) -> Iterator[Text]:
        columns: Mapping[str, Columns] = named(self.columns, self._usual)
        if self._learned and columns["text"] in _OTHERWISE:
            columns = _present(columns, json_row(line, where).values)
        row = json_row(line, where, self._names(columns), _KEPT)
        yield from _by_role(row, columns, bad, self.keep, lists=self._lists)

    def _names(self, columns: Mapping[str, Columns]) -> list[str]:
        return list(dict.fromkeys([*names_of(columns), *self.keep]))


class SentenceReader:
    """Records are sentences, as words in columns, lists of words, or texts, with the columns of these."""

    plain = True

    def __init__(
        self,
        columns: Mapping[str, Columns],
        usual: Mapping[str, Columns],
        *,
        blank: bool = False,
        keep: tuple[str, ...] = (),
    ) -> None:
        from glassformer.tasks.labels.tag.settings import TagData

        self.columns = columns
        self._data = TagData.model_validate(dict(columns))
        self._named = TagData.model_validate(named(columns, usual))
        self.column = self._data.text
        self.keep = keep
        self._lines, self.blank = TableReader({"text": self.column}, blank=blank, keep=keep), blank
        self._sentence = partial(_sentence, keep=keep)

    def of_file(self, path: Path, bad: OnBad, tell: Callable[[str], None] = note) -> Iterator[Text]:
        """The sentences of a file; each line of a file that is neither a table nor words in columns."""
        from glassformer.tasks.labels.tag.records import sentence_rows, tagged_rows

        kind = table_kind(path)
        if _holds_objects(path):
            yield from map(self._sentence, sentence_rows(json_rows(path, bad=bad), self._named, bad=bad, tagged=False))
        elif kind in ("jsonl", "parquet", "conll"):
            data = self._data if kind == "conll" else self._named
            yield from map(self._sentence, tagged_rows(path, data, bad=bad, tagged=False))
        else:
            yield from self._lines.of_file(path, bad, tell)

    def of_line(self, line: str, where: str, bad: OnBad) -> Iterator[Text]:
        from glassformer.tasks.labels.tag.records import sentence_rows

        yield from map(self._sentence, sentence_rows([json_row(line, where)], self._named, bad=bad, tagged=False))


Reader = TableReader | SentenceReader
"""How a verb reads files: `columns` by role, `column` of the text; `plain` lines are texts; `blank` ones too."""


def read_lines_as(reader: Reader, lines: Iterable[Text], bad: OnBad) -> Iterator[Text]:
    """The records of a stream; its first line shows whether the lines are JSON objects or texts."""
    plain: bool | None = None
    for line in lines:
        text = str(line.values["text"])
        if plain is None:
            plain = reader.plain and not _begins_object(text)
            if plain and (text.strip() == "[" or text.lstrip().startswith("[{")):
                raise DataError(f"{line.where} must be a text or an object", got="a JSON array", do="send jq -c '.[]'")
            if plain and _is_header(text, reader):
                got, do = f"a table: {text.strip()[:60]!r}", "save it as a file, whose name ends in .csv or .tsv"
                raise DataError(f"{line.where} must be a text or a JSON object", got=got, do=do)
        if plain:
            yield line
            continue
        if not text.strip():
            continue
        try:
            yield from (each._replace(last=line.last) for each in reader.of_line(text, line.where, bad))
        except DataError as error:
            bad(error)


def _is_header(line: str, reader: Reader) -> bool:
    """Whether a line names the columns that are read and kept, next to others. A sentence may have the word "text"
    between commas: its other parts are no single words.
    """
    rows = [[cell.strip('\ufeff" ') for cell in line.strip().split(mark)] for mark in DELIMITERS if mark in line]
    wanted = {reader.column, *reader.keep}
    return any(wanted <= {*cells} and (wanted != {"text"} or all(map(str.isidentifier, cells))) for cells in rows)


def _table_without_suffix(path: Path, column: str) -> TableFormat | None:
    """The format of a file that is a table with this column, though its name does not say so; None for another one."""
    if table_kind(path) is not None or is_number(column):
        return None
    first = decoded_head(path, _HEAD)[0].partition("\n")[0].strip()
    if not any(column in [cell.strip('" ') for cell in first.split(mark)] for mark in DELIMITERS if mark in first):
        return None
    try:
        return find_format(path, [column], as_text=True)
    except DataError:
        return None


def _holds_objects(path: Path) -> bool:
    """Whether a file whose name does not tell what it holds begins with an object of JSON."""
    return not plain_suffix(path) and _begins_object(decoded_head(path, _HEAD)[0])


def _begins_object(text: str) -> bool:
    return text.lstrip().startswith("{")  # also a damaged one: the lines after it must not be read as texts


def _present(columns: Mapping[str, Columns], names: Collection[str]) -> Mapping[str, Columns]:
    """The columns by role, with the text's other name where only this one is among `names`."""
    usual = str(columns["text"])
    other = _OTHERWISE.get(usual, usual)
    return {**columns, "text": other} if other in names and usual not in names else columns


def _by_role(
    row: Row, columns: Mapping[str, Columns], bad: OnBad, keep: Sequence[str], *, lists: bool
) -> Iterator[Text]:
    values = by_role(row.values, columns)
    if isinstance(values["text"], str) or (lists and isinstance(values["text"], list)):
        yield Text(values, row.where, kept=_kept(row, keep), own=row.own)
    else:
        error = DataError(f"{row.where}: column {columns['text']!r} must hold text", got=repr(values["text"])[:80])
        bad(error.about(row.where, row.own))


def _sentence(row: Row, keep: Sequence[str]) -> Text:
    """Raises DataError where a column to keep is missing."""
    left_out = ("tags", "spans", *_KEPT)
    values = {role: row.values[role] for role in row.values if role not in left_out}
    own = row.own if isinstance(row.own, Mapping) else {}  # words in columns have no others
    if missing := [name for name in keep if name not in own]:
        raise no_column(row.where, missing[0], own or row.values)
    return Text(values, row.where, kept={**_kept(row), **{name: in_json(own[name]) for name in keep}}, own=row.own)


def _kept(row: Row, keep: Sequence[str] = ()) -> dict[str, object]:
    return {name: in_json(row.values[name]) for name in (*_KEPT, *keep) if name in row.values}


def with_kept(text: Text, answer: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a record, then the fields of its answer; of a name that both have, the kept one is input_NAME."""
    kept: dict[str, object] = {}
    for name, value in text.kept.items():
        called = name
        while called in answer or (called != name and called in {**kept, **text.kept}):
            called = f"input_{called}"
        kept[called] = value
    return {**kept, **answer}
