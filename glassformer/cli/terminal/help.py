"""How --help shows a command: its usage, its arguments and its options, each default in the same form.

All of it is made from the signature of the command: Typer's versions draw types and defaults differently.
"""

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from glassformer.base.errors import ConfigError
from glassformer.cli.terminal.opened import bundled_for
from glassformer.cli.terminal.options import WHICH

Rows = Sequence[tuple[str, str]]
# A limit that no value reaches is not shown.
_ENDLESS = 2**31
_KINDS = {int: "INTEGER", float: "NUMBER"}
_DEFAULT = re.compile(r"\s*\[default: ((?:[^\]\[]|\[[^\]]*\])*)\]$")


def helped(command: Callable[..., Any], verb: str, lists: Mapping[str, Rows]) -> type[TyperCommand]:
    """The class of a command with the --help of this signature; each of `lists` follows under its title."""
    parameters = list(inspect.signature(command, eval_str=True).parameters.values())

    class Helped(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            # Of other options the last one counts, as usual; of two columns one would be left out without a word.
            *_, given = self.make_parser(ctx).parse_args(list(args))
            once = [each.opts[0] for each in given if each.opts[0].endswith("-column") and not each.multiple]
            if twice := next((name for name in once if once.count(name) > 1), ""):
                do = "of two texts name the second with --pair-column"
                raise ConfigError(f"{twice} names one column", got=f"{once.count(twice)}", do=do)
            return super().parse_args(ctx, args)

        def format_usage(self, ctx: Any, formatter: Any) -> None:
            words = [word for each in parameters for word in _usage(each)]
            formatter.write_usage(ctx.command_path, " ".join(["[OPTIONS]", *words]))

        def format_options(self, ctx: Any, formatter: Any) -> None:
            arguments = [row for each in parameters for row in _argument(each, verb)]
            options = [row for each in parameters for row in _option(each)]
            options.append(("--help", "Show this message and exit."))
            for title, rows in {"Arguments": arguments, **lists, "Options": options}.items():
                if rows:
                    with formatter.section(title):
                        formatter.write_dl(rows)

    return Helped


def _annotated(parameter: inspect.Parameter) -> tuple[Any, Any]:
    """The type of a parameter, and what its Annotated says of it."""
    kind, info = typing.get_args(parameter.annotation)[:2]
    kinds = [each for each in typing.get_args(kind) if each is not type(None)]
    return (kind if typing.get_origin(kind) is typing.Literal or not kinds or len(kinds) > 1 else kinds[0]), info


def names_of(info: typer.models.OptionInfo) -> tuple[list[str], list[str]]:
    """The names of an option as they are declared, `--a/--b`, and each by itself."""
    flags = [str(info.default), *(info.param_decls or ())]
    return flags, [name for flag in flags for name in flag.split("/")]


def _is_argument(info: Any) -> bool:
    return isinstance(info, typer.models.ArgumentInfo)


def _usage(parameter: inspect.Parameter) -> Iterator[str]:
    kind, info = _annotated(parameter)
    if not _is_argument(info):
        return
    many = "..." if typing.get_origin(kind) is list else ""
    *before, last = (info.metavar or parameter.name.upper()).split()
    yield from before
    yield f"{last}{many}" if parameter.default is inspect.Parameter.empty else f"[{last}]{many}"


def _argument(parameter: inspect.Parameter, verb: str) -> Iterator[tuple[str, str]]:
    """The row of an argument; that of words which may begin with the model comes after a row for the model."""
    info = _annotated(parameter)[1]
    if not _is_argument(info):
        return
    words = [word.strip("[]") for word in (info.metavar or parameter.name.upper()).split()]
    if len(words) > 1:
        name = info.show_default if isinstance(info.show_default, str) else bundled_for(verb)
        default = f"default: {name}" if name else "required, as no bundled model can do this"
        yield words[0], f"The model: {WHICH}.  [{default}]"
    yield words[-1], _with_default(info.help or "", parameter.default, None, None)


def _option(parameter: inspect.Parameter) -> Iterator[tuple[str, str]]:
    kind, info = _annotated(parameter)
    if _is_argument(info):
        return
    flags, names = names_of(info)
    of = typing.get_args(kind)[0] if typing.get_origin(kind) is list else kind
    both = any("/" in flag for flag in flags)
    shown = (" / " if both else ", ").join(sorted(names, key=lambda name: (not both and name.startswith("--"), 0)))
    default = parameter.default
    if of is bool:
        default = ("off", "on")[default] if both and default is not None else None
    elif info.metavar:
        shown += f" {info.metavar}"
    elif typing.get_origin(of) is typing.Literal:
        shown += f" {'|'.join(typing.get_args(of))}"
    elif of is Path:
        shown += " FILE" if info.file_okay else " FOLDER"
    else:
        shown += f" {_KINDS.get(of, 'COLUMN' if names[0].endswith('-column') else 'TEXT')}"
    yield shown, _with_default(info.help or "", default, info.min, info.max)


def _with_default(text: str, default: object, least: float | None, most: float | None) -> str:
    """The text of an option with its default and its limits in one bracket at the end."""
    found = _DEFAULT.search(text)
    facts = [f"default: {found[1]}"] if found else []
    if default is inspect.Parameter.empty:
        facts.append("required")
    elif default is not None and not found:
        facts.append(f"default: {default}")
    if least:
        facts.append(f"minimum: {least}")
    if most is not None and most < _ENDLESS:
        facts.append(f"maximum: {most}")
    words = " ".join((text[: found.start()] if found else text).split())
    return f"{words}  [{'; '.join(facts)}]" if facts else words
