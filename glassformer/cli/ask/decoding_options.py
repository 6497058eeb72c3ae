"""The options of the verbs that write text, as they are typed: made from `WritingOptions`."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from glassformer.cli.terminal.options import HTML, Megabytes
from glassformer.decode.options import OPTIONS, WritingOptions

_KINDS = get_type_hints(WritingOptions, localns={"DecodeSettings": object})
_DEFAULTS = {each.name: each.default for each in fields(WritingOptions)}
TYPED = {
    name: option.flags[0].split("/")[0] if option.flags else f"--{name.replace('_', '-')}"
    for name, option in OPTIONS.items()
}
"""What is typed for each of them."""


def decoding_options(writes: str) -> dict[str, tuple[Any, object]]:
    """The options of a verb by what it writes, each with its default."""
    found: dict[str, tuple[Any, object]] = {}
    for name, option in OPTIONS.items():
        if option.of in ("", writes):
            several = _KINDS[name] == Sequence[str]
            help = {"text": option.texts, "reply": option.replies}.get(writes, "") or option.help
            typed = typer.Option(*(option.flags or (TYPED[name],)), min=option.least, help=help)
            default = None if several else _DEFAULTS[name]
            found[name] = (Annotated[list[str] | None if several else _KINDS[name], typed], default)
    return found


def help_of(name: str, more: str) -> str:
    """The help of one of them with another end."""
    return f"{OPTIONS[name].help.partition('  ')[0]}  {more}"


_TREE = "Show the search as a tree: the tokens that were kept and dropped at each step, and why."
_TREES = {"tree": (Annotated[bool, typer.Option("--tree", help=_TREE)], False)}
_STREAM = typer.Option(
    "--stream/--no-stream", help="Print words as they are generated.  [default: on in a terminal, else off]"
)
_SHOWN = {
    **_TREES,
    "stream": (Annotated[bool | None, _STREAM], None),
    "html": (Annotated[Path | None, typer.Option("--html", writable=True, help=HTML)], None),
    "megabytes": (Megabytes, None),
}
_IN_TURN = typer.Option("--stream/--no-stream", help="Print words as they are generated.")
_SAVE = "Save each turn to this file. If the file exists, continue its conversation.  [default: none]"

DECODING = {**decoding_options("translation"), "stream": (Annotated[bool, _IN_TURN], False), **_TREES}
WRITING = {**decoding_options("text"), **_SHOWN}
CHATTING = {
    **decoding_options("reply"),
    **_SHOWN,
    "save": (Annotated[Path | None, typer.Option("--save", writable=True, help=_SAVE)], None),
}


def check_decoding(options: Mapping[str, Any], verb: str) -> WritingOptions:
    """What was typed as one object; raises ConfigError for options that exclude each other."""
    from glassformer.decode.asked import search_settings  # not at the top: --help must not import it

    asked = WritingOptions(**options)
    search_settings(asked, called=TYPED, where=verb)
    return asked
