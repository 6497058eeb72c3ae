"""Headless Chromium as tests, benches and the README's pictures start it: where it is, and its arguments."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PROGRAMS = ("chromium-headless-shell", "chromium")
"""The first that is installed is taken. The shell is the same engine without the windows, menus and extensions of a
browser, which `chromium --headless` starts too: a page takes a quarter less processor time.
"""
MISSING = f"there is no Chromium: apt-get install {PROGRAMS[0]}"


def path() -> str | None:
    """Where Chromium is; None where it is not installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def chromium(*more: str) -> Iterator[Browser]:
    """Headless Chromium with these arguments too; ends the program where there is none."""
    found = path()
    if found is None:
        raise SystemExit(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=[*ARGUMENTS, *more])
        yield opened
        opened.close()
