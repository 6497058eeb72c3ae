"""The paths that a command is to write, checked before anything is opened: `--overwrite` belongs to all that write one.

Of the parameters of a command, those of an option with `writable=True` are written; all others may name what is read.
"""

import glob
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from glassformer.base.errors import DataError
from glassformer.base.outputs import output_file
from glassformer.cli.terminal.formats import RECORDS, suffix_of
from glassformer.cli.terminal.options import keyword, signed

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
        if given.get("out") is not None and suffix_of(given["out"]) in RECORDS and "json" in parameters:
            own = command.__name__ == "embed" and not values["compare_word"]  # vectors have a format of their own
            values["json"] = values["json"] or not (own and suffix_of(given["out"]) == ".parquet")
        command(**values)

    every = list(parameters.values())
    if not outputs.keys() <= _OWN_RULE.keys():
        every.append(keyword("overwrite", Annotated[bool, typer.Option("--overwrite", help=OVERWRITE)], False))
    return signed(checked, command, every)


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
