"""The book of docs/learn: its code is run, its outputs and its notebooks are written: python -m manual.book [run] [01].

A chapter is Markdown. A Python block is followed by a text block with what it prints; the blocks of a chapter share
their names, those of the answers too. `run` runs the blocks and writes what they print into the chapters. Without it
only the notebooks are made, from what the chapters hold: Jupyter is not needed.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from experiments.notebook import lines
from experiments.page import DOCS

BOOK = DOCS / "learn"
NOTEBOOKS = DOCS / "notebooks"

CODE = re.compile(r"^```python\n(?P<code>.*?)^```\n\n```text\n(?P<output>.*?)^```\n", re.MULTILINE | re.DOTALL)
HIDDEN = re.compile(r"^<details.*?^</details>\n", re.MULTILINE | re.DOTALL)
FRAME = re.compile(r"<iframe.*?</iframe>\n\n", re.DOTALL)
TRY = "# your own lines"
OTHER_CHAPTER = re.compile(r"\]\((\d\d-[a-z-]+\.md|README\.md)")


def chapters() -> list[Path]:
    """The twelve chapters, in their order."""
    return sorted(BOOK.glob("[0-9][0-9]-*.md"))


def pages() -> list[Path]:
    """The pages that are notebooks too: the chapters, and a competition from its tables to a submission."""
    return [*chapters(), DOCS / "do" / "submission.md"]


def live() -> dict[str, dict[str, str]]:
    """The live page of each chapter: its command and its file."""
    return tomllib.loads((BOOK / "live.toml").read_text(encoding="utf-8"))


def run_blocks(text: str, name: str) -> list[str]:
    """What each Python block of a chapter prints, one block after the other."""
    names: dict[str, Any] = {"__name__": name}
    printed = []
    for number, block in enumerate(CODE.finditer(text)):
        found = io.StringIO()
        with contextlib.redirect_stdout(found):
            exec(compile(block["code"], f"{name}, block {number}", "exec"), names)
        printed.append(found.getvalue())
    return printed


def with_outputs(text: str, printed: list[str]) -> str:
    """The chapter with these outputs in place of its own."""
    following = iter(printed)
    return CODE.sub(lambda block: f"```python\n{block['code']}```\n\n```text\n{next(following)}```\n", text)


def notebook(text: str) -> dict[str, Any]:
    """The notebook of a chapter, format 4.5: text and code by turns, with the outputs that the chapter holds.

    Each exercise has a cell to try it in; its answer stays folded in the text. A frame with a live page needs the site,
    and is left out.
    """
    text = OTHER_CHAPTER.sub(r"](../learn/\1", FRAME.sub("", text))
    cells: list[dict[str, Any]] = []

    def add(kind: str, source: str, **more: Any) -> None:
        if source.strip():
            cell = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": lines(source.strip("\n"))}
            cells.append(cell | more)

    end = 0
    for found in re.finditer(f"{HIDDEN.pattern}|{CODE.pattern}", text, re.MULTILINE | re.DOTALL):
        add("markdown", text[end : found.start()])
        if found["code"] is None:
            add("code", TRY, execution_count=None, outputs=[])
            add("markdown", found[0])
        else:
            output = {"name": "stdout", "output_type": "stream", "text": lines(found["output"])}
            add("code", found["code"], execution_count=None, outputs=[output])
        end = found.end()
    add("markdown", text[end:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def notebook_text(chapter: Path) -> str:
    found = notebook(chapter.read_text(encoding="utf-8"))
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def prose(text: str) -> list[str]:
    """The paragraphs and list entries of a page as plain text: no code, headings, tables, formulas or markup."""
    text = re.sub(r"^```.*?^```\n", "", FRAME.sub("", text), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(#|\||>|<).*\n", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"^([-*]|\d+\.) ", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"\*\*([^*]*)\*\*|\*([^*]*)\*", r"\1\2", text)
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def sentences(paragraph: str) -> list[str]:
    """Its sentences: a point, question mark or exclamation mark, perhaps with a quotation mark, before a blank."""
    return re.split(r"(?<=[.?!])[\"”)]*\s+(?=[\"“(\w])", paragraph)


def main(*asked: str) -> None:
    run, names = "run" in asked, [name for name in asked if name != "run"]
    for chapter in pages():
        if names and not chapter.name.startswith(tuple(names)):
            continue
        text = chapter.read_text(encoding="utf-8")
        if run:
            with tempfile.TemporaryDirectory() as own, contextlib.chdir(own):  # a block may write files
                text = with_outputs(text, run_blocks(text, chapter.name))
            chapter.write_text(text, encoding="utf-8")
        (NOTEBOOKS / f"{chapter.stem}.ipynb").write_text(notebook_text(chapter), encoding="utf-8")
        print(chapter.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
