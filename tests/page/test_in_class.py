"""In class: the quiz, a tour that is presented, and every level of the page judged by axe-core, in one window."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from glassformer.page.tour import quiz
from tests.page.judged import judged, kinds_on, needs_axe
from tests.page.watched import at_rest, place_of, reach, turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

QUESTIONS = quiz()["question"]
RIGHT = [each["right"] for each in QUESTIONS]
ALL_RIGHT = ",".join(f"{number}{letter}" for number, letter in enumerate(RIGHT, start=1))
STATE = Path(__file__).parents[2] / "web" / "src" / "address" / "state.ts"


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One window for all, without a network, in which nothing may go wrong; axe-core is put into its pages."""
    with watched(browser, offline=True, bypass_csp=True) as page:
        yield page


def status(page: Page) -> str:
    at_rest(page)
    return page.locator(".quiz [role=status]").inner_text()


# --------------------------------------------------------------------------- the quiz


def test_the_quiz_is_answered_by_keys_and_leads_to_the_views(page: Page, demo_page: Path) -> None:
    reach(page, demo_page, "level=quiz")
    page.locator("legend").first.wait_for()
    asked = [re.sub(r"^\d+ of 10 ", "", each) for each in page.locator("legend").all_inner_texts()]
    assert asked == [each["question"].replace("*", "") for each in QUESTIONS]
    page.locator("input[name=question-1]").first.focus()
    page.keyboard.press("Space")
    for _ in range("abcd".index(RIGHT[0])):
        page.keyboard.press("ArrowDown")
    assert status(page).startswith("1 of 10")
    # The second question is one Tab away.
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    for _ in range("abcd".index(RIGHT[1])):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    for _ in range(("abcd".index(RIGHT[2]) + 1) % 4):  # a wrong choice
        page.keyboard.press("ArrowDown")
    assert status(page).startswith("3 of 10")
    page.locator(".quiz-bar .act").focus()
    page.keyboard.press("Enter")
    assert status(page).startswith("2 of 10")
    # The keys stay where they were: the button now begins anew.
    assert page.evaluate("document.activeElement.className") == "act"
    wrong = [
        int(each)
        for each in page.locator(".quiz li[data-right=false]").evaluate_all("all => all.map(e => e.dataset.number)")
    ]
    assert wrong == [3, 4, 5, 6, 7, 8, 9, 10]
    page.locator(".quiz-bar .undo").nth(1).press("Enter")
    assert page.evaluate("document.activeElement.dataset.number") == "4"
    assert page.locator("[data-number='4'] [data-mark='the right choice'] b").inner_text() == RIGHT[3]
    place = place_of(page)
    page.locator("[data-number='2'] .quiz-because a").press("Enter")
    page.locator("main[data-level=mask] canvas").first.wait_for()
    page.go_back()
    until(page, "place => location.hash === place", place)
    page.locator(".quiz-bar .act").press("Enter")
    assert status(page) == "0 of 10 answered. The time before: 2 right."


def test_all_right_is_said_and_the_score_before_is_kept(page: Page, demo_page: Path) -> None:
    reach(page, demo_page, f"level=quiz&options={ALL_RIGHT},checked,was3")
    page.locator("h1", has_text="10 of 10 right").wait_for()
    assert status(page) == "10 of 10 right. The time before: 3 right."
    assert page.locator(".quiz-bar .undo").count() == 0


@pytest.mark.long
def test_each_answer_is_shown_by_a_page_of_the_package(page: Page, demo_page: Path, student_page: Path) -> None:
    """The slides' page shows what one block has, the translator's the rest; what neither has names its model."""
    shown: set[str] = set()
    for file in (demo_page, student_page):
        reach(page, file, f"level=quiz&options={ALL_RIGHT},checked")
        page.locator(".quiz-because").nth(9).wait_for()
        until(page, "document.querySelectorAll('.quiz-because :is(a, code)').length === 10")
        shown |= {*page.locator("[data-shows]").evaluate_all("all => all.map(each => each.dataset.shows)")}
        found = page.locator(".quiz-because code").all_inner_texts()
        assert all(re.fullmatch(r"glassformer explore (slides|english|en-fr|writer)", each) for each in found)
    assert shown == {each["view"] for each in QUESTIONS}
    # A link to a step of a tour opens its picture too.
    page.locator("[data-shows='tour=translation.8']").press("Enter")
    page.locator(".tour h2").wait_for()
    assert "tour=translation.8" in place_of(page)


# --------------------------------------------------------------------------- a tour as slides


def test_a_tour_is_presented_by_keys_alone(page: Page, demo_page: Path) -> None:
    reach(page, demo_page, "tour=4&level=block")
    page.locator(".tour h2").wait_for()
    page.keyboard.press("P")
    page.locator(".present-notes").wait_for()
    assert all(not page.locator(part).is_visible() for part in (".rail", ".inspector", ".top", ".foot", ".tour-next"))
    size = "one => parseFloat(getComputedStyle(one).fontSize)"
    assert page.locator(".tour-says > p:not(.label)").first.evaluate(size) == 28
    for key, step in (("ArrowRight", 5), ("PageDown", 6), (" ", 7), ("ArrowLeft", 6), ("PageUp", 5)):
        page.keyboard.press(key)
        until(page, "step => document.querySelector('.present-line b')?.textContent.startsWith(step)", f"{step} of")
    answer = page.locator(".present-notes p:not(.label)").first.inner_text()
    assert page.locator(".tour-answer").inner_text() == ""
    page.keyboard.press("a")
    until(page, "answer => document.querySelector('.tour-answer').textContent === answer", answer)
    page.keyboard.press("o")
    until(page, "document.querySelector('.present-notes') === null")
    assert "present=slide" in place_of(page)
    page.keyboard.press("Escape")
    until(page, "document.querySelector('.present-line') === null")
    assert "tour=5" in place_of(page)
    assert page.locator(".rail").is_visible()
    page.keyboard.press("q")


def test_pointing_at_a_picture_that_is_enlarged_finds_the_cell(page: Page, demo_page: Path) -> None:
    reach(
        page,
        demo_page,
        "level=tensor&tensor=encoder.blocks.0.self_attention.weights&cell=0,0,1,2&tour=15&present=slide",
    )
    frame = page.locator(".main .frame-of-cell").first
    frame.wait_for()
    before = place_of(page)
    box = frame.bounding_box()
    assert box is not None
    # The cell to the right of the one in hand.
    page.mouse.click(box["x"] + 1.5 * box["width"], box["y"] + box["height"] / 2)
    until(page, "before => location.hash !== before", before)
    moved = frame.bounding_box()
    assert moved is not None
    assert moved["x"] == pytest.approx(box["x"] + box["width"], abs=2)
    page.keyboard.press("Escape")


# --------------------------------------------------------------------------- for all


def levels() -> list[str]:
    """Every level that an address can name."""
    listed = STATE.read_text(encoding="utf-8").split("const LEVELS: readonly string[] = [")[1].split("]")[0]
    return re.findall(r'"([a-z]+)"', listed)


@pytest.mark.long
@needs_axe
def test_axe_finds_nothing_on_any_level(page: Page, demo_page: Path) -> None:
    """Each level once, in a wide window and in one theme; other tests judge most of them in all themes and on a phone.
    A level with the same elements as one before differs by its words alone and is not judged again.
    """
    assert {"model", "quiz", "learn"} <= {*levels()}
    cell = "tensor=encoder.blocks.0.self_attention.weights&cell=0,0,1,4"
    scene = {"scene": "&scene=cells"}
    seen: set[str] = set()
    found = {}
    for level in levels():
        reach(page, demo_page, f"level={level}{scene.get(level, '')}&{cell}")
        page.locator("main :is(h1, h2, canvas, legend)").first.wait_for()
        at_rest(page)
        if fresh := kinds_on(page) - seen:
            found[level] = judged(page)
            seen |= fresh
    turn(page, f"level=quiz&options={ALL_RIGHT.replace('1c', '1a')},checked")
    page.locator(".quiz-because").first.wait_for()
    found["quiz, answered"] = judged(page)
    turn(page, "level=block&tour=5&present=notes")
    page.locator(".present-notes").wait_for()
    found["presented"] = judged(page)
    assert {level: wrong for level, wrong in found.items() if wrong} == {}
