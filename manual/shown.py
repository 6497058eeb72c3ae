"""What commands on the pages of Do print: python -m manual.shown [PAGE …] runs them and writes it into the pages.

A block `sh` or `python` that is directly followed by a block `text` shows its result: what its last command prints, or
all that its Python prints. A block under `<!-- file: NAME -->` is a file that they read. Each page runs in a folder of
its own. A page that trains takes minutes; its numbers are those of one machine.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from manual.stage import DOCS

PAGES = DOCS / "do"
SHOWN = re.compile(  # a line within a block does not begin with three marks
    r"^```(?P<kind>sh|python)\n(?P<code>(?:(?!```).*\n)*)```\n\n```text\n(?P<output>(?:(?!```).*\n)*)```\n",
    re.MULTILINE,
)
FILE = re.compile(r"^<!-- file: (?P<name>[\w.-]+) -->\n```\w+\n(?P<text>(?:(?!```).*\n)*)```\n", re.MULTILINE)


def shown() -> list[Path]:
    """The pages that show a result."""
    return [path for path in sorted(PAGES.glob("*.md")) if SHOWN.search(path.read_text(encoding="utf-8"))]


def varies(page: str) -> bool:
    """Whether numbers of a result differ between machines: those of a training, and of rounding errors."""
    return any(re.search(r"^glassformer (train|export) ", each["code"], re.MULTILINE) for each in SHOWN.finditer(page))


def printed(page: str) -> list[str]:
    """What the blocks of a page print now, one after the other; files are made in the working folder."""
    for each in FILE.finditer(page):
        Path(each["name"]).write_text(each["text"], encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    return [_printed(each["kind"], each["code"], names) for each in SHOWN.finditer(page)]


def _printed(kind: str, code: str, names: dict[str, Any]) -> str:
    from glassformer.cli.__main__ import main

    found = io.StringIO()
    for line in [code] if kind == "python" else code.splitlines():
        with contextlib.redirect_stdout(found := io.StringIO()):
            if kind == "python":
                exec(compile(code, "page", "exec"), names)
            elif words := shlex.split(line, comments=True):
                assert words[0] == "glassformer", line
                assert main(words[1:]) == 0, line
    lines = [line.rstrip() for line in found.getvalue().splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def with_results(page: str, results: list[str]) -> str:
    """The page with these results in place of its own."""
    following = iter(results)
    return SHOWN.sub(lambda each: f"```{each['kind']}\n{each['code']}```\n\n```text\n{next(following)}```\n", page)


def main(*names: str) -> None:
    for path in shown():
        if not names or path.stem in names:
            page = path.read_text(encoding="utf-8")
            with TemporaryDirectory() as folder, contextlib.chdir(folder):
                path.write_text(with_results(page, printed(page)), encoding="utf-8")
            print(path.name)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    main(*sys.argv[1:])
