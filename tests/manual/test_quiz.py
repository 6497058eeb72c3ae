"""The quiz, the lesson plans and the worksheets: answers and addresses that exist, sheets with all questions."""

import re
import shlex
import shutil
from html import unescape
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from experiments.chromium import MISSING, chromium, path
from glassformer.cli.__main__ import main
from glassformer.page.tour import tour_texts
from manual.__main__ import run
from manual.book import BOOK, live
from manual.teaching.quiz import LETTERS, Question, questions
from manual.teaching.worksheets import RUNS, Item, quiz_sheet, sheet, write
from tests.docs.test_commands import commands, wrong

WEB = BOOK.parents[1] / "web" / "src"
TEACHING = (BOOK / "teaching.md").read_text(encoding="utf-8")
PLACE = re.compile(r"`(?:([\w-]+\.html))?#((?:level|tour)=[^`]+)`")

by_question = pytest.mark.parametrize("question", questions(), ids=lambda each: each.chapter)


def among(file: str, start: str) -> set[str]:
    """The words of a list in a source of the page, or the names of a table."""
    text = (WEB / file).read_text(encoding="utf-8").split(start)[1]
    body = re.split(r"^[\]}]", text, maxsplit=1, flags=re.MULTILINE)[0]
    return set(re.findall(r'^  "?([\w-]+)"?[,:]', body, re.MULTILINE))


def unknown(place: str) -> list[str]:
    """What of an address the page does not know."""
    given = {key: value for key, (value,) in parse_qs(place).items()}
    known = {
        "level": among("address/state.ts", "const LEVELS: readonly string[] = ["),
        "scene": among("scenes/scenes.ts", "export const SCENES"),
        "picture": {"words"},
    }
    tour, _, step = given.pop("tour", "slides.1").rpartition(".")
    free = {"options": r"(pairs|show\.\d)(,(pairs|show\.\d))*", "at": r"\d+(,\d+)*"}
    wrong = [
        f"{key}={value}"
        for key, value in given.items()
        if value not in known.get(key, ()) and re.fullmatch(free.get(key, "$."), value) is None
    ]
    return wrong + ([] if (tour or "slides") in tour_texts() and int(step) > 0 else [f"tour={tour}.{step}"])


def test_what_the_page_does_not_know_is_found() -> None:
    assert unknown("level=learn") == unknown("level=scene&scene=cells") == unknown("tour=4") == []
    for place in ("level=lern", "level=scene&scene=cell", "tour=slide.4", "tour=slides.0", "levels=heads"):
        assert unknown(place) != [], place


@by_question
def test_a_question_has_one_right_choice_and_a_view(question: Question) -> None:
    assert question.right in LETTERS[: len(question.choices)]
    assert len({*question.choices}) == len(question.choices) == 4
    assert question.question.endswith("?")
    assert re.fullmatch(r"[^.]+\.", question.because), "one sentence"
    assert question.chapter in live()
    assert unknown(question.view) == []


def test_the_letter_gives_nothing_away() -> None:
    rights = [each.right for each in questions()]
    assert len(rights) == 10
    assert all(2 <= rights.count(letter) <= 3 for letter in LETTERS)
    assert not any(one == next_ for one, next_ in pairwise(rights))
    assert sum(max(each.choices, key=len) == dict(each.lettered)[each.right] for each in questions()) <= 3


def test_the_plans_show_places_that_are_there() -> None:
    places = PLACE.findall(TEACHING)
    assert len(places) > 40
    assert [place for _, place in places if unknown(place)] == []
    made = {words[-1] for words in commands(TEACHING) if "--html" in words}
    assert {file for file, _ in places if file} <= made
    assert [wrong(words) for words in commands(TEACHING) if wrong(words)] == []


def test_each_document_has_a_plan_of_45_and_of_90_minutes() -> None:
    for kind in (45, 90):
        plans = re.findall(rf"^### {kind} minutes\n\n(.*?)\n\n", TEACHING, re.MULTILINE | re.DOTALL)
        assert len(plans) == 4
        for plan in plans:
            spans = [tuple(map(int, span)) for span in re.findall(r"^\| (\d+)–(\d+) \|", plan, re.MULTILINE)]
            assert (spans[0][0], spans[-1][1]) == (0, kind)
            assert all(one[1] == following[0] for one, following in pairwise(spans))


# --------------------------------------------------------------------------- worksheets


def parts(html: str) -> tuple[list[str], list[str]]:
    """The questions of a sheet, and its answers."""
    asked, answered = html.split('<section class="answers">')
    return re.findall(r'<p class="question">(.*?)</p>', asked), re.findall(r"^(?:<ol>)?<li>(.*)</li>$", answered, re.M)


def test_the_sheet_of_the_quiz_has_all_of_it() -> None:
    asked, answered = parts(quiz_sheet())
    found = [re.sub("</?em>", "*", unescape(each)) for each in asked]
    assert found == [each.question for each in questions()]
    assert [each[0] for each in answered] == [each.right for each in questions()]
    assert quiz_sheet().count("☐") == sum(len(each.choices) for each in questions())
    assert "break-before: page" in quiz_sheet()


def test_words_of_a_text_are_never_read_as_html() -> None:
    made = sheet("a <b>", "", [Item("t", "</s> & more", "<script>?", (), "<pad>")])
    assert "<script>" not in made
    assert "&lt;/s&gt; &amp; more" in made


def test_each_tour_has_a_sheet() -> None:
    assert {*RUNS} == {*tour_texts()}


@pytest.mark.skipif(shutil.which("node") is None, reason="the tours are written in node, which is not installed")
def test_the_sheets_of_tours_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("manual.teaching.worksheets.path", lambda: None)
    files = write(tmp_path / "sheets", ("slides", "post"))
    assert sorted(file.name for file in files) == ["post.html", "quiz.html", "slides.html"]
    assert MISSING in capsys.readouterr().out
    asked, answered = parts((tmp_path / "sheets" / "slides.html").read_text(encoding="utf-8"))
    assert len(asked) == len(answered) >= 25
    assert "1 × 5 × 6 = 30" in " ".join(answered)
    assert "Which id has <em>better</em>?" in " ".join(asked)
    assert not re.search(r"undefined|[{}]", " ".join(asked + answered))
    assert len(parts((tmp_path / "sheets" / "post.html").read_text(encoding="utf-8"))[0]) == len(tour_texts()["post"])


def test_a_folder_is_needed() -> None:
    with pytest.raises(SystemExit, match="FOLDER"):
        run(["worksheets"])


@pytest.mark.long
@pytest.mark.skipif(path(shell=True) is None, reason=MISSING)
def test_a_sheet_as_pdf(tmp_path: Path) -> None:
    found = write(tmp_path, ())
    assert [file.name for file in found] == ["quiz.html", "quiz.pdf"]
    pdf = found[1].read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 2


@pytest.mark.long
def test_each_view_of_the_quiz_and_the_plans_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the page that the chapter's or the plan's command writes."""
    monkeypatch.chdir(tmp_path)
    wanted = {live()[each.chapter]["file"]: live()[each.chapter]["command"] for each in questions()}
    places = [(live()[each.chapter]["file"], each.view) for each in questions()]
    for words in commands(TEACHING):
        if "--html" in words:
            wanted[words[-1]] = shlex.join(words)
    places += [(file or "slides.html", place) for file, place in PLACE.findall(TEACHING.split("## The slides")[1])]
    for command in wanted.values():
        assert main([*shlex.split(command)[1:], "--quiet"]) == 0
    with chromium(shell=True) as browser:
        page = browser.new_page()
        for file, place in places:
            page.goto("about:blank")
            page.goto(f"{(tmp_path / file).as_uri()}#{place}")
            if place.startswith("tour"):
                page.wait_for_selector(".tour h2")
                assert not re.search("does not carry|Nothing to see", page.inner_text(".tour-says")), (file, place)
                continue
            page.wait_for_selector("main h2, main h1")
            held = parse_qs(page.evaluate("location.hash.slice(1)"))
            assert held["level"] == parse_qs(place)["level"], (file, place)
            assert not re.search("This (run|page|model) (has|does|carries) no", page.inner_text("main")), (file, place)
