"""`python -m manual` builds the site; `python -m manual tables` writes the generated pages of docs/ again, and
`python -m manual worksheets FOLDER` the sheets to print.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

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
    if words[:1] == ["worksheets"]:
        from manual.teaching.worksheets import write as write_sheets

        if len(words) != 2:
            raise SystemExit("Which folder? python -m manual worksheets FOLDER")
        print(*write_sheets(Path(words[1])), sep="\n")
        return
    folder = build(live="--quick" not in words)
    pages = len(list(folder.rglob("*.html")))
    print(f"{folder}/index.html: {pages} pages, each link leads somewhere ({time.monotonic() - start:.0f} s)")


if __name__ == "__main__":
    run(sys.argv[1:])
