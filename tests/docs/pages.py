"""The blocks of a page, run as a reader would."""

import re
import shlex
from pathlib import Path
from typing import Any

from glassformer.cli.__main__ import main
from manual.shown import SHOWN

SHORT = {
    "train": ["--set", "train.steps=2", "--set", "train.batch=4", "--set", "train.compile=off"],
    "explain": ["--megabytes", "1"],
}
"""Options that make a command short where what it does at length is no part of what a test is about."""

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, kind: str) -> list[str]:
    """The blocks of a kind, in their order."""
    return [block for its, block in BLOCK.findall(page.read_text(encoding="utf-8")) if its == kind]


def run_commands(page: Path, *more: str, results: bool = True) -> None:
    """Each command of the page, without `results` those of which it shows none; `more` are options that all take."""
    text = page.read_text(encoding="utf-8")
    commands = [block for its, block in BLOCK.findall(text if results else SHOWN.sub("", text)) if its == "sh"]
    for line in "".join(commands).splitlines():
        words = shlex.split(line, comments=True)[1:]
        fewer = ["--folds", "2"] if words[1] == "compare" else SHORT.get(words[0], [])
        assert main([*words, *fewer, *more]) == 0, line


def run_python(page: Path, names: dict[str, Any]) -> dict[str, Any]:
    """The Python of the page, one block after the other."""
    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec"), names)
    return names
