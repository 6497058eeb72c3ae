"""Figures of others that the pages quote, with their sources: the end of docs/measured/imprecise.md.

python -m manual.quoted writes that part of the page again from docs/quoted.toml.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from experiments.page import DOCS, table, write

PAGE = DOCS / "measured" / "imprecise.md"
HEADING = "## Figures that are quoted"
TEXT = f"""{HEADING}

The figures below were measured by others. Each was read again at its source on the given date; *in a transcription*: in
a copy of the text whose commit is not known; *from memory*: not read again. A commit is that of the copy that was read,
which is not always the newest and may be on a branch. Built from `docs/quoted.toml`.
"""
_READ = {"memory": "from memory", "transcription": "read in a transcription"}


@dataclass(frozen=True)
class Figure:
    """What was counted, its values as printed there, the source (`at`: the commit), when it was `read` again, and the
    entries that quote it.
    """

    what: str
    values: dict[str, str]
    source: str
    at: str
    read: str
    entries: list[str]


def figures() -> list[Figure]:
    """All of them, in their order."""
    return [Figure(**each) for each in tomllib.loads((DOCS / "quoted.toml").read_text(encoding="utf-8"))["figure"]]


def section() -> str:
    """The last section of the page."""
    rows = [
        [
            each.what,
            "; ".join(f"{name} {value}" for name, value in each.values.items()),
            each.source + (f" at `{each.at[:10]}`" if each.at else ""),
            _READ.get(each.read, each.read),
        ]
        for each in figures()
    ]
    return f"{TEXT}\n{table(['', 'figures', 'where', 'read'], rows)}\n"


def page() -> str:
    """The whole page, with this section anew."""
    return PAGE.read_text(encoding="utf-8").partition(HEADING)[0] + section()


if __name__ == "__main__":
    write(PAGE, page())
