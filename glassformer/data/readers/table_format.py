"""The format of a table: kind of file, delimiter, quoting and header, detected from its beginning."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from glassformer.base.errors import DataError
from glassformer.data.readers.conll import conll_columns
from glassformer.data.readers.lines import LONGEST_LINE, First, decoded_head, plain_suffix
from glassformer.data.readers.named_rows import json_rows, parquet_columns
from glassformer.data.readers.squad import COLUMNS as SQUAD_COLUMNS

Kind = Literal["delimited", "jsonl", "parquet", "conll", "squad"]
FileKind = Literal["jsonl", "csv", "tsv", "parquet", "conll", "squad"]

# The most bytes, lines and rows of a file that are read for this.
_BYTES, _LINES, _ROWS = 1 << 20, 1000, 200
# A quote that is open at the end of the sample is taken to be closed later, unless it spans more lines than this and
# no quoted cell before it had several lines.
_OPEN_LINES = 50
# The share of lines with as many cells as the first that makes a text a table.
_ALIKE = 0.9
# The most different values of a column of labels, each at least twice; and the fewest rows by which a header above
# columns of text can be recognised.
_LABELS, _FEW_ROWS = 20, 10
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?", re.ASCII)
_DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}([T ]\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?Z?)?", re.ASCII)
_MISSING = ("", "na", "n/a", "nan", "null", "none")
_NAME = re.compile(r"[^\W\d]\w{0,29}")
# Names of columns, however few rows follow.
_USUAL = re.compile(
    r"(text|sentence|source|target|pair|label|class|tag|word|first|second|score|id|title|body|question|answer|choice"
    r"|premise|hypothesis|category|en|de|fr|es|it|english|german|french|spanish|italian|prompt|reply|utterance"
    r"|frage|antwort|satz|quelle|ziel|englisch|deutsch|französisch|spanisch|italienisch|réponse|phrase|anglais"
    r"|allemand|français|espagnol|pregunta|respuesta|texto|texte|inglés|alemán|francés|español)(en|s)?[ _-]?\w{0,2}",
    re.IGNORECASE,
)
_OPEN = re.compile(r'"[^"]*+(?:""[^"]*+)*+')
_NEEDS_QUOTES = ",;"
DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "pipe"}
_NAMES = {"jsonl": "JSON Lines", "parquet": "Parquet", "squad": "SQuAD's JSON"}
_KINDS: dict[str, FileKind] = {
    **{".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".json": "squad"},
    **{".conll": "conll", ".conllu": "conll", ".iob": "conll", ".iob2": "conll", ".bio": "conll"},
}
# Files that are no text: workbooks and archives. The first line that Excel writes for itself.
_PACKED = {".xlsx", ".xls", ".ods", ".zip", ".7z", ".pdf", ".docx", ".db", ".sqlite"}
_SEPARATOR = re.compile(r"sep=\S\s*(\n|$)", re.IGNORECASE)
_BY_SUFFIX = {".csv": ",;\t|", ".tsv": "\t", ".txt": "\t,;|"}


@dataclass(frozen=True)
class TableFormat:
    """How a table is written; `columns` are the header's names, or numbers from "0" on where there is no header. In the
    columns of `numeric` are numbers or dates alone, as far as the first rows show.
    """

    kind: Kind
    delimiter: str
    quoted: bool
    header: bool
    columns: tuple[str, ...]
    numeric: frozenset[int] = field(default=frozenset(), compare=False)

    def __str__(self) -> str:
        count = f"{len(self.columns):,} column{'' if len(self.columns) == 1 else 's'}"
        if self.kind == "conll":
            return f"{'CoNLL' if self.columns[0] == '0' else 'CoNLL-U'}, {count}"
        if self.kind != "delimited":
            return f"{_NAMES[self.kind]}, {count}"
        quoting, header = ("quoted" if self.quoted else "no quoting"), ("a header" if self.header else "no header")
        return f"{DELIMITERS.get(self.delimiter, repr(self.delimiter))}-separated, {quoting}, {header}, {count}"


def table_kind(path: Path) -> FileKind | None:
    """The kind of table by the file's name; None for plain text, where only the content can show a table."""
    return _KINDS.get(plain_suffix(path))


def names_columns(path: Path) -> bool:
    """Whether a file's name shows a table format that names the columns, so that they have no numbers."""
    return table_kind(path) in ("jsonl", "parquet", "squad")


def is_number(column: str) -> bool:
    """Whether a column is given by its number, counted from 0, and not by its name."""
    return column.isascii() and column.isdecimal() and len(column) < 9


def find_format(
    path: Path, columns: Sequence[str] = (), *, header: bool | None = None, as_text: bool = False
) -> TableFormat:
    """The format of a table by its first 200 rows. Names in `columns` need a header, else a first row unlike the others
    is taken as one, unless `header` decides. `as_text`: whatever its suffix. Raises DataError.
    """
    kind = table_kind(path)
    if kind == "squad":
        return TableFormat(kind, "", False, True, SQUAD_COLUMNS)
    if kind == "jsonl" or kind == "parquet":
        bad = First()  # rows before the first good one, which are refused, or left out, where all are read
        objects = (tuple(row.values) for row in json_rows(path, bad=bad))
        first = next(objects, None) if kind == "jsonl" else parquet_columns(path)
        if first is None:
            raise bad.error or DataError(f"{path} must hold rows", got="none")
        return TableFormat(kind, "", False, True, first)
    if kind == "conll":
        return conll_format(path)
    suffix = ".txt" if as_text else plain_suffix(path)
    if suffix not in _BY_SUFFIX:
        parallel = "" if suffix in _PACKED else "; --target-file names a parallel file"
        raise DataError(
            f"{path} must be a table",
            got=f"a file with the suffix {suffix!r}",
            do=f"save it as .csv, .tsv, .jsonl, .parquet, or .txt with delimiters{parallel}",
        )
    sample, whole = _beginning(path)
    if not sample.strip():
        raise DataError(f"{path} must hold rows", got="none")
    if _SEPARATOR.match(sample):
        do = "delete this line, which only Excel reads: delimiters are recognized"
        raise DataError(f"{path}, line 1 must name the columns", got=repr(sample.partition("\n")[0].strip()), do=do)
    delimiter, quoted, rows = _written(path, suffix, sample, whole)
    if header is None:
        header = not all(map(is_number, columns)) or _first_is_header(rows[:_ROWS])
    names = rows[0] if header else [str(place) for place in range(len(rows[0]))]
    below = [row for row in rows[header:] if len(row) == len(names)]
    numeric = {place for place in range(len(names)) if below and _are_numbers(row[place] for row in below)}
    return TableFormat("delimited", delimiter, quoted, header, tuple(names), frozenset(numeric))


def conll_format(path: Path) -> TableFormat:
    """The columns of a file of words in columns, whatever its name."""
    return TableFormat("conll", "", False, False, conll_columns(path))


def _beginning(path: Path) -> tuple[str, bool]:
    """The lines by which the format is known, and whether they are all; the first one whole, however long it is."""
    sample, whole = decoded_head(path, _BYTES)
    if not whole and "\n" not in sample:
        sample, whole = decoded_head(path, LONGEST_LINE)
        enough = sample.find("\n") + 1 + _BYTES
        sample, whole = sample[:enough], whole and len(sample) <= enough
    lines = sample.replace("\r\n", "\n").split("\n", _LINES)
    return "\n".join(lines[:_LINES]), whole and len(lines) <= _LINES


def _written(path: Path, suffix: str, sample: str, whole: bool) -> tuple[str, bool, list[list[str]]]:
    """The delimiter that makes rows of equal length, whether cells are quoted, and the rows of the sample."""
    candidates = _BY_SUFFIX[suffix]
    readings = {delimiter: _read_with(sample, delimiter, whole) for delimiter in candidates}
    alike = {delimiter: _alike(rows) for delimiter, (_, rows) in readings.items()}
    usual = candidates[0]
    best = usual if alike[usual] >= _ALIKE else max(candidates, key=alike.__getitem__)
    if alike[best] < _ALIKE:
        best = usual
    lines = sample.strip().split("\n")
    # A text with blank lines is no table, unless they stand in quoted cells; where all other lines have as many cells
    # as they are, a quote is an ordinary character.
    plain = _alike([line.split(best) for line in lines if line.strip()]) >= _ALIKE
    parted = any(not line.strip() for line in lines) and (plain or not readings[best][0])
    if suffix == ".txt" and (alike[best] < _ALIKE or len(readings[best][1]) < 2 or parted):
        raise DataError(
            f"{path} must be a table: each line with the same number of cells",
            got="text that no tab, comma, semicolon or pipe splits into equal rows",
        )
    quoted, rows = readings[best]
    return best, quoted, rows


def _alike(rows: list[list[str]]) -> float:
    """The share of rows with as many cells as the first, 0 where that has one cell."""
    return sum(len(row) == len(rows[0]) for row in rows) / len(rows) if len(rows[0]) > 1 else 0.0


def _read_with(sample: str, delimiter: str, whole: bool) -> tuple[bool, list[list[str]]]:
    """Whether cells are quoted, and the rows; without any quotes, tables with commas or semicolons count as quoted."""
    if '"' in sample:
        rows = _quoted_rows(sample, delimiter, whole)
        if rows:
            return True, rows
    rows = [line.split(delimiter) for line in sample.split("\n") if line.strip()]
    return '"' not in sample and delimiter in _NEEDS_QUOTES, _whole_rows(rows, whole)


def _quoted_rows(sample: str, delimiter: str, whole: bool) -> list[list[str]]:
    """The rows of a sample with CSV's quotes (RFC 4180), none where quotes are ordinary: with tabs or pipes after one
    that is not CSV's, with commas, where text has to be quoted, after most.
    """
    sign = re.escape(delimiter)
    cell = re.compile(rf'(?:"(?P<inner>[^"]*+(?:""[^"]*+)*+)"|(?P<plain>[^"{sign}\n]*+))(?=[{sign}\n]|\Z)')
    rows: list[list[str]] = [[]]
    at = good = stray = 0
    several_lines = False  # whether some cell has been quoted for its line ends
    while at <= len(sample):
        if found := cell.match(sample, at):
            inner = found["inner"]
            good += inner is not None
            several_lines = several_lines or "\n" in (inner or "")
            rows[-1].append(found["plain"] if inner is None else inner.replace('""', '"'))
            if sample[found.end() : found.end() + 1] == "\n":
                rows.append([])
            at = found.end() + 1
        elif _OPEN.fullmatch(sample, at):
            too_long = whole or (not several_lines and sample.count("\n", at) > _OPEN_LINES)
            if delimiter not in _NEEDS_QUOTES and too_long:
                return []
            rows[-1].append(sample[at:])
            break
        elif delimiter in _NEEDS_QUOTES:
            stray += 1
            rows[-1] = []
            at = sample.find("\n", at) + 1 or len(sample) + 1
        else:
            return []
    return [] if stray > good else _whole_rows([row for row in rows if row not in ([], [""])], whole)


def _whole_rows(rows: list[list[str]], whole: bool) -> list[list[str]]:
    """Without the last row, which may have been cut where the sample ends."""
    return rows if whole or len(rows) < 2 else rows[:-1]


def _first_is_header(rows: list[list[str]]) -> bool:
    """Whether the first row is unlike the others: a word above numbers, or a value that no other row has."""
    first, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    votes = [_heads(name, [row[place] for row in rest]) for place, name in enumerate(first)]
    usual = bool(rest) and all(_USUAL.fullmatch(name.strip()) for name in first)
    return (usual or True in votes) and False not in votes


def _are_numbers(cells: Iterable[str]) -> bool:
    """Whether cells are numbers or dates, all but one in twenty."""
    found = [(_NUMBER.fullmatch(cell.strip()) or _DATE.fullmatch(cell.strip())) is not None for cell in cells]
    return sum(found) >= 0.95 * len(found)


def _heads(name: str, cells: list[str]) -> bool | None:
    """Whether a column's first cell is its name (True) or one of its values (False); None where this is unknown."""
    if not cells:
        return None
    if _are_numbers(cells):
        if name.strip().lower() in _MISSING:
            return None
        return _NUMBER.fullmatch(name.strip()) is None and any(map(str.isalpha, name))
    labels = Counter(cells)
    if len(labels) <= _LABELS and min(labels.values()) > 1:
        return name not in labels
    if name in labels:
        return False
    # Of sentences, one of several words that is no shorter than most of them is itself a sentence.
    if len(name.split()) > 2 and len(name) >= sorted(map(len, cells))[len(cells) // 2]:
        return False
    # The name of a column of sentences is one word, shorter than any of them.
    shorter = len(cells) >= _FEW_ROWS and all(len(name) < len(cell) for cell in cells)
    return True if shorter and _NAME.fullmatch(name) else None
