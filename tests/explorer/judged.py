"""The page judged by axe-core: what of it people cannot read or reach."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make web/node_modules/.installed")
"""For a test that proves nothing without the judge."""

# Without what takes time and is not told: ways to select each element, and files that only media rules look into.
_ASK = """axe.run(document, {
    resultTypes: ["violations"], preload: false, selectors: false, ancestry: false, elementRef: false,
}).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))"""


@cache
def _judge() -> str:
    return AXE.read_text(encoding="utf-8")


def judged(page: Page) -> list[tuple[str, str]]:
    """Rule and element of each violation that axe-core finds; nothing where it is not installed: see `needs_axe`."""
    if not AXE.exists():
        return []
    if not page.evaluate("'axe' in window"):
        page.evaluate(_judge())
    return [(rule, html) for rule, html in page.evaluate(_ASK)]
