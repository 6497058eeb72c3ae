"""A window of the browser in which nothing may go wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


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
