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
MISSING = "there is no Chromium: apt-get install chromium"
SHELL = "chromium-headless-shell"
"""The same engine without the windows, menus and extensions of a browser, which `chromium --headless` starts too: tests
take a fifth less processor time with it. Benches and pictures are of the browser that people have.
"""


def path(*, shell: bool = False) -> str | None:
    """Where Chromium is, or its `shell` where that is installed; None where neither is."""
    return (shutil.which(SHELL) if shell else None) or shutil.which("chromium")


@contextmanager
def chromium(*more: str, shell: bool = False) -> Iterator[Browser]:
    """Headless Chromium with these arguments too, or its `shell`; ends the program where there is none."""
    found = path(shell=shell)
    if found is None:
        raise SystemExit(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=[*ARGUMENTS, *more])
        yield opened
        opened.close()
