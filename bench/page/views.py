"""The views that are measured. A new view is a row here: its name as in `web/src/frame/levels.ts`, and where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.page.models import Served
from bench.page.window import show

if TYPE_CHECKING:
    from playwright.sync_api import Page

UNIT = "encoder.blocks.0"
ATTENTION = f"{UNIT}.self_attention"


@dataclass(frozen=True)
class View:
    """A level of the page and its address; `longest`: texts of so many words are asked of it. `picture` is the canvas
    that is pointed at and walked through: others tell of the cell in hand.
    """

    level: str
    place: str
    longest: int = 512
    picture: str = "main canvas[tabindex]"

    def show(self, page: Page, served: Served) -> bool:
        """Go there; whether this page has it."""
        show(page, served.address, self.place)
        return bool(page.locator("main").get_attribute("data-level") == self.level)


IN_HAND = f"tensor={ATTENTION}.weights&cell=0,1,3,2"
VIEWS = (
    View("model", f"level=model&{IN_HAND}", longest=2048),
    View("heads", f"level=heads&{IN_HAND}", longest=2048),
    View("head", f"level=head&{IN_HAND}", longest=2048, picture=".stage canvas[tabindex]"),
    View("block", f"level=block&unit={UNIT}&{IN_HAND}"),
    View("tensor", f"level=tensor&{IN_HAND}"),
    View("number", f"level=number&{IN_HAND}"),
)
