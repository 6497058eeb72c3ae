"""The page judged by axe-core: what of it people cannot read or reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.together import try_each
from tests.page.watched import turn, until

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make web/node_modules/.installed")
"""For a test that proves nothing without the judge."""

# Without what takes time and is not reported: ways to select each element, and files that only media rules look into.
_ASK = """([within, only]) => axe.run(within ?? document, {
    resultTypes: ["violations"], preload: false, selectors: false, ancestry: false, elementRef: false,
    ...(only === null ? {} : { runOnly: only }),
}).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))"""
COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules whose judgement depends on the theme."""
SIZES = ["scrollable-region-focusable"]
"""The rules whose judgement depends on the width of the window."""


@cache
def _judge() -> str:
    return AXE.read_text(encoding="utf-8")


def judged(page: Page, *, within: str | None = None, rules: list[str] | None = None) -> list[tuple[str, str]]:
    """Rule and element of each violation that axe-core finds, on the page or within an element of it, of all rules or
    of these; nothing where it is not installed: see `needs_axe`.
    """
    if not AXE.exists():
        return []
    if not page.evaluate("'axe' in window"):
        page.evaluate(_judge())
    return [(rule, html) for rule, html in page.evaluate(_ASK, [within, rules])]


# Each kind of element by its name and its attributes that decide how it looks and what it is, within its parent.
_KINDS = """() => {
  const kind = (one) => ["class", "style", "role"].map((name) => one.getAttribute(name)).join(" ");
  const described = (one) => [one.localName, kind(one), ...one.getAttributeNames()].join(" ");
  const all = [...document.querySelectorAll("body *")];
  return [...new Set(all.map((one) => `${described(one.parentElement)} > ${described(one)}`))];
}"""


def kinds_on(page: Page) -> set[str]:
    """The kinds of elements on a page: two places with the same ones differ by their words and numbers alone."""
    return set(page.evaluate(_KINDS))


THEMES = ("light", "dark", "contrast")
WIDE: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 390, "height": 844}


def judge_places(
    page: Page, places: Iterable[str], drawn: str, also: Callable[[Page], None] = lambda _: None, *, long: bool = False
) -> None:
    """Lead an open page to each place: in a wide window in each theme, where axe-core finds nothing, and then on a
    phone, where the page is as wide as the window.

    Elements and their sizes are the same in each theme, and colours at each width. So in the themes after the first a
    place is judged by the rules of colours alone, if it has elements of a kind that no place before had; and on the
    phone by the rules of sizes. All of them everywhere is a long proof. `drawn` selects what stands there once the
    place is drawn; `also` is tried at each place and width.
    """

    def judge(at: tuple[str, str, list[str] | None, ViewportSize]) -> None:
        place, theme, rules, size = at
        anew = rules != COLOURS
        if not anew and not fresh.get(place, {place}) and not long:
            return
        if page.viewport_size != size:
            page.set_viewport_size(size)
        turn(page, f"{place}&theme={theme}", anew=anew)
        page.locator(drawn).first.wait_for()
        until(page, "theme => document.documentElement.dataset.theme === theme", theme)
        assert judged(page, rules=None if long else rules) == []
        if anew:
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            also(page)
            fresh[place] = kinds_on(page) - seen
            seen.update(fresh[place])

    seen, fresh = set[str](), dict[str, set[str]]()
    tried: list[tuple[str, str, list[str] | None, ViewportSize]] = []
    named = list(places)
    for size, first, themes in ((WIDE, None, THEMES), (PHONE, SIZES, THEMES if long else THEMES[1:2])):
        rules = [first, *[COLOURS] * (len(themes) - 1)]
        tried += [(place, *each, size) for place in named for each in zip(themes, rules, strict=True)]
    try_each(tried, judge, name=lambda at: f"{at[0]} in {at[1]}{', on a phone' * (at[3] is PHONE)}")


long_too = pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.long)], ids=["", "long"])
"""For a test that has `judge_places` judge: all rules in each theme at each width as a long proof."""
