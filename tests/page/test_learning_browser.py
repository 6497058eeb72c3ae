"""Learning in the page, as a person meets it: found by a click, played, dragged back, opened to its gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.judged import judge_places, long_too, needs_axe
from tests.page.serving import desk_of
from tests.page.test_server_browser import serving
from tests.page.watched import at_rest, place_of, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def page(browser: Browser, demo_page: Path) -> Iterator[Page]:
    """An exported page of the slides' model, without a network."""
    with watched(browser, offline=True, reduced_motion="no-preference") as page:
        page.goto(demo_page.as_uri())
        page.locator(".says a", has_text="Train it here").click()
        page.locator(".learn-curve svg").wait_for()
        yield page


def step_of(page: Page) -> int:
    return int(page.locator("h1").get_attribute("data-step") or -1)


def loss_of(page: Page) -> float:
    return float(page.locator("h1").get_attribute("data-loss") or math.nan)


def begin(page: Page, exercise: str = "slides") -> None:
    """The same training from its first step."""
    page.locator(f"[data-exercise={exercise}]").click()
    until(page, "document.querySelector('h1').dataset.step === '0'")


def do(page: Page, what: str) -> None:
    page.locator(f"[data-do={what}]").click()


def test_it_learns_the_slides_sentences_and_goes_back(page: Page) -> None:
    begin(page)
    first = loss_of(page)
    # 15 words, about none of which anything is known.
    assert abs(first - math.log(15)) < 1
    do(page, "step")
    assert step_of(page) == 1
    do(page, "play")
    until(page, "Number(document.querySelector('h1').dataset.step) >= 100")
    do(page, "play")
    at_rest(page)
    end, last = step_of(page), loss_of(page)
    # The recipe makes 100 steps, after which the package's model guesses all four words.
    assert last < first / 10
    assert page.locator(".guess:first-child[data-right=true]").count() == 4

    scrub = page.locator(".learn-scrub input")
    scrub.focus()
    page.keyboard.press("Home")
    assert (step_of(page), loss_of(page)) == (0, first)
    page.keyboard.press("End")
    assert (step_of(page), loss_of(page)) == (end, last)
    until(page, f"document.querySelector('main [aria-live]').textContent.includes('step {end}, loss')")
    # What is seen is in the address.
    until(page, f"location.hash.includes('at={end}')")
    box = page.locator(".learn-curve svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 80)
    page.mouse.up()
    assert 0 < step_of(page) < end


def test_a_weight_opens_to_the_gradient_that_moved_it_up_to_the_loss(page: Page) -> None:
    begin(page)
    do(page, "step")
    do(page, "step")
    picture = page.locator(".learn canvas").last
    picture.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowDown")
    at_rest(page)
    sidebar = page.locator(".inspector")
    moved = sidebar.locator("[data-was]")
    was, now = (float(moved.get_attribute(f"data-{each}") or "nan") for each in ("was", "is"))
    # Adam moves a weight by about the rate at most.
    assert 0 < abs(now - was) < 0.0075
    gradient = float(sidebar.locator("[data-gradient]").get_attribute("data-gradient") or "nan")
    assert math.copysign(1, gradient) == math.copysign(1, was - now)
    # Each term leads on, to the loss in the end.
    for _ in range(30):
        links = sidebar.locator(".gradient-terms button")
        if links.count() == 0:
            break
        links.first.click()
        at_rest(page)
    assert sidebar.locator(".strong").first.inner_text() == "the loss"


def test_the_gradients_are_checked_by_differences(page: Page) -> None:
    begin(page)
    do(page, "step")
    do(page, "check")
    found = page.locator(".finite .check")
    found.wait_for()
    assert found.get_attribute("data-holds") == "true"
    assert float(found.get_attribute("data-difference") or "nan") < 1e-6
    assert "516 gradients" in found.inner_text()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "exercise",
    [
        *(pytest.param(each, marks=pytest.mark.long) for each in ("nothing-hidden", "no-positions")),
        "one-head",
        "zero-after",
    ],
)
def test_each_exercise_is_one_click(page: Page, exercise: str) -> None:
    begin(page, exercise)
    do(page, "play")
    until(page, "Number(document.querySelector('h1').dataset.step) >= 80")
    do(page, "play")
    at_rest(page)
    shares = page.evaluate("""() => {
        const words = [...document.querySelectorAll('.learned-word')];
        return Object.fromEntries(words.flatMap((word) => {
            const best = word.querySelector('.guess:first-child span');
            return best ? [[word.querySelector('button').dataset.word, best.textContent]] : [];
        }));
    }""")
    assert set(shares) == {"0.1", "0.2", "1.3", "2.4"}
    if exercise == "zero-after":
        # Without its position one hidden word of a sentence is the same as the other: both are guessed alike.
        assert shares["0.1"] == shares["0.2"]
    else:
        assert loss_of(page) < 1


def test_own_words_are_added_and_what_is_too_long_is_refused(page: Page) -> None:
    begin(page)
    page.locator("summary", has_text="write other sentences").click()
    first = page.locator("[aria-label='sentence 0']")
    first.fill("one two three four five six seven eight nine")
    page.locator("button", has_text="Learn these").click()
    page.locator(".wrong", has_text="at most 8").wait_for()
    first.fill("She drinks green tea")
    page.locator("button", has_text="Learn these").click()
    page.locator(".beneath", has_text="drinks, green, tea").wait_for()
    assert page.locator(".wrong").count() == 0
    # Sentences of unequal length: the shorter one is padded.
    do(page, "step")
    assert step_of(page) == 1
    assert math.isfinite(loss_of(page))
    page.locator("[data-word='0.0']").click()
    at_rest(page)
    assert page.locator("[data-word='0.0']").get_attribute("aria-pressed") == "true"
    assert step_of(page) == 1
    page.locator("summary", has_text="write other sentences").click()


def test_a_rate_that_is_too_high_stops_and_one_click_leads_back(page: Page) -> None:
    begin(page)
    do(page, "step")
    rate = page.locator("[aria-label='learning rate']")
    rate.fill("1e120")
    rate.press("Enter")
    do(page, "play")
    stop = page.locator("[data-stopped]")
    stop.wait_for()
    assert "not finite" in stop.inner_text()
    stop.locator("button").click()
    at_rest(page)
    assert (stop.count(), step_of(page), rate.input_value()) == (0, 1, "0.005")
    rate.fill("nothing")
    rate.press("Enter")
    page.locator(".wrong", has_text="above 0").wait_for()
    rate.fill("0.005")
    rate.press("Enter")


@pytest.mark.long
def test_the_second_model_writes_what_it_learned(page: Page) -> None:
    begin(page, "letters")
    page.locator("[aria-label=pace]").select_option("fast")
    do(page, "play")
    # The first letter of a day cannot be known, the others nearly all.
    until(page, "Number(document.querySelector('h1').dataset.loss) < 0.35")
    do(page, "play")
    at_rest(page)
    assert page.locator(".written li").count() == 12
    assert page.locator(".written li[data-known=true]").count() >= 6
    page.locator("[aria-label=pace]").select_option("steady")


@pytest.mark.long
def test_a_link_leads_to_the_same_step(page: Page, browser: Browser, demo_page: Path) -> None:
    begin(page, "one-head")
    seed = page.locator("[aria-label='seed of the first weights']")
    seed.fill("3")
    seed.press("Enter")
    for _ in range(3):
        do(page, "step")
    until(page, "location.hash.includes('at=3')")
    with watched(browser, offline=True, reduced_motion="reduce") as other:
        other.goto(f"{demo_page.as_uri()}{place_of(page)}")
        until(other, "document.querySelector('h1')?.dataset.step === '3'")
        assert loss_of(other) == loss_of(page)
        # Where less motion is asked for, nothing plays by itself.
        do(other, "play")
        until(other, lambda: step_of(other) == 103)
        other.wait_for_timeout(300)
        assert step_of(other) == 103


@pytest.mark.long
def test_a_live_page_has_it_too(browser: Browser) -> None:
    with serving(desk_of()) as address, watched(browser, reduced_motion="no-preference") as page:
        page.goto(f"{address}#level=block")
        page.locator(".rail a", has_text="train it here").click()
        page.locator(".learn-curve svg").wait_for()
        do(page, "step")
        assert step_of(page) == 1


@pytest.mark.long
@needs_axe
@long_too
def test_nothing_serious_for_those_who_cannot_see_it(browser: Browser, demo_page: Path, long: bool) -> None:
    with watched(browser, bypass_csp=True, reduced_motion="no-preference") as page:
        page.goto(f"{demo_page.as_uri()}#level=learn&at=5")
        judge_places(page, ["level=learn&at=5"], ".learn-curve svg", long=long)
