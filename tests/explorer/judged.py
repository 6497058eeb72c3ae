"""The page judged by axe-core: what of it people cannot read or reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.explorer.together import try_each
from tests.explorer.watched import turn, until

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make web/node_modules/.installed")
"""For a test that proves nothing without the judge."""

# Without what takes time and is not told: ways to select each element, and files that only media rules look into.
_ASK = """only => axe.run(document, {
    resultTypes: ["violations"], preload: false, selectors: false, ancestry: false, elementRef: false,
    ...(only === null ? {} : { runOnly: only }),
}).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))"""
COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules whose judgement depends on the theme."""


@cache
def _judge() -> str:
    return AXE.read_text(encoding="utf-8")


def judged(page: Page, *, rules: list[str] | None = None) -> list[tuple[str, str]]:
    """Rule and element of each violation that axe-core finds, of all rules or of these; nothing where it is not
    installed: see `needs_axe`.
    """
    if not AXE.exists():
        return []
    if not page.evaluate("'axe' in window"):
        page.evaluate(_judge())
    return [(rule, html) for rule, html in page.evaluate(_ASK, rules)]


def judge_places(
    page: Page, places: Iterable[str], themes: Sequence[str], drawn: str, also: Callable[[Page], None] | None = None
) -> None:
    """Lead an open page to each place in each theme: it is as wide as the window at most, and axe-core finds nothing.

    Elements and their sizes are the same in each theme: in the themes after the first they are judged by their colours
    alone. `drawn` selects what stands there once the place is drawn; `also` is tried at each place.
    """

    def judge(at: tuple[str, str]) -> None:
        place, theme = at
        first = theme == themes[0]
        turn(page, f"{place}&theme={theme}", anew=first)
        page.locator(drawn).first.wait_for(timeout=30_000)
        until(page, "theme => document.documentElement.dataset.theme === theme", theme)
        assert judged(page, rules=None if first else COLOURS) == []
        if first:
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            if also is not None:
                also(page)

    try_each([(place, theme) for place in places for theme in themes], judge, name=" in ".join)
