"""`python -m manual` builds the site; `python -m manual tables` writes the generated pages of docs/ again."""

from __future__ import annotations

import sys
import time

from manual.build import build


def run(words: list[str]) -> None:
    """What the words ask for."""
    start = time.monotonic()
    if words == ["tables"]:
        from manual.tables import write

        write()
        return
    if words == ["words"]:
        from manual.words import report

        print(report())
        return
    folder = build(live="--quick" not in words)
    pages = len(list(folder.rglob("*.html")))
    print(f"{folder}/index.html: {pages} pages, each link leads somewhere ({time.monotonic() - start:.0f} s)")


if __name__ == "__main__":
    run(sys.argv[1:])
