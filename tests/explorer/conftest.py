"""A real browser, where there is one, and pages of real models for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from experiments.chromium import MISSING, chromium, path

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium; skips where it or its driver is not installed."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    if path() is None:
        pytest.skip(MISSING)
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    """A window in which nothing may go wrong; the judge's script needs the page's policy set aside."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True, bypass_csp=True)
    tab = context.new_page()
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    yield tab
    context.close()
    assert wrong == []
