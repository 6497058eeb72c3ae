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
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

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
_OTHERS = (".json", ".xls", ".xlsx", ".ods")
_SURROGATE = re.compile(r"(?<!\\)\\ud[89a-f]", re.IGNORECASE)
# Rows that are in memory together.
_TOGETHER = 512


def suffix_of(path: Path) -> str:
    """The suffix by which the format of a file is chosen."""
    return path.suffix.lower()


def delimiter_like(inputs: Iterable[Path]) -> tuple[str, str]:
    """The delimiter and the encoding of a CSV file of answers: those of its first input that is one. A spreadsheet in
    German or French writes semicolons and reads no other delimiter; it reads umlauts only after a byte order mark.
    """
    table = next((path for path in inputs if suffix_of(path) == ".csv"), None)
    if table is None:
        return TABLES[".csv"], "utf-8"
    from glassformer.data.readers.table_format import find_format

    with table.open("rb") as handle:
        marked = handle.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    try:
        delimiter = find_format(table).delimiter
    except DataError:  # lines of text, whatever its name
        delimiter = TABLES[".csv"]
    return delimiter if delimiter == ";" else TABLES[".csv"], "utf-8-sig" if marked else "utf-8"


def write_table(lines: TextIO, path: Path, suffix: str, inputs: Iterable[Path] = ()) -> None:
    """Write JSON lines as a table, a column for each name. A cell holds lists as JSON; Parquet has plain lists. A CSV
    file is written as the first of its `inputs` that is one.
    """
    names = list({name: None for row in _rows(lines) for name in row})
    if suffix == ".parquet":
        _write_parquet(lines, path, names)
        return
    delimiter, encoding = delimiter_like(inputs) if suffix == ".csv" else (TABLES[suffix], "utf-8")
    with path.open("w", encoding=encoding, errors="backslashreplace", newline="") as handle:
        writer = csv.writer(handle, delimiter=delimiter, lineterminator="\n")
        writer.writerow(names)
        for row in _rows(lines):
            writer.writerow([_text(row[name]) if row.get(name) is not None else "" for name in names])


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
            rows = [{name: _text(of) if name in texts else of for name, of in row.items()} for row in some]
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


def _text(value: object) -> str | None:
    return value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False)


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
        if out is not None and suffix_of(out) in _OTHERS and "resume" in values and not values["json"]:
            kinds = ", ".join(RECORDS)
            raise DataError(f"answers are written as {kinds}, or as text", got=str(out), do="choose another suffix")
        if out is not None and suffix_of(out) in RECORDS and "json" in parameters:
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
