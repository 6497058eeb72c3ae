"""The table of docs/reference/options.md: which verb has which option. `python -m manual tables` writes it."""

import inspect
import re
import typing
from collections import defaultdict
from typing import Any, NamedTuple

from glassformer.cli.__main__ import _command, options_of
from glassformer.cli.terminal.outputs import checking_outputs
from glassformer.cli.verbs import PARTS, VERBS
from tests.conftest import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "options.md"
HEAD = """# Options

Each option has one name and one meaning, whichever command has it. Defaults are in `glassformer COMMAND --help`; all
commands have `--quiet`. This page is written by `python -m manual tables`.

| option | meaning | commands |
|---|---|---|
"""


class Found(NamedTuple):
    """An option of a verb: all its names, the type of its values, and its help without the default."""

    verb: str
    names: tuple[str, ...]
    kind: Any
    help: str


def options() -> list[Found]:
    """Every option of every verb."""
    verbs = [verb for group in VERBS.values() for verb in group if verb not in PARTS or verb == "embed"]
    verbs += [f"{verb} {part}" for verb, parts in PARTS.items() for part in parts]
    found = []
    for verb in verbs:
        command = checking_outputs(_command(verb))
        stated = options_of(command)
        for each in inspect.signature(command, eval_str=True).parameters.values():
            kind, *more = typing.get_args(each.annotation)
            name = getattr(more[0], "default", "")
            if name in stated:
                kinds = {of for of in typing.get_args(kind) if of is not type(None)} or {kind}
                kind = kinds.pop() if len(kinds) == 1 and typing.get_origin(kind) is not typing.Literal else kind
                kind = str if typing.get_origin(kind) is typing.Literal else kind  # the words may differ by verb
                help_ = re.split(r"\s\s|\s+\[default", stated[name].help or "")[0]  # what comes then is the verb's
                found.append(Found(verb, (name, *(stated[name].param_decls or ())), kind, help_))
    return found


def table() -> str:
    """The page."""
    verbs, helps = defaultdict(list), {}
    for each in options():
        verbs[each.names].append(each.verb)
        helps[each.names] = each.help.replace("|", "\\|")
    rows = [
        f"| {', '.join(f'`{name}`' for name in names)} | {helps[names]} | {', '.join(verbs[names])} |"
        for names in sorted(verbs)
    ]
    return HEAD + "\n".join(rows) + "\n"


def write() -> None:
    """Write the page."""
    PAGE.write_text(table(), encoding="utf-8")
