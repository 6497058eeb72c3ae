"""The book of docs/learn: each block prints what the page says, each answer is what its code gives, all is there."""

import contextlib
import io
import json
import math
import re
import shlex
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from glassformer.bundled.texts import notes
from glassformer.cli.__main__ import main
from glassformer.page.sections.summed import held_out
from manual.book import (
    BOOK,
    CODE,
    FRAME,
    HIDDEN,
    NOTEBOOKS,
    TRY,
    chapters,
    live,
    notebook,
    notebook_text,
    prose,
    run_blocks,
    sentences,
)
from tests.docs.book_answers import ANSWERS
from tests.docs.test_commands import commands, wrong

CHAPTERS = chapters()
PARTS = [
    "The question",
    "How it works",
    "Twenty lines of Python",
    "Look",
    "Measured",
    "Exercises",
    "Where tutorials go wrong",
    "Further reading",
]
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
DECIMAL = re.compile(r"\d+\.\d+")

by_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)


def read(chapter: Path) -> str:
    return chapter.read_text(encoding="utf-8").replace("−", "-")


def value(number: str) -> float:
    return float(number.replace(",", ""))


def part(text: str, title: str) -> str:
    """The part of a chapter with this title."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def close(printed: str, message: str) -> bool:
    """The same words, and numbers that differ by no more than one in the last digit: another processor may round up."""
    printed, message = (each.replace("−", "-") for each in (printed, message))
    if NUMBER.sub("#", printed).split() != NUMBER.sub("#", message).split():
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(message), strict=True)
    return all(abs(value(new) - value(old)) <= 1.01 * 10 ** -len(old.partition(".")[2]) for new, old in pairs)


def test_close_takes_a_last_digit_and_nothing_more() -> None:
    assert close("she 0.124 of 12", "she  0.123 of 12")
    assert not close("she 0.125", "she 0.123")
    assert not close("he 0.123", "she 0.123")
    assert not close("she 0.12", "she 0.16")


# --------------------------------------------------------------------------- what runs


@pytest.mark.sampled(5)
@by_chapter
def test_each_block_prints_what_the_page_says(chapter: Path) -> None:
    text = read(chapter)
    blocks = list(CODE.finditer(text))
    assert len(blocks) == text.count("```python"), "each block is followed by what it prints"
    for block, printed in zip(blocks, run_blocks(text, chapter.name), strict=True):
        assert printed.strip(), block["code"]
        assert close(printed, block["output"]), printed


@by_chapter
def test_its_answers_are_what_its_code_gives(chapter: Path) -> None:
    """Each number of an answer is in the code under it or its output, and among them are those of `book_answers`."""
    answers = HIDDEN.findall(read(chapter))
    assert len(answers) == 3
    for number, answer in enumerate(answers, start=1):
        bold = re.search(r"^\*\*\*?(.*?)\*\*", answer, re.MULTILINE)
        code = CODE.search(answer)
        assert bold, answer
        assert code, answer
        found = [value(each) for each in NUMBER.findall(bold[1])]
        printed = [value(each) for each in NUMBER.findall(code["code"] + code["output"])]
        for wanted in ANSWERS[chapter.stem[:2], number]:
            assert any(math.isclose(each, wanted, rel_tol=1e-9, abs_tol=1e-9) for each in found), (wanted, bold[1])
        for each in found:
            assert any(math.isclose(each, one, rel_tol=1e-9) for one in printed), (each, code["output"])


def test_there_are_36_exercises_with_answers() -> None:
    assert len(CHAPTERS) == 12
    assert set(ANSWERS) == {(chapter.stem[:2], number) for chapter in CHAPTERS for number in (1, 2, 3)}


# --------------------------------------------------------------------------- what is written


@by_chapter
def test_its_parts_are_there_in_their_order(chapter: Path) -> None:
    text = read(chapter)
    assert text.startswith(f"# {int(chapter.stem[:2])}. ")
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == PARTS
    assert re.search(r"^\*\*.*\?", part(text, "The question"), re.MULTILINE), "a question"
    lines = [line for line in part(text, "Twenty lines of Python").split("```python\n")[1].splitlines() if line.strip()]
    assert 15 <= lines.index("```") <= 31
    exercises = part(text, "Exercises")
    assert re.findall(r"\*\*Exercise (\d)\.\*\*", exercises) == ["1", "2", "3"]
    assert exercises.count('<details markdown="1">') == exercises.count("</details>") == 3
    assert len(re.findall(r"^- .*\d{4}", part(text, "Further reading"), re.MULTILINE)) >= 2
    assert "../claims.md" in part(text, "Measured") or "claims.md" in part(text, "Measured")


@by_chapter
def test_it_is_easy_to_read(chapter: Path) -> None:
    """No sentence of more than 35 words; a reading ease (Flesch) of at least 60, where textstat is installed."""
    paragraphs = prose(chapter.read_text(encoding="utf-8"))
    assert [each for one in paragraphs for each in sentences(one) if len(each.split()) > 35] == []
    textstat = pytest.importorskip("textstat", exc_type=ImportError)
    assert textstat.flesch_reading_ease(" ".join(one if one[-1] in ".?!" else f"{one}." for one in paragraphs)) >= 60


def test_every_correction_of_the_documents_has_its_chapter() -> None:
    message = "".join(part(read(chapter), "Where tutorials go wrong") for chapter in CHAPTERS)
    assert set(re.findall(r"\*\*(C-\d+)\.\*\*", message)) == {note.number for note in notes()}


def test_every_claim_of_the_documents_has_its_chapter() -> None:
    message = "".join(read(chapter) for chapter in CHAPTERS)
    claims = resources.files("glassformer.bundled.claims").iterdir()
    wanted = {each.name.removesuffix(".toml") for each in claims if each.name.endswith(".toml")}
    assert set(re.findall(r"laim (X-\d+)\]", message)) == wanted


@by_chapter
def test_each_decimal_number_of_the_text_comes_from_code_that_ran(chapter: Path) -> None:
    """From its blocks and what they print, from the words of an exercise, or from pages made of results and tests."""
    text = read(chapter)
    blocks = "".join(block["code"] + block["output"] for block in CODE.finditer(text))
    pages = "".join(
        page.read_text(encoding="utf-8") for name in ("claims", "imprecise", "results") for page in pages_named(name)
    )
    known = {value(each.lstrip("-")) for each in NUMBER.findall(blocks)} | {math.e}
    given = DECIMAL.findall(HIDDEN.sub("", part(text, "Exercises")))
    missing = []
    for number in DECIMAL.findall(re.sub(r"arXiv [\d.]+", "", CODE.sub("", FRAME.sub("", text)))):
        digits = len(number.partition(".")[2])
        rounded = any(abs(each - float(number)) <= 0.51 * 10**-digits for each in known)
        if not (rounded or number in pages or number in given):
            missing.append(number)
    assert missing == []


def pages_named(name: str) -> list[Path]:
    return [page for page in BOOK.parent.rglob(f"{name}.md") if "decisions" not in page.parts]


@by_chapter
def test_its_links_lead_somewhere(chapter: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)", chapter.read_text(encoding="utf-8")):
        target = chapter.parent / link
        assert target.exists() or pages_named(Path(link).stem), link


# --------------------------------------------------------------------------- the live pages, the notebooks


def test_each_chapter_has_its_live_page() -> None:
    table = live()
    assert list(table) == [chapter.stem for chapter in CHAPTERS]
    for chapter in CHAPTERS:
        text, entry = chapter.read_text(encoding="utf-8"), table[chapter.stem]
        assert entry["command"] == re.search(r"^```sh\n(.*?)\n```", part(text, "Look"), re.MULTILINE)[1]  # type: ignore[index]
        assert [wrong(command) for command in commands(text)] == [[]]
        assert shlex.split(entry["command"])[-2:] == ["--html", entry["file"]]
        (frame,) = FRAME.findall(text)
        place = f"#{entry['place']}".replace("&", "&amp;") if "place" in entry else ""
        assert f'src="live/{entry["file"]}{place}"' in frame
        assert f'title="Live page: {entry["title"]}"' in frame


def test_the_held_out_sentences_are_those_of_the_package() -> None:
    lines = (BOOK / "held-out.txt").read_text(encoding="utf-8").splitlines()
    assert lines == [english for english, _ in held_out()]


@pytest.mark.long
def test_the_commands_of_the_live_pages_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("held-out.txt").write_text((BOOK / "held-out.txt").read_text(encoding="utf-8"), encoding="utf-8")
    for entry in live().values():
        assert main([*shlex.split(entry["command"])[1:], "--quiet"]) == 0
        most = 8_400_000 if "--megabytes 8" in entry["command"] else 5_100_000
        assert Path(entry["file"]).stat().st_size < most


@by_chapter
def test_its_notebook_is_made_from_it(chapter: Path) -> None:
    path = NOTEBOOKS / f"{chapter.stem}.ipynb"
    assert path.read_text(encoding="utf-8") == notebook_text(chapter), "python -m manual.book"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    tried = [number for number, cell in enumerate(cells) if "".join(cell["source"]) == TRY]
    assert ["".join(cells[number + 1]["source"]).startswith("<details") for number in tried] == [True] * 3
    text = "".join("".join(cell["source"]) for cell in cells)
    assert text.count("<details") == 3
    assert "<iframe" not in text
    assert re.findall(r"(?<![\w.])/(?:home|root|tmp|work|usr|Users)/", text) == []


@pytest.mark.long
@by_chapter
def test_the_cells_of_its_notebook_run_and_print_what_they_hold(
    chapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a kernel does: one namespace, cell after cell, in a folder of its own."""
    names: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    for cell in notebook(chapter.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
            assert close(printed.getvalue(), "".join(line for output in cell["outputs"] for line in output["text"]))
