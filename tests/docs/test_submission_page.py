"""From a table to a submission: the page's Python, its notebook and its commands, on its own mails."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

from glassformer.cli.__main__ import main
from manual import book
from manual.book import NOTEBOOKS, notebook_text, pages, run_blocks, with_outputs
from manual.stage import DOCS
from tests.manual.blocks import to_run

PAGE = DOCS / "do" / "submission.md"
FEW = ("--steps", "2", "--set", "train.compile=off", "--set", "train.precision=float32")


def test_its_notebook_is_made_from_it() -> None:
    assert PAGE in pages()
    text = (NOTEBOOKS / "submission.ipynb").read_text(encoding="utf-8")
    assert text == notebook_text(PAGE), "python -m manual.book submission"
    code = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert len(code) == len(to_run(PAGE, ("python",)))
    assert re.findall(r"(?<![\w.])/(?:home|root|tmp|work|usr|Users)/", text) == []


def test_what_a_page_writes_is_not_left_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, here = tmp_path / "page.md", tmp_path / "here"
    here.mkdir()
    page.write_text(
        '```python\nfrom pathlib import Path\nprint(Path("x.csv").write_text("ab"))\n```\n\n```text\n?\n```\n'
    )
    monkeypatch.setattr(book, "pages", lambda: [page])
    monkeypatch.setattr(book, "NOTEBOOKS", tmp_path)
    monkeypatch.chdir(here)
    book.main("run")
    assert "```text\n2\n```" in page.read_text()
    assert list(here.iterdir()) == []


@pytest.mark.long
def test_its_code_prints_what_it_says_and_its_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    fewer = text.replace('"train.steps": 20', '"train.steps": 2')
    assert fewer != text
    assert with_outputs(text, run_blocks(fewer, PAGE.name)) == text
    with open("test.csv", newline="", encoding="utf-8") as file:
        asked = [(row["id"], row["text"]) for row in csv.DictReader(file)]
    Path("runs/mails").rename("runs/python")
    for line in "".join(each.text for each in to_run(PAGE, ("sh",))).splitlines():
        words = shlex.split(line)[1:]
        assert main([*words, *(FEW if words[0] == "train" else ())]) == 0, line
    with open("answers.csv", newline="", encoding="utf-8") as file:
        answered = list(csv.DictReader(file))
    assert [(row["id"], row["text"]) for row in answered] == asked
    assert {row["label"] for row in answered} <= {"ham", "spam"}
