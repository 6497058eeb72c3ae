"""The pictures of a tensor: what they say is the trace's, and they can be used by keys, in each theme, on a phone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from glassformer.api.trace import Trace
from tests.page.judged import judge_places, long_too, needs_axe
from tests.page.test_browser import number_at, show
from tests.page.watched import place_of, reach, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ATTENTION = "encoder.blocks.0.self_attention"
POSITION = "encoder.embed.position"
PICTURES = {
    "box": "encoder.embed.word",
    "product": f"{ATTENTION}.scores",
    "waves": POSITION,
    "distances": POSITION,
    "map": POSITION,
    "sorted": "head.probabilities",
    "loss": "head.probabilities",
    "histogram": f"{ATTENTION}.masked",
}


def draw(page: Page, file: Path, picture: str, cell: str, more: str = "") -> None:
    """Open a picture."""
    reach(page, file, f"level=tensor&tensor={PICTURES[picture]}&picture={picture}&cell={cell}{more}")
    page.locator("main canvas").wait_for()


def test_a_word_of_another_sentence_comes_to_the_front(window: Page, demo_page: Path) -> None:
    draw(window, demo_page, "box", "0,1,2")
    window.locator(".sentences button", has_text="often").click()
    until(window, "location.hash.includes('cell=2,4,2')")
    assert "sentence=2" in place_of(window)
    front = window.locator(".sentences .line[data-front=true]", has_text="They")
    assert front.inner_text().split() == ["in", "front", "They", "go", "hiking", "quite", "often"]


def test_two_positions_are_compared_by_the_numbers_of_the_trace(window: Page, demo_page: Path, demo: Trace) -> None:
    rows = demo[POSITION][0].double()
    measures = {
        "distance": (rows[1] - rows[4]).norm(),
        "product": rows[1] @ rows[4],
        "cosine": torch.cosine_similarity(rows[1], rows[4], dim=0),
    }
    for measure, expected in measures.items():
        draw(window, demo_page, "distances", "0,1,2", f"&at=1,4&options={measure}")
        shown = window.locator(".worked").get_attribute("data-worked")
        assert float(shown or "nan") == pytest.approx(expected.item(), abs=1e-6)
        operands = window.locator(".worked a[data-operand]")
        assert operands.count() == 2 * rows.shape[1]
    assert "from offset 3 to 4" in window.locator(".correction").inner_text()


def test_other_settings_are_said_to_be_not_of_this_model(window: Page, demo_page: Path) -> None:
    draw(window, demo_page, "map", "0,1,2")
    assert window.locator("p[data-own=true]").count() == 1
    draw(window, demo_page, "map", "0,1,2", "&options=wide,tensor2tensor&at=3,7")
    assert "not of this model" in window.locator("p[data-own=false]").inner_text()
    assert window.locator(".worked a[data-operand]").count() == 0


def test_the_sorted_list_adds_up_and_marks_the_right_word(window: Page, demo_page: Path, demo: Trace) -> None:
    shares = demo["head.probabilities"][1].double()
    draw(window, demo_page, "sorted", "1,0")
    rows = window.locator("details.twin tr")
    label = demo.words.vocabulary[int(shares.argmax())]
    assert rows.first.locator("th").text_content() == label
    assert "right" in (rows.first.text_content() or "")
    assert rows.last.locator("th").text_content() == f"{len(shares) - 10} more of {len(shares)}"


def test_the_loss_is_the_mean_over_the_hidden_words(window: Page, demo_page: Path, demo: Trace) -> None:
    draw(window, demo_page, "loss", "0,0")
    vocabulary = list(demo.words.vocabulary)
    assert demo.words.answers is not None
    right = [vocabulary.index(word) for _, word in sorted(demo.words.answers.items())]
    shares = demo["head.probabilities"].double()
    expected = -sum(math.log(shares[place, entry]) for place, entry in enumerate(right)) / len(right)
    shown = window.locator("p[data-loss]").get_attribute("data-loss")
    assert float(shown or "nan") == pytest.approx(expected, rel=1e-6)


def test_keys_go_through_the_columns_and_open_a_number(window: Page, demo_page: Path, demo: Trace) -> None:
    draw(window, demo_page, "histogram", "0,1,1,0")
    window.locator("main canvas").focus()
    window.keyboard.press("ArrowRight")
    until(window, "!location.hash.includes('cell=0,1,1,0')")
    cell = [int(step) for step in window.evaluate("new URLSearchParams(location.hash.slice(1)).get('cell')").split(",")]
    value = demo[f"{ATTENTION}.masked"][tuple(cell)]
    assert value > demo[f"{ATTENTION}.masked"][0, 1, 1, 0]
    window.keyboard.press("Enter")
    article = number_at(window, f"{ATTENTION}.masked", ",".join(map(str, cell)))
    assert float(article.get_attribute("data-value") or "nan") == value
    window.keyboard.press("Escape")
    window.locator(".pictures a[aria-current=true]", has_text="as a histogram").wait_for()


@pytest.mark.long
@needs_axe
@long_too
def test_pictures_fit_and_can_be_read(browser: Browser, demo_page: Path, long: bool) -> None:
    places = [f"level=tensor&tensor={name}&picture={picture}" for picture, name in PICTURES.items()]
    with watched(browser, bypass_csp=True) as page:
        show(page, demo_page)
        judge_places(page, [f"{place}&cell=0,0,0,0" for place in [*places, "level=mask"]], "main canvas", long=long)
