"""The printed scores and the shuffled words on the page: their numbers are those of Python, and keys reach them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import glassformer as gf
from glassformer.bundled.texts import score_table, thinking_machines
from glassformer.cli.__main__ import main
from glassformer.look.summaries.shuffled import shuffled
from tests.page.judged import judge_places, needs_axe
from tests.page.test_browser import show
from tests.page.watched import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

NUMBERS = "all => all.map(each => Number(each.dataset.value))"


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page that `glassformer matrix --guide` writes."""
    file: Path = tmp_path_factory.mktemp("printed") / "guide.html"
    assert main(["matrix", "--guide", "--query-size", "64", "--html", str(file)]) == 0
    return file


def test_the_slider_scales_the_printed_scores(window: Page, guide: Path) -> None:
    show(window, guide)
    slider = window.locator(".printed input[type=range]")
    slider.wait_for()
    for size, key in ((64, ""), (128, "ArrowRight"), (4096, "End"), (1, "Home")):
        if key:
            slider.press(key)
        until(window, "size => document.querySelector('.printed [data-size]').dataset.size === size", str(size))
        for table, scores in enumerate(
            ([list(thinking_machines().scores)], [list(row) for row in score_table().scores])
        ):
            shown = window.locator(".printed section").nth(table).locator("table")
            expected = torch.tensor(scores, dtype=torch.float64) / size**0.5
            for place, numbers in ((1, expected), (2, expected.softmax(dim=-1))):
                found = torch.tensor(shown.nth(place).locator("a").evaluate_all(NUMBERS), dtype=torch.float64)
                torch.testing.assert_close(found.view(numbers.shape), numbers, rtol=1e-12, atol=1e-15)
    marked = window.locator(".printed tr[data-wrong=true]")
    assert marked.count() == 1
    assert marked.locator("th").inner_text() == "are"
    assert "1.1" in marked.locator("td").last.inner_text()


def test_a_printed_weight_is_worked_out(window: Page, guide: Path) -> None:
    show(window, guide)
    window.locator(".printed section").last.locator("table").nth(3).locator("a").first.press("Enter")
    until(window, "location.hash.includes('at=1,0,0')")
    worked = window.locator(".printed .worked").last.get_attribute("data-worked")
    weights = (torch.tensor(score_table().scores, dtype=torch.float64) / 8).softmax(dim=-1)
    assert float(worked or "nan") == pytest.approx(float(weights[0, 0]), rel=1e-12)


def test_the_shuffled_words(window: Page, tmp_path: Path) -> None:
    file, text = tmp_path / "shuffled.html", "She likes the summer better"
    assert main(["shuffle", "slides", text, "--seed", "3", "--html", str(file)]) == 0
    show(window, file)
    cells = window.locator(".printed a[data-value]")
    cells.first.wait_for()
    found = shuffled(gf.load("slides").trace(text), seed=3)
    shown = torch.tensor(cells.evaluate_all(NUMBERS)).view(len(found.words), 4)
    expected = torch.tensor([way.apart for way in found.ways]).T
    torch.testing.assert_close(shown[:, 1:], expected[:, 1:], rtol=1e-4, atol=1e-4)
    assert float(shown[:, 0].max()) < 1e-4
    cells.nth(5).press("Enter")  # the second word under a causal mask
    until(window, "location.hash.includes('at=1,1')")
    numbers = window.locator(".printed .worked td").all_inner_texts()
    first = [found.ways[1].text[1, 0], found.ways[1].shuffled[1, 0]]
    given = [float(text.replace("−", "-")) for text in (numbers[0], numbers[len(numbers) // 2])]
    assert given == pytest.approx([float(each) for each in first], abs=6e-4)


@needs_axe
@pytest.mark.long
def test_everyone_can_read_them(window: Page, guide: Path) -> None:
    show(window, guide)
    judge_places(window, ("level=scene&scene=printed",), ".printed table")
    window.set_viewport_size({"width": 1280, "height": 720})
