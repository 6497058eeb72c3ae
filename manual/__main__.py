"""Build the documentation, and what belongs to it.

python -m manual                    # the site, with its links checked: build/site/html/index.html
python -m manual --quick            # the same without the live pages
python -m manual tables             # the generated pages of docs/
python -m manual words              # how easy each page is to read
python -m manual page-words         # web/words/package.json: what the page says and Python or a table has written
python -m manual worksheets FOLDER  # sheets to print
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from manual.build import build


def run(words: list[str]) -> None:
    """What the words ask for."""
    start = time.monotonic()
    if {"-h", "--help"} & {*words}:
        print(__doc__)
        return
    if words == ["tables"]:
        from manual.tables import write

        write()
        return
    if words == ["words"]:
        from manual.words import report

        print(report())
        return
    if words == ["page-words"]:
        from manual.page_words import write as write_page_words

        write_page_words()
        return
    if words[:1] == ["worksheets"]:
        from manual.teaching.worksheets import write as write_sheets

        if len(words) != 2:
            raise SystemExit("Which folder? python -m manual worksheets FOLDER")
        print(*write_sheets(Path(words[1])), sep="\n")
        return
    if words not in ([], ["--quick"]):
        raise SystemExit(f"This is not known: {' '.join(words)}. See python -m manual --help")
    folder = build(live=not words)
    pages = len(list(folder.rglob("*.html")))
    print(f"{folder}/index.html: {pages} pages, each link leads somewhere ({time.monotonic() - start:.0f} s)")


if __name__ == "__main__":
    run(sys.argv[1:])
