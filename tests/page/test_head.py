"""The level of one attention head in a real browser: its numbers are the trace's, its keys and its address work."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from glassformer.page.server import overview
from tests.look.rows import slides_trace
from tests.page.judged import judge_places, long_too, needs_axe
from tests.page.serving import desk_of, small_model
from tests.page.test_browser import check, number_at, show, traced
from tests.page.test_server_browser import serving
from tests.page.watched import reach, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WEIGHTS = "encoder.blocks.0.self_attention.weights"
# An encoder with a fill of −1000, one with two blocks, shared key-value heads and rotary positions, a bias by distance.
ATTENTIONS = (
    ("slides", WEIGHTS),
    ("bert", "encoder.blocks.1.self_attention.weights"),
    ("llama", "decoder.blocks.1.self_attention.weights"),
    ("t5", "encoder.blocks.0.self_attention.weights"),
    ("t5", "decoder.blocks.0.cross_attention.weights"),
)


def headline(page: Page, part: str = "looks at") -> str:
    """The answer at the top, once it has this part."""
    until(page, "part => document.querySelector('.answered h1')?.innerText.includes(part)", part)
    return page.locator(".answered h1").inner_text()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("family", "weights"), ATTENTIONS)
def test_the_table_of_scores_has_the_numbers_of_the_trace_and_each_leads_on(
    family: str, weights: str, window: Page, tmp_path: Path
) -> None:
    found = traced(family)
    file = tmp_path / "page.html"
    found.to_html(file)
    rng = random.Random(weights)
    sentence, head, query, _ = (rng.randrange(size) for size in found[weights].shape)
    reach(window, file, f"level=head&tensor={weights}&cell={sentence},{head},{query},0")
    window.wait_for_selector(".stages")
    links = window.locator(".stages a[data-number]").evaluate_all(
        "all => all.map(({dataset}) => [dataset.number, dataset.key, dataset.value])"
    )
    stages = dict.fromkeys(name for name, _, _ in links)
    path = weights.removesuffix("weights")
    expected = [name for name in found if name.startswith(path) and found[name].shape[2:] == found[weights].shape[2:]]
    assert [name for name in stages if name.startswith(path)] == [
        name for name in expected if not name.endswith("may_look") and len(found[name].shape) == 4
    ]
    for name, key, value in links:
        tensor = found[name]
        index = [min(at, size - 1) for at, size in zip((sentence, head, query, int(key)), tensor.shape, strict=True)]
        assert float(value.replace("Infinity", "inf")) == float(tensor[tuple(index)])
    name, key, _ = rng.choice(links)
    window.locator(f'.stages a[data-number="{name}"][data-key="{key}"]').click()
    index = [min(at, size - 1) for at, size in zip((sentence, head, query, int(key)), found[name].shape, strict=True)]
    number_at(window, name, ",".join(map(str, index)))
    check(window, found, name, dict(zip(found.axes(name), index, strict=True)))


def test_the_answer_is_the_largest_weights_of_the_word_in_hand(window: Page, slides_page: Path) -> None:
    weights = slides_trace(dtype=torch.float32)[WEIGHTS]
    words = ("She", "likes", "the", "summer", "better")
    reach(window, slides_page, f"level=head&tensor={WEIGHTS}&cell=0,1,3,0")
    found = re.findall(r"(\w+) (0\.\d{3})", headline(window).split("looks at")[1])
    order = weights[0, 1, 3].argsort(descending=True).tolist()
    assert [word for word, _ in found] == [words[key] for key in order[: len(found)]]
    assert [value for _, value in found] == [f"{float(weights[0, 1, 3, key]):.3f}" for key in order[: len(found)]]


def test_keys_change_the_head_and_lead_out(window: Page, slides_page: Path) -> None:
    reach(window, slides_page, f"level=head&tensor={WEIGHTS}&cell=0,0,1,0")
    headline(window, "head 0")
    window.keyboard.press("]")
    until(window, "location.hash.includes('cell=0,1,1,0')")
    headline(window, "head 1")
    window.keyboard.press("0")
    until(window, "location.hash.includes('heads=0.1,0.0')")
    headline(window, "two heads")
    window.locator(".stage canvas").last.focus()
    window.keyboard.press("ArrowDown")
    until(window, "location.hash.includes('cell=0,1,2,0')")
    window.keyboard.press("Enter")
    number_at(window, WEIGHTS, "0,1,2,0")
    window.go_back()
    headline(window)
    window.keyboard.press("Escape")
    window.wait_for_selector(".sentence")


def test_pointing_at_a_word_draws_its_lines(window: Page, slides_page: Path) -> None:
    reach(window, slides_page, f"level=head&tensor={WEIGHTS}&cell=0,0,1,0&theme=light")
    headline(window)
    canvas = window.locator(".stage canvas").last
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    canvas.hover(position={"x": 20, "y": 80 + 32 * 4 + 10})
    until(window, "before => document.querySelectorAll('.stage canvas')[1].toDataURL() !== before", before)
    window.locator(".inspector", has_text="better").wait_for()


def test_every_attention_tensor_links_to_its_head(window: Page, slides_page: Path) -> None:
    path = WEIGHTS.removesuffix("weights")
    reach(window, slides_page, f"level=tensor&tensor={path}value&cell=0,1,3,2")
    window.locator("main a", has_text="head").click()
    until(window, "location.hash.includes('level=head')")
    assert "cell=0,1,3,3" in window.evaluate("location.hash")
    headline(window, "head 1")


@pytest.mark.long
@needs_axe
@long_too
def test_nothing_is_wider_than_the_window_and_axe_finds_nothing(
    browser: Browser, slides_page: Path, long: bool
) -> None:
    """Otherwise than `test_people.py` judges this level: with lines across, and with two heads."""
    with watched(browser, bypass_csp=True) as page:
        own = f"level=head&tensor={WEIGHTS}&cell=0,1,1,0"
        show(page, slides_page, own)
        shows = ("show=across", "heads=0.0,0.1&show=only")
        judge_places(page, [f"{own}&{more}" for more in shows], ".stages", long=long)


def test_a_head_of_a_run_that_is_not_sent_whole_has_its_numbers(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(overview, "MOST_WHOLE", 100)
    desk = desk_of(small_model(tmp_path))
    with serving(desk) as address, watched(browser) as page:
        page.goto(f"{address}#level=head&tensor={WEIGHTS}&cell=1,1,2,0")
        page.wait_for_selector(".stages")
        headline(page, "head 1")
        (run,) = desk.runs.values()
        links = page.locator(f'.stages a[data-number="{WEIGHTS}"]').evaluate_all("all => all.map(a => a.dataset.value)")
        assert [float(value) for value in links] == run.trace[WEIGHTS][1, 1, 2].tolist()
        page.goto("about:blank")
