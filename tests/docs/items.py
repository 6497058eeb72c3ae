"""The table of docs/measured/items.md: every item of the source documents. `python -m tests.docs.items` writes it."""

import tomllib
from typing import Any, NamedTuple

from tests.conftest import REPOSITORY

PAGE, DATA = REPOSITORY / "docs" / "measured" / "items.md", REPOSITORY / "docs" / "items.toml"
MODELS = ("slides", "english", "en-fr", "writer", "chat")
HEAD = """# What the source documents show, and where it is

Four documents started this project. These tables list all {count} things that they describe, show or claim, each with
a command that shows it and where to look in the output. **{works} of {count} work**{without}.

The word after the verb of a command may be a bundled model; files such as `mails.csv` are your own. An address that
begins with `#` is a place on the page: append it to the address of the page that `--html` writes or that
`glassformer explore` opens. Corrections (C-1 …) are explained in [where tutorials are imprecise](imprecise.md), claims
(X-1 …) in [claims, measured](claims.md). All pictures: [views](../look/views.md#pictures-of-the-source-documents).

Each command is run, and a number of what it prints is checked, by `tests/docs/test_items.py`. The rows are
`docs/items.toml`; `python -m tests.docs.items` writes this page.
"""


class Item(NamedTuple):
    """`run` is empty where it does not work: `look` then says why. `first` runs before it, and `more` and `more_first`
    are options that make them short in a test.
    """

    number: str
    item: str
    run: str
    look: str
    check: str = ""
    more: str = ""
    first: str = ""
    more_first: str = ""

    @property
    def group(self) -> str:
        """The model that answers, else the verb: what one test runs."""
        verb, *more = self.run.split()[:2] or [""]
        return next((word for word in more if word in MODELS), verb)


def documents() -> dict[str, str]:
    """The title of each document by the letters of its items."""
    return dict(_data()["documents"])


def items() -> list[Item]:
    """All rows."""
    data = _data()
    lines = data.pop("lines")
    del data["documents"]
    return [_item(number, row, lines) for number, row in data.items()]


def table() -> str:
    """The page."""
    rows = items()
    lacking = [row.number for row in rows if not row.run]
    without = f"; not yet:\n{', '.join(lacking)}" if lacking else ""
    parts = [HEAD.format(count=len(rows), works=len(rows) - len(lacking), without=without)]
    for letters, title in documents().items():
        parts.append(f"\n## {title}\n\n| item | what it is | command | where to look |\n| --- | --- | --- | --- |\n")
        for row in rows:
            if row.number.startswith(f"{letters}-"):
                command = f"`glassformer {row.run}`" if row.run else "**not**"
                before = f"first `glassformer {row.first}`; " if row.first else ""
                parts.append(f"| {row.number} | {row.item} | {command} | {before}{row.look} |\n")
    return "".join(parts)


def _data() -> dict[str, Any]:
    return tomllib.loads(DATA.read_text(encoding="utf-8"))


def _item(number: str, row: dict[str, Any], lines: dict[str, str]) -> Item:
    if not row.get("works", True):
        return Item(number, row["item"], "", row["why"])
    return Item(number, **{**row, "run": row["run"].format_map(lines)})


if __name__ == "__main__":
    PAGE.write_text(table(), encoding="utf-8")
