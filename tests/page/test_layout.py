"""Where things stand on the page: flows, titles, the columns at both sides, and what moves between levels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.page.serving import ATTENTION
from tests.page.test_everywhere import LEVELS, SCENES
from tests.page.together import try_each
from tests.page.watched import WAIT, at_rest, click, turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WEIGHTS = f"{ATTENTION}.weights"
NUMBER = f"level=number&tensor={WEIGHTS}&cell=0,1,1,0"
TEXT_SIZE = 11
LONGEST_MOVE = 250

# Keeps what each canvas was made to draw: lines with their paths, and the rectangles of cells.
_DRAWN = """(() => {
  const drawn = new Map();
  const of = ({ canvas }) => drawn.get(canvas) ?? drawn.set(canvas, { flows: [], cells: [] }).get(canvas);
  const own = CanvasRenderingContext2D.prototype;
  const { clearRect, stroke, fillRect, drawImage } = own;
  const Path = Path2D;
  globalThis.Path2D = class extends Path { constructor(d) { super(d); this.d = d; } };
  own.clearRect = function (...given) { drawn.delete(this.canvas); return clearRect.apply(this, given); };
  own.stroke = function (path) {
    if (this.lineWidth === 1.5) of(this).flows.push(path.d);
    return stroke.call(this, path);
  };
  own.fillRect = function (x, y, w, h) { of(this).cells.push([x, y, w, h]); return fillRect.call(this, x, y, w, h); };
  own.drawImage = function (...given) {
    of(this).cells.push(given.slice(5));
    return drawImage.apply(this, given);
  };
  globalThis.drawnOn = (canvas) => drawn.get(canvas);
})()"""

# Each flow of the picture that enters a cell, and how many flows and cells there are.
_CROSSED = """() => {
  const { flows, cells } = drawnOn(document.querySelector("main canvas"));
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const crossed = flows.filter((d) => {
    line.setAttribute("d", d);
    const long = line.getTotalLength();
    return Array.from({ length: Math.ceil(long / 2) + 1 }, (_, at) => line.getPointAtLength(at * 2)).some(({ x, y }) =>
      cells.some(([left, top, w, h]) => x > left && x < left + w && y > top && y < top + h));
  });
  return { crossed, flows: flows.length, cells: cells.length };
}"""


@pytest.fixture(scope="module")
def shown(browser: Browser, demo_page: Path) -> Iterator[Page]:
    """The page of the slides' model, opened once."""
    with watched(browser, offline=True, bypass_csp=True) as page:
        page.add_init_script(_DRAWN)
        page.goto(f"{demo_page.as_uri()}#level=block")
        page.wait_for_selector("main canvas")
        yield page


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_no_flow_goes_through_a_picture(shown: Page, width: int) -> None:
    shown.set_viewport_size({"width": width, "height": 900})
    turn(shown, "level=block")
    until(shown, "drawnOn(document.querySelector('main canvas'))?.flows.length > 0")
    found = shown.evaluate(_CROSSED)
    assert found["crossed"] == []
    # Each of some twenty tensors has a flow with its head, and cells.
    assert found["flows"] > 40
    assert found["cells"] > 500


_TITLES = """async (addresses) => {
  const next = () => new Promise((done) => setTimeout(done));
  const found = {};
  for (const address of addresses) {
    location.hash = address;
    const end = performance.now() + WAIT;
    const level = new URLSearchParams(address).get("level");
    const there = () => document.querySelector("main").dataset.level === level;
    let title = null;
    for (let turns = 0; performance.now() < end && (turns < 4 || title === null || !there()); turns++) {
      await next();
      title = document.querySelector("main h1:not(.away), main .answer");
    }
    const small = [...document.querySelectorAll("body *")].filter((one) =>
      one.getClientRects().length > 0 && one.closest(".away") === null &&
      [...one.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim() !== "") &&
      Number.parseFloat(getComputedStyle(one).fontSize) < LEAST);
    found[address] = {
      size: title === null ? null : Number.parseFloat(getComputedStyle(title).fontSize),
      beyond: document.documentElement.scrollWidth - innerWidth,
      small: small.map((one) => one.outerHTML.slice(0, 80)),
    };
  }
  return found;
}"""


@pytest.mark.long
@pytest.mark.parametrize(("width", "size"), [(1280, 28), (390, 18)])
def test_titles_of_levels_and_scenes_have_one_size(shown: Page, width: int, size: int) -> None:
    shown.set_viewport_size({"width": width, "height": 844})
    # The page hears of the size in the frame before this one; a picture drawn sooner has the width of before.
    shown.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    held = f"&tensor={WEIGHTS}&cell=0,1,1,0"
    # The title of the boxes is the text itself.
    places = [f"level={level}{held}" for level in LEVELS if level not in ("scene", "block")]
    places += [f"level=scene&scene={scene}{held}" for scene in SCENES[::6]]
    found: dict[str, dict[str, Any]] = shown.evaluate(
        _TITLES.replace("LEAST", str(TEXT_SIZE)).replace("WAIT", str(WAIT)), places
    )
    assert {place: each["size"] for place, each in found.items()} == dict.fromkeys(places, size)
    assert {place: each["small"] for place, each in found.items() if each["small"]} == {}
    assert {place: each["beyond"] for place, each in found.items() if each["beyond"] > 0} == {}


def test_the_words_that_heads_tie_fit_on_a_phone(shown: Page) -> None:
    cut = """(([table]) => [table.scrollWidth - table.clientWidth, table.querySelectorAll("td a").length])(
      document.querySelectorAll("main .scroll.ties"))"""
    linked = []
    for width, words in ((390, "1,4,0"), (390, "1,4,0,3"), (1280, "1,4,0,3")):
        shown.set_viewport_size({"width": width, "height": 844})
        turn(shown, f"level=ties&sentence=0&at={words}")
        until(shown, "document.querySelector('main .scroll.ties') !== null")
        until(shown, f"document.querySelector('main .scroll.ties.turned') {'!==' if width < 560 else '==='} null")
        beyond, links = shown.evaluate(cut)
        assert beyond <= 0, (width, words)
        linked.append(links)
    assert linked[1] == linked[2] > linked[0]  # the same numbers, as rows or as columns


def test_the_column_at_the_right_is_there_only_with_numbers_in_it(shown: Page) -> None:
    shown.set_viewport_size({"width": 1280, "height": 720})

    def room(place: str) -> None:
        turn(shown, f"level={place}")
        wide = place in ("rollout", "gradients", "pictures", "training", "tree", "mask")
        right = "Math.round(innerWidth - document.querySelector('main').getBoundingClientRect().right)"
        until(shown, f"expected => {right} === expected", 0 if wide else 248)

    held = f"&tensor={WEIGHTS}&cell=0,1,1,0"
    few = ("rollout", "gradients", "pictures", "training", "tree", "mask")
    try_each([*few, "model", "heads", "lens", f"block{held}", f"head{held}", f"tensor{held}", f"number{held}"], room)


def folded(page: Page) -> list[str]:
    """The groups of the rail that are folded."""
    return list(page.locator(".rail details.group:not([open]):not([hidden]) > summary").all_inner_texts())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("stored", [True, False])
def test_the_rail_folds_by_keys_and_stays_so(browser: Browser, demo_page: Path, stored: bool) -> None:
    with watched(browser, offline=True) as page:
        if not stored:
            page.add_init_script(
                "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })"
            )
        page.goto(f"{demo_page.as_uri()}#{NUMBER}")
        page.wait_for_selector(".frame")
        before = folded(page)
        page.locator(".rail summary", has_text="Looked at").focus()
        page.keyboard.press("Enter")
        until(page, lambda: set(folded(page)) == {*before, "Looked at"})
        if stored:  # The browser folds at once and reports it one task later.
            until(page, "localStorage.getItem('glassformer folded Looked at') === 'yes'")
        page.reload()
        page.wait_for_selector(".frame")
        assert ("Looked at" in folded(page)) == stored
        page.locator(".rail summary", has_text="Looked at").focus()
        page.keyboard.press(" ")
        until(page, lambda: ("Looked at" in folded(page)) != stored)


# Keeps what was set to move, how long, and the letters of what lay over the page. The clock of the page stands still:
# a number that comes late does not fly, and on a busy machine all come late.
_MOVED = """(() => {
  performance.now = () => 0;
  globalThis.moved = [];
  const { animate } = Element.prototype;
  Element.prototype.animate = function (frames, options) {
    const letters = this.matches(".ghost") ? this.textContent : null;
    moved.push({ what: this.localName, long: options.duration, letters });
    return animate.call(this, frames, options);
  };
})()"""


@pytest.mark.long
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_levels_zoom_and_a_number_flies(browser: Browser, demo_page: Path, motion: str) -> None:
    moves = motion != "reduce"

    def moved(page: Page) -> tuple[set[str], list[str]]:
        """What has moved since the last look, and the numbers that have flown."""
        found = page.evaluate("new Promise((done) => setTimeout(() => done(moved.splice(0)), 50))")
        assert all(0 < each["long"] <= LONGEST_MOVE for each in found)
        return {each["what"] for each in found}, [each["letters"] for each in found if each["letters"] is not None]

    with watched(browser, offline=True, bypass_csp=True, reduced_motion=motion, idles=True) as page:
        page.add_init_script(_MOVED)
        page.goto(f"{demo_page.as_uri()}#level=tensor&tensor={WEIGHTS}&cell=0,1,1,0")
        page.wait_for_selector("main canvas")
        until(page, "performance.getEntriesByName('chunks').length > 0")
        at_rest(page)
        page.locator("main canvas").last.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("article h1")
        if moves:
            until(page, "moved.some(({ letters }) => letters !== null)")
        value = page.locator("article h1").inner_text()
        assert moved(page) == (({"main", "div", "h1"}, [value]) if moves else (set(), []))
        # Its operand: no level is left, so that the number alone moves.
        operand = page.locator("main .twin a[data-operand]").first
        page.locator("main .twin").evaluate_all("all => all.forEach(one => { one.open = true })")
        followed = operand.inner_text()
        click(operand)
        until(page, f"document.querySelector('article h1').textContent === {followed!r}")
        if moves:
            until(page, "moved.some(({ letters }) => letters !== null)")
        assert moved(page) == (({"div", "h1"}, [followed]) if moves else (set(), []))
        page.keyboard.press("Escape")
        until(page, "document.querySelector('main').dataset.level === 'tensor'")
        if moves:
            until(page, "moved.some(({ what }) => what === 'main')")
        assert moved(page) == ({"main", "div"} if moves else set(), [])
        # Nothing of the movement is left on the page.
        until(page, "document.querySelector('.ghost') === null && document.getAnimations().length === 0")
        assert page.evaluate("getComputedStyle(document.querySelector('main')).transform") == "none"
