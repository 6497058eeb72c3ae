"""How long a search takes to be drawn, and a node of it to be opened as a run."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.page.models import Models
from bench.page.window import Case, Samples, late, middle, settle, show, window

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXT = "Two young men are playing the guitar in front of a big crowd on the street."
"""Its search with 5 beams has 20 steps."""

OPEN = """async () => {
  const began = performance.now();
  location.hash = "level=tree";
  while (document.querySelector('.tree-scroll canvas') === null) await probe.sleep(1);
  const { picture } = await probe.settled();
  return picture - began;
}"""
NODE = """async () => {
  const began = performance.now();
  document.querySelector(".opens").click();
  while (document.querySelector(".candidates a") === null) await probe.sleep(1);
  const { picture } = await probe.settled();
  return picture - began;
}"""


def search(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """A beam of 5 over 20 steps: the tree of a page that carries it, that of a live page with the search itself, and
    random nodes opened as runs.
    """
    address = models.serve("en-fr", TEXT).address
    carried, live, nodes = [], [], list[float]()
    steps: dict[str, Any] = {}
    for _ in range(samples.runs):
        with window(browser) as page:
            show(page, searched(models).as_uri(), "level=model")
            carried.append(page.evaluate(OPEN))
            steps = {"nodes": page.locator("tr[data-node]").count()}
        with window(browser) as page:
            show(page, address, "level=model")
            live.append(page.evaluate(OPEN))
    rng = random.Random(5)
    with window(browser) as page:
        show(page, address, "level=tree")
        for _ in range(max(4, samples.clicks // 6)):
            nodes.append(opened(page, address, rng.randrange(steps["nodes"])))
    return [
        middle("beam of 5, 20 steps: the tree of a page that carries it", carried, 200, **steps),
        middle("beam of 5, 20 steps: the tree of a live page, searched for the first time", live[:1], None),
        middle("beam of 5, 20 steps: the same search again", live[1:] or live, 200),
        late("a node of it opened as a run", nodes, 500),
    ]


def opened(page: Page, address: str, node: int) -> float:
    """Milliseconds from the click to the run of a node, word by word; each in a run of its own."""
    show(page, address, f"level=tree&at={node}")
    page.wait_for_selector(".opens")
    settle(page)
    found: float = page.evaluate(NODE)
    return found


def searched(models: Models) -> Path:
    """A page that carries the search."""
    place = models.folder / "searched.html"
    if not place.exists():
        from glassformer.api.load import load

        model = load("en-fr")
        model.trace(TEXT).to_html(place, searches=[model.search_tree(TEXT, beams=5)])
    return place
