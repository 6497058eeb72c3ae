"""The table of a checked release in docs/reference/platforms.md, from docs/results/release.json."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from experiments import page, results

NAME = "release"
PARTS = ("sizes", "tests", "extras", "types")
BEGIN, END = "<!-- release: make release-check -->", "<!-- end of release -->"
PAGE = page.DOCS / "reference" / "platforms.md"


def section() -> str:
    """The lines between the two marks."""
    row = results.read(NAME)
    if row is None:
        return page.NOT_YET
    parts = []
    if row["tests"]:
        head = ["Python", "torch", "other packages", "passed", "failed", "skipped", "on"]
        parts.append(page.table(head, [_tested(name, each) for name, each in sorted(row["tests"].items())]))
    if row["extras"]:
        head = ["extra", "installed alone and tried", "MB that it adds", "on"]
        tried = [
            [f"`{name}`", _works(each), str(each["megabytes"]), each["date"]] for name, each in row["extras"].items()
        ]
        parts.append(page.table(head, tried, numbers=False))
    if row["types"]:
        checked = [f"{name} {each['version']}: {_works(each)}" for name, each in row["types"].items()]
        parts.append(f"A project outside that uses the types of the package: {', '.join(checked)}.")
    if row["sizes"]:
        sizes = row["sizes"]["megabytes"]
        shown = ", ".join(f"{name} {size} MB" for name, size in sizes.items() if name.startswith("glassformer"))
        parts.append(f"Sizes: {shown}.")
    return "\n\n".join(parts)


def _tested(name: str, row: Mapping[str, Any]) -> list[str]:
    return [*name.split(), *(str(row[key]) for key in ("passed", "failed", "skipped")), row["date"]]


def _works(row: Mapping[str, Any]) -> str:
    return "works" if row["works"] else "**fails**"


def whole(text: str) -> str:
    """The page with the lines of today between its marks."""
    mark = re.compile(rf"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
    return mark.sub(lambda _: f"{BEGIN}\n{section()}\n{END}", text)


def write() -> None:
    """Write the page."""
    page.write(PAGE, whole(PAGE.read_text(encoding="utf-8")))
