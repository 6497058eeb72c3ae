"""docs/reference/options-by-command.md: every command with each of its options."""

from __future__ import annotations

from collections import defaultdict

from experiments.page import table
from glassformer.cli.verbs import VERBS
from tests.docs.options import options

PAGE = """# Options of each command

All commands with all of their options; each option has the same meaning in every command, and
[options](options.md) lists them by name. `glassformer COMMAND --help` prints the defaults. `train TASK --help` has only
the options of the task. Written by `python -m manual tables`.
"""


def page() -> str:
    """The page."""
    found = defaultdict(list)
    for each in options():
        found[each.verb].append(each)
    parts = [PAGE]
    for group, verbs in VERBS.items():
        parts.append(f"## {group}\n")
        for verb, help_ in verbs.items():
            for command in [each for each in found if each == verb or each.startswith(f"{verb} ")]:
                rows = [[", ".join(f"`{name}`" for name in one.names), one.help] for one in found[command]]
                about = [f"{help_[0].upper()}{help_[1:]}.\n"] if command == verb else []
                parts += [f"### glassformer {command}\n", *about, table(["option", "meaning"], rows, numbers=False), ""]
    return "\n".join(parts).rstrip() + "\n"
