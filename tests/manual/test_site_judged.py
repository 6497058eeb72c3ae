"""The built site judged by axe-core, and each page's size: people can read and reach what is on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from experiments.chromium import MISSING, chromium, path
from manual.build import build
from manual.links import live
from tests.page.judged import COLOURS, judged, kinds_on, needs_axe

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("zensical")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    if path(shell=True) is None:
        pytest.skip(MISSING)
    with chromium(shell=True) as opened:
        yield opened


def wrong(browser: Browser, site: Path, places: list[str]) -> list[tuple[str, str, str]]:
    """Page, rule and element of each violation. In the dark scheme only colours differ: a page is judged there if it
    has elements of a kind that no page before had. Live pages are judged by tests/page.
    """
    found, known = [], set[str]()
    for scheme in ("light", "dark"):
        with browser.new_context(color_scheme=scheme, offline=True) as context:
            context.route("**/live/**", lambda route: route.fulfill(body="<!doctype html><title>live</title>"))
            page = context.new_page()
            for place in places:
                page.goto((site / place).resolve().as_uri())
                rules = None if scheme == "light" else COLOURS
                if rules and (kinds := kinds_on(page)) <= known:
                    continue
                known |= kinds if rules else set()
                found += [(f"{place}, {scheme}", *each) for each in judged(page, rules=rules)]
    return found


@pytest.mark.long
@needs_axe
def test_each_page_can_be_read_and_reached(browser: Browser) -> None:
    """Without 404.html, whose addresses begin at the root of a host. Building refuses a page of more than 500 kB."""
    site = build(live=False)
    pages = [each for each in sorted(site.rglob("*.html")) if not live(each) and each.name != "404.html"]
    assert len(pages) > 100
    assert wrong(browser, site, [each.relative_to(site).as_posix() for each in pages]) == []
