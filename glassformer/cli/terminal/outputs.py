"""The files that a command is to write. Their paths are checked before anything is opened: `--overwrite` belongs to all
that write one. Of the parameters of a command, those of an option with `writable=True` are written; all others may name
what is read.

The suffix is the format: .jsonl, .csv, .tsv or .parquet; any other file holds text. Answers are written as JSON lines,
from which a table is made at the end, so that a stopped command can be resumed.
"""

from __future__ import annotations

import codecs
import csv
import glob
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, TextIO

import typer

from glassformer.base.errors import DataError
from glassformer.base.outputs import output_file
from glassformer.cli.terminal.options import keyword, signed

if TYPE_CHECKING:
    from pyarrow import DataType

TABLES = {".csv": ",", ".tsv": "\t", ".parquet": ""}
"""The suffix of a table, with its delimiter."""
RECORDS = (".jsonl", *TABLES)
# Suffixes of formats that answers are not written in: a program that reads them would fail on the text of the screen.
_OTHERS = (".json", ".conll", ".conllu", ".xls", ".xlsx", ".ods", ".gz", ".zip", ".bz2", ".xz", ".zst")
_SURROGATE = re.compile(r"(?<!\\)\\ud[89a-f]", re.IGNORECASE)
# Rows that are in memory together, and the bytes of a table by which it is known how it is written.
_TOGETHER, _HEAD = 512, 1 << 16
# A cell between semicolons with a number that has a decimal point, as no thousands are written; one with a comma.
_POINT = re.compile(rb"[;\n]\"?[-+]?(?:\d+\.(?:\d{1,2}|\d{4,})|0\.\d+)\"?(?=[;\r\n])")
_COMMA = re.compile(rb"[;\n]\"?[-+]?[\d.]*\d,\d+\"?(?=[;\r\n])")


def suffix_of(path: Path) -> str:
    """The suffix by which the format of a file is chosen."""
    return path.suffix.lower()


class _Written(NamedTuple):
    """How a CSV file is written."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."

    @classmethod
    def like(cls, inputs: Iterable[Path]) -> Self:
        """As the first of these files that is one. A spreadsheet in German or French writes semicolons, reads no other
        delimiter, takes 0.9 for a text or a date, and reads umlauts only after a byte order mark.
        """
        from glassformer.data.readers.lines import open_bytes, plain_suffix
        from glassformer.data.readers.table_format import find_format

        table = next((path for path in inputs if plain_suffix(path) == ".csv"), None)
        if table is None:
            return cls()
        with open_bytes(table) as handle:
            head = handle.read(_HEAD)
        encoding = "utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8"
        try:
            semicolons = find_format(table).delimiter == ";"
        except DataError:  # lines of text, whatever its name
            semicolons = False
        points = len(_POINT.findall(head)) > len(_COMMA.findall(head))
        return cls(";", encoding, "." if points else ",") if semicolons else cls(encoding=encoding)

    def cell(self, value: object) -> str:
        if isinstance(value, float) and self.decimal != ".":
            return str(value).replace(".", self.decimal)
        return "" if value is None else as_text(value)


def write_table(lines: TextIO, path: Path, suffix: str, inputs: Iterable[Path] = ()) -> None:
    """Write JSON lines as a table, a column for each name. A cell holds lists as JSON; Parquet has plain lists. A CSV
    file is written as the first of its `inputs` that is one.
    """
    names = list({name: None for row in _rows(lines) for name in row})
    if suffix == ".parquet":
        _write_parquet(lines, path, names)
        return
    how = _Written.like(inputs) if suffix == ".csv" else _Written(TABLES[suffix])
    with path.open("w", encoding=how.encoding, errors="backslashreplace", newline="") as handle:
        # A carriage return in a cell is not quoted by itself, where lines end in another way.
        usual, whole = (
            csv.writer(handle, delimiter=how.delimiter, lineterminator="\n", quoting=quoting)
            for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
        )
        for cells in chain([names], ([how.cell(row.get(name)) for name in names] for row in _rows(lines))):
            (whole if any("\r" in cell for cell in cells) else usual).writerow(cells)


def _write_parquet(lines: TextIO, path: Path, names: Sequence[str]) -> None:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    kinds: dict[str, DataType | None] = dict.fromkeys(names, pa.null())  # None: JSON, as values are of several kinds
    large = set[str]()  # integers that a float does not hold
    for some in _some(lines):
        for name, known in kinds.items():
            values = [row.get(name) for row in some]
            kinds[name] = None if known is None else _kind(known, values)
            large |= {name} if any(map(_is_large, values)) else set()
    texts = {name for name, kind in kinds.items() if kind is None or (name in large and "double" in str(kind))}
    strings = {name: pa.string() for name, kind in kinds.items() if name in texts or kind == pa.null()}
    schema = pa.schema([*(kinds | strings).items()])
    with ParquetWriter(path, schema) as writer:
        for some in _some(lines):
            rows = [
                {name: as_text(of) if name in texts and of is not None else of for name, of in row.items()}
                for row in some
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _kind(known: DataType, values: Sequence[object]) -> DataType | None:
    """The type of values with those before; None where there is none, and for objects."""
    import pyarrow as pa

    try:
        kind = pa.array(values).type
        schemas = [pa.schema([("", each)]) for each in (known, kind)]
        found = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowException, OverflowError):
        return None
    return None if "struct" in str(found) else found


def _is_large(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_is_large, value))
    return isinstance(value, int) and abs(value) > 1 << 53


def as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _rows(lines: TextIO) -> Iterator[dict[str, Any]]:
    lines.seek(0)
    # Lone surrogates are escapes in these lines; UTF-8 has none, so they stay escapes.
    yield from (json.loads(_SURROGATE.sub(r"\\\g<0>", line)) for line in lines)


def _some(lines: TextIO) -> Iterator[list[dict[str, Any]]]:
    rows = _rows(lines)
    while some := list(islice(rows, _TOGETHER)):
        yield some


# What is replaced by its own rule, with --overwrite or without: a conversation goes on, rejects replace rejects.
_OWN_RULE = {"save": True, "rejects": None}
OVERWRITE = "Replace an existing file, but never an input or a file of a model, an index or a run."


def outputs_of(parameters: Mapping[str, inspect.Parameter]) -> dict[str, typer.models.OptionInfo]:
    """The options of a command that name a file to write."""
    said = {name: getattr(each.annotation, "__metadata__", ()) for name, each in parameters.items()}
    return {name: of for name, found in said.items() for of in found if getattr(of, "writable", False) and of.file_okay}


def checking_outputs(command: Callable[..., None]) -> Callable[..., None]:
    """The command with its outputs checked, and with the option --overwrite where it helps; the suffix of --out may
    choose --json.

    Raises DataError as `output_file` does, and for two outputs of one path.
    """
    parameters = dict(inspect.signature(command, eval_str=True).parameters)
    outputs = outputs_of(parameters)
    if not outputs:
        return command

    def checked(*, overwrite: bool = False, **values: Any) -> None:
        given = {name: values[name] for name in outputs if values[name] is not None}
        out = given.get("out")
        if out is not None and values.get("resume") and not overwrite and _is_finished(out):
            do = "if this command has made it, it is complete; add --overwrite to make it anew"
            raise DataError("--resume needs unfinished results", got=f"none, but {out} is there", do=do)
        paths: list[Path] = []
        for name, path in given.items():
            others = (value for other, value in values.items() if other not in outputs)
            inputs = _files_in(others, path) if path.is_file() else ()
            replaces, devices = _OWN_RULE.get(name, overwrite), name in ("out", "save")
            file = output_file(path, DataError, inputs=inputs, overwrite=replaces, devices=devices)
            if file.absolute() in paths and not file.is_char_device():
                raise DataError("each result needs its own file", got=f"{path} twice", do="name different files")
            if not file.parent.is_dir():
                raise DataError(f"{path} must be in an existing folder", got=f"no folder {file.parent}")
            paths.append(file.absolute())
        suffix = "" if out is None else suffix_of(out)
        if suffix in _OTHERS and values.keys() & {"resume", "keep"} and not (values["json"] and suffix == ".json"):
            kinds = ", ".join(RECORDS)
            raise DataError(f"answers are written as {kinds}, or as text", got=str(out), do="choose another suffix")
        if suffix in RECORDS and "json" in parameters:
            own = command.__name__ == "embed" and not values["compare_word"]  # vectors have a format of their own
            values["json"] = values["json"] or not (own and suffix_of(given["out"]) == ".parquet")
        command(**values)

    every = list(parameters.values())
    if not outputs.keys() <= _OWN_RULE.keys():
        every.append(keyword("overwrite", Annotated[bool, typer.Option("--overwrite", help=OVERWRITE)], False))
    return signed(checked, command, every)


def _is_finished(out: Path) -> bool:
    """Whether a command that can be resumed has written a file to its end: it leaves nothing next to it."""
    return out.is_file() and not any(out.with_name(out.name + end).exists() for end in (".partial", ".resume"))


def _files_in(values: Iterator[object], out: Path) -> Iterator[Path]:
    """The files that values of a command name: a file, a pattern, a file in a folder, `mix:FILE` or `key=FILE`."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _files_in(iter(value), out)
        if not isinstance(value, str | Path) or "\0" in str(value) or len(str(value)) > 4096:
            continue
        for word in {str(value), str(value).partition(":")[2], str(value).partition("=")[2]} - {""}:
            for each in map(Path, glob.glob(word) if glob.has_magic(word) else [word]):
                try:
                    inside = each.is_dir() and each.resolve() in out.resolve().parents
                except OSError:  # a text that no system can look up
                    continue
                yield out if inside else each
