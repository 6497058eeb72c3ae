"""Two runs side by side on a page: A, B and A − B, and A's numbers put into B."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, urlencode

import pytest

import glassformer as gf
from glassformer.api.trace import Trace
from glassformer.bundled.texts import slides_model
from tests.page.watched import place_of, turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SLIDES = slides_model()
TEXTS = ("She [MASK] [MASK] summer better", "She likes the [MASK] better")
WEIGHTS = "encoder.blocks.0.self_attention.weights"
SUM = "encoder.embed.sum"
QUERY = "encoder.blocks.0.self_attention.query"
ROUNDING = 1e-6  # the trace is float32, the page computes in double precision


@pytest.fixture(scope="module")
def trace() -> Trace:
    """The slides' model reads two of its sentences."""
    return gf.load(SLIDES).trace(list(TEXTS))


@pytest.fixture
def page(browser: Browser, trace: Trace, tmp_path: Path) -> Iterator[Page]:
    """Its page, in which nothing may go wrong."""
    file = tmp_path / "page.html"
    trace.to_html(file)
    with watched(browser, height=900, offline=True) as page:
        page.goto(file.as_uri())
        page.wait_for_selector(".frame")
        yield page


SIDES_ARE = """expected => {
  const sides = document.querySelector("[data-sides]")?.dataset.sides?.split(" ").map(Number);
  return sides !== undefined && sides.every((each, side) => Math.abs(each - expected[side]) < 1e-6);
}"""
"""Whether the numbers of A and B that are shown are these: the ones before stay until they are there."""


def at(page: Page, tensor: str, cell: str, more: str = "") -> None:
    """Take a number in hand, and leave the rest of the address as it is."""
    address = dict(parse_qsl(place_of(page).removeprefix("#") + f"&{more}")) | {"tensor": tensor, "cell": cell}
    turn(page, urlencode(address), anew=False)


def test_a_change_is_subtracted(page: Page, trace: Trace) -> None:
    """A is the run before, B the one in which a word may not look at another; all that comes before does not differ."""
    page.get_by_role("button", name="Keep this run as A").click()
    at(page, WEIGHTS, "0,0,1,4")
    page.keyboard.press("f")
    page.locator("[data-differ]").wait_for()
    page.get_by_label("A − B").check()
    changed = trace.intervene(gf.forbid("0.self_attention", query=1, key=4, head=0))
    assert changed[WEIGHTS][0, 0, 1, 4] == 0
    # The number before stays, dimmed, until that of the changed run is there.
    for head, query, key in ((0, 1, 4), (0, 1, 0), (0, 1, 3), (1, 1, 3)):
        at(page, WEIGHTS, f"0,{head},{query},{key}")
        until(page, f"() => document.querySelector('.inspector').textContent.includes('head {head}, likes')")
        expected = [float(each[WEIGHTS][0, head, query, key]) for each in (trace, changed)]
        until(
            page,
            SIDES_ARE,
            expected,
        )
    at(page, SUM, "0,2,3", "level=tensor")
    until(page, "() => document.querySelector('[data-sides]')?.dataset.sides?.split(' ')[0] !== undefined")
    until(page, "() => document.querySelector('main h1')?.textContent.includes('word + position')")
    until(
        page,
        """() => {
            const [a, b] = document.querySelector("[data-sides]").dataset.sides.split(" ");
            return a === b;
        }""",
    )
    changes = parse_qs(place_of(page).removeprefix("#"))["changes"]
    at(page, WEIGHTS, "0,0,1,0", "level=tensor&shown=A")
    page.locator("body").press("h")
    page.get_by_text("Only B can be changed", exact=False).first.wait_for()
    assert parse_qs(place_of(page).removeprefix("#"))["changes"] == changes


def test_a_sentence_is_compared_with_another(page: Page, trace: Trace) -> None:
    """One sentence is kept as A; every sentence of B is compared with it, and A's number can be put into B."""
    page.get_by_role("button", name="Keep this sentence as A").click()
    at(page, SUM, "1,1,2", "sentence=1&shown=A-B")
    until(page, SIDES_ARE, [float(trace[SUM][sentence, 1, 2]) for sentence in (0, 1)])
    page.get_by_role("button", name="Put A's vector of this word into B").click()
    until(
        page,
        """() => {
            const [a, b] = document.querySelector("[data-sides]").dataset.sides.split(" ").map(Number);
            return Math.abs(a - b) < 1e-6; // A is computed in double precision once B has a change
        }""",
    )
    page.get_by_label("B", exact=True).check()
    at(page, QUERY, "1,0,1,2", "sentence=1")
    put = [gf.set_number(SUM, (1, 1, channel), float(trace[SUM][0, 1, channel])) for channel in range(6)]
    expected = float(trace.intervene(*put)[QUERY][1, 0, 1, 2])
    until(
        page,
        "() => document.querySelector('.inspector').textContent.includes('query') && "
        "document.querySelector('[data-sides]') === null",
    )
    shown = page.locator(".inspector .big").first.inner_text().replace("−", "-")
    assert float(shown) == pytest.approx(expected, abs=5e-3)  # three digits are shown
    page.get_by_role("button", name="End the comparison").click()
    page.get_by_role("button", name="Keep this run as A").wait_for()
