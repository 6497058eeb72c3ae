"""The verbs that answer, as commands; the options of those that write text are made from `WritingOptions`."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from glassformer.cli.terminal import options
from glassformer.cli.terminal.options import HTML, TYPED, Megabytes
from glassformer.decode.options import OPTIONS, WritingOptions
from glassformer.tasks import VERBS

_KINDS = get_type_hints(WritingOptions, localns={"DecodeSettings": object})
_DEFAULTS = {each.name: each.default for each in fields(WritingOptions)}


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

# The options of verbs that write, by what they write.
_WRITING = {"reply": CHATTING, "text": WRITING, "translation": DECODING}
_TRAINED = "as in training"
_SCORED = "Required for an encoder–decoder, unless --file has a column for it.  [default: none]"
_TARGET = Annotated[str | None, options.target_option(_SCORED)]
# What is read of a table where no column is named, by role.
_UNNAMED = {
    "text": f"{_TRAINED}, else text",
    "pair": f"{_TRAINED}, else none",
    "target": f"{_TRAINED}; required for a chat model: the column with the replies",
    "words": f"{_TRAINED}, else {options.OF_TAGGED['words']}",
}


@cache
def asking(verb: str) -> Callable[..., None]:
    entry = VERBS[verb]
    columns = entry.columns
    own = {
        **({"top": (Annotated[int, options.top_option(entry.top)], 5)} if entry.top else {}),
        **({"expect": (options.Expect, None)} if entry.masks else {}),
        **({"target": (_TARGET, None)} if "target" in entry.of_pairs else {}),
        **_WRITING.get(entry.writes, {}),
    }
    shared: dict[str, tuple[Any, object]] = {
        "text": (Annotated[list[str] | None, options.texts_argument(entry.texts)], None),
        "model": (options.NamedModel, None),
        **({"pair": (options.Pair, None)} if "pair" in columns else {}),
        **({"choice": (options.Choices, None)} if "choices" in columns else {}),
        "file": (Annotated[list[str] | None, options.text_files(entry.files)], None),
        **{f"{role}_column": (options.column_option(role, _UNNAMED.get(role, _TRAINED)), None) for role in columns},
        "keep": (options.Keep, None),
        **own,
        "out": (options.Out, None),
        "resume": (options.Resume, False),
        "rejects": (options.Rejects, None),
        "json": (options.Json, False),
        "fast": (options.Fast, False),
        "engine": (options.Engine, "auto"),
        **({"int8": (options.Int8, False)} if entry.writes else {}),
        "device": (options.Device, "auto"),
        "threads": (options.Threads, None),
        "ray": (options.Ray, None),
    }

    def command(**typed: Any) -> None:
        from glassformer.cli.ask.asked import answer  # --help needs none of it

        answer(entry, own, typed)

    command.__name__, command.__doc__ = verb, f"{entry.help[0].upper()}{entry.help[1:]}."
    return options.signed(command, command, [options.keyword(name, *its) for name, its in shared.items()])
