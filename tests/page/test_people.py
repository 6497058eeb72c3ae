"""The page for all people: every level judged by axe-core in every theme, by keys alone, enlarged, without motion, on a
phone, in scripts that are written from the right.

A new level is a row of LEVELS.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from glassformer.api.trace import trace
from glassformer.look.trace.cell import Words
from tests.look.rows import row_named
from tests.page.judged import SIZES, judge_places, judged, long_too, needs_axe
from tests.page.serving import desk_of
from tests.page.test_server_browser import serving
from tests.page.together import try_each
from tests.page.watched import place_of, turn, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WEIGHTS = "encoder.blocks.0.self_attention.weights"
IN_HAND = f"tensor={WEIGHTS}&cell=0,1,1,0"
LEVELS = ("model", "heads", "head", "block", "tensor", "number")
WINDOWS: dict[str, dict[str, Any]] = {
    "a phone": {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 3, "has_touch": True},
    "enlarged to 200 %": {"viewport": {"width": 640, "height": 360}, "device_scale_factor": 2},
}
DRAWN = "main :is(canvas, svg)"


def go(page: Page, address: str, level: str, more: str = "") -> None:
    """Open a level with a number in hand."""
    page.goto("about:blank")
    page.goto(f"{address}#level={level}&{IN_HAND}{more}")
    page.locator(f"main[data-level={level}]").locator("canvas, svg").first.wait_for()


def wider(page: Page) -> list[str]:
    """What stands beyond the right edge of the window and cannot be scrolled to."""
    found: list[str] = page.evaluate(
        """() => {
          const scrolls = (one) => one !== null && (/auto|scroll|hidden/.test(getComputedStyle(one).overflowX)
            || scrolls(one.parentElement));
          return [...document.querySelectorAll("body *")].filter((one) => {
            const { right, width } = one.getBoundingClientRect();
            return width > 0 && right > innerWidth + 1 && !scrolls(one.parentElement);
          }).map((one) => one.outerHTML.slice(0, 120));
        }"""
    )
    return found


@pytest.mark.long
@needs_axe
@long_too
def test_every_level_in_every_theme_is_for_all(browser: Browser, slides_page: Path, long: bool) -> None:
    with watched(browser, bypass_csp=True) as page:
        go(page, slides_page.as_uri(), LEVELS[0])
        judge_places(page, [f"level={level}&{IN_HAND}" for level in LEVELS], DRAWN, is_for_all, long=long)


def is_for_all(page: Page) -> None:
    """Nothing is cut off, and what a canvas shows can be read without it."""
    assert wider(page) == []
    assert page.locator("main details.twin, main table").count() > 0


@pytest.mark.sampled(1)
@needs_axe
@pytest.mark.parametrize("size", ["a phone", "enlarged to 200 %"])
def test_every_level_is_for_all_in_a_window_of_another_kind(browser: Browser, slides_page: Path, size: str) -> None:
    """What stands around the level is judged whole with one of them: it is the same around each."""

    def fits(level: str) -> None:
        turn(page, f"level={level}&{IN_HAND}")
        page.locator(DRAWN).first.wait_for()
        assert judged(page, rules=None if level == "number" else SIZES) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= WINDOWS[size]["viewport"]["width"]
        is_for_all(page)

    with watched(browser, bypass_csp=True, **WINDOWS[size]) as page:
        go(page, slides_page.as_uri(), LEVELS[0])
        try_each(LEVELS, fits)


@pytest.mark.long
@needs_axe
def test_the_live_page_is_for_all_too(browser: Browser) -> None:
    with serving(desk_of()) as address, watched(browser, bypass_csp=True) as page:
        go(page, address, "model")
        for level in ("model", "heads", "head", "number"):
            turn(page, f"level={level}&{IN_HAND}")
            page.locator(f"main[data-level={level}]").locator("canvas, svg").first.wait_for()
            assert judged(page) == [], level
        page.goto("about:blank")


def test_the_way_to_a_number_and_back_by_keys_alone(browser: Browser, slides_page: Path) -> None:
    with watched(browser, bypass_csp=True) as page:
        go(page, slides_page.as_uri(), "block")
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.localName") == "canvas":
                break
        assert page.evaluate("document.activeElement.matches('main canvas:focus-visible')")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector("article")
        place = place_of(page)
        # Every link and every control can be reached, and none holds the focus.
        seen = set()
        for _ in range(200):
            page.keyboard.press("Tab")
            focused = page.evaluate(
                "(() => { const one = document.activeElement; one.dataset.met ??= String(Math.random());"
                " return [one.localName, one.dataset.met]; })()"
            )
            if focused[1] in seen:
                break
            if focused[0] != "body":  # from the last one the way leads out of the page and in again
                seen.add(focused[1])
        # A group of cells counts once; what a closed drawer or closed details hide does not count.
        focusable = page.evaluate(
            """() => [...document.querySelectorAll("a[href], button, select, summary, [tabindex='0']")].filter(
              (one) => one.checkVisibility({ visibilityProperty: true })).length"""
        )
        assert len(seen) >= min(focusable, 200) - 1
        page.keyboard.press("?")
        page.wait_for_selector("dialog[open]")
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog[open]", state="detached")
        assert place_of(page) == place
        page.keyboard.press("Escape")
        page.wait_for_selector("main[data-level=tensor]")
        page.keyboard.press("Escape")
        page.wait_for_selector("main[data-level=block]")


def test_nothing_moves_where_motion_is_reduced(browser: Browser, slides_page: Path) -> None:
    with watched(browser) as page:
        go(page, slides_page.as_uri(), "block")
        for level in ("tensor", "number", "block"):
            turn(page, f"level={level}&{IN_HAND}", anew=False)
            page.wait_for_selector(f"main[data-level={level}]")
            moving = page.evaluate(
                "document.getAnimations().filter(({effect}) => effect.getComputedTiming().duration > 20).length"
            )
            assert moving == 0


SCRIPTS = {
    "Arabic": ("أحب", "الصيف", "أكثر", "من", "الشتاء"),
    "Hebrew": ("אני", "אוהב", "את", "הקיץ", "מאוד"),
    "Chinese": ("我", "比起", "冬天", "更喜欢", "夏天"),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("script", ["Arabic", pytest.param("Hebrew", marks=pytest.mark.long), "Chinese"])
def test_words_of_any_script_are_drawn_right(browser: Browser, script: str, tmp_path: Path) -> None:
    row = row_named("bert")
    inputs, _ = row.batch(padding="none")
    words = [SCRIPTS[script][place % 5] for place in range(inputs.shape[1])]
    found = trace(row.model(dtype=torch.float32), inputs, words=Words(inputs=[words] * inputs.shape[0]))
    found.to_html(tmp_path / "page.html", title=script)
    drawn = """(() => {
      const { fillText } = CanvasRenderingContext2D.prototype;
      globalThis.drawn = [];
      CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
        globalThis.drawn.push([text, this.direction]);
        return fillText.call(this, text, ...where);
      };
    })()"""
    with watched(browser, bypass_csp=True) as page:
        page.add_init_script(drawn)
        go(page, (tmp_path / "page.html").as_uri(), "block")
        written = page.locator(".sentence .word").first
        assert written.inner_text().strip("\u2068\u2069") == words[0]
        from_the_right = script != "Chinese"
        direction = page.locator(".sentence").first.evaluate("one => getComputedStyle(one).direction")
        assert direction == ("rtl" if from_the_right else "ltr")
        boxes = [page.locator(".sentence .word").nth(place).bounding_box() for place in (0, 1)]
        assert boxes[0] is not None
        assert boxes[1] is not None
        assert (boxes[0]["x"] > boxes[1]["x"]) is from_the_right
        texts = {text for text, direction in page.evaluate("drawn") if direction == "ltr"}
        expected = f"\u2068{words[1]}\u2069" if from_the_right else words[1]
        assert expected in texts
        # "query → key" keeps its order: each word by itself, in a line from the left.
        go(page, (tmp_path / "page.html").as_uri(), "number")
        crumb = page.locator(".crumbs [aria-current]").inner_text()
        assert f"{words[1]}" in crumb
        if from_the_right:
            assert crumb.count("\u2068") == crumb.count("\u2069") >= 2
