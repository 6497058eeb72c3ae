"""A window of the browser in which nothing may go wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LOOKS = [
    pytest.param("light", 1280, 720),
    pytest.param("dark", 390, 844),
    pytest.param("contrast", 390, 844),
    pytest.param("light", 390, 844, marks=pytest.mark.long),
    pytest.param("dark", 1280, 720, marks=pytest.mark.long),
    pytest.param("contrast", 1280, 720, marks=pytest.mark.long),
]
"""Theme, width and height of a window: each theme and each width with every change, all pairs as a long proof."""


def until(page: Page, expression: str | Callable[[], object], given: object = None, *, timeout: float = 60_000) -> None:
    """Ask until the expression of the page, or the function of ours, holds; after `timeout` milliseconds it fails.

    Playwright's own `wait_for_function` evaluates its text again inside the page when the first answer is no, and the
    page's content policy forbids that: whether such a test passed was a matter of speed.
    """
    end = time.monotonic() + timeout / 1000
    while not (page.evaluate(expression, given) if isinstance(expression, str) else expression()):
        assert time.monotonic() < end, f"not true after {timeout / 1000:.0f} s: {expression}"
        page.wait_for_timeout(10)


def at_rest(page: Page) -> None:
    """Wait for what follows an input in the next tasks: the address is told to the browser one task after the picture,
    and what stands beside the picture is drawn one task after it. What is fetched or computed is no part of this.
    """
    page.evaluate("new Promise((done) => setTimeout(() => setTimeout(() => setTimeout(done))))")


def place_of(page: Page) -> str:
    """The part of the address that says what is shown, once it is written."""
    at_rest(page)
    return str(page.evaluate("location.hash"))


@contextmanager
def watched(browser: Browser, *, height: int = 720, **options: Any) -> Iterator[Page]:
    """A window 1280 wide; errors and warnings of its page fail the test that closes it."""
    context = browser.new_context(viewport={"width": 1280, "height": height}, **options)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    yield page
    context.close()
    assert not wrong, "\n".join(wrong)
