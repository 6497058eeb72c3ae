"""How long the page takes to be there, and what it weighs."""

from __future__ import annotations

import gzip
import time
from typing import TYPE_CHECKING, Any

from bench.page.models import Models, Served, text_of
from bench.page.views import VIEWS
from bench.page.window import WAIT, Case, Samples, middle, settle, window
from glassformer.explorer.page import built

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BASE = "BERT-base size"

TIMES = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const asked = performance.getEntriesByType("resource");
  const sent = (entries) => entries.reduce((sum, { transferSize }) => sum + transferSize, 0);
  const data = asked.filter(({ name }) => name.includes("/api/"));
  const page = performance.getEntriesByType("navigation");
  return {
    paint: paint.startTime,
    picture: probe.picture,
    // The run comes with the page: from here on the page knows of it.
    answered: performance.getEntriesByName("opening")[0]?.startTime ?? 0,
    asked: data.length,
    bytes: sent(data) + sent(page),
    whole: sent(asked) + sent(page),
  };
}"""


def bundle(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """The script and the style of the page."""
    together = (built("explorer.js") + built("explorer.css")).encode()
    return [
        Case("minified", len(together), "bytes", 250_000),
        Case("gzipped", len(gzip.compress(together, 9)), "bytes", 80_000),
    ]


def opened(browser: Browser, address: str, place: str = "") -> dict[str, Any]:
    """The times of a page that is opened in a fresh window, from the click to its address."""
    with window(browser) as page:
        page.goto(f"{address}{place}", wait_until="commit")
        page.wait_for_selector(".frame", timeout=WAIT)
        settle(page)
        # The browser tells of a paint once it is on the screen, which may be after the last command.
        page.evaluate(PAINTED)
        times: dict[str, Any] = page.evaluate(TIMES)
        return times


# Waits for a paint; the page's content policy forbids text that is run as a function.
PAINTED = """async () => {
  const painted = () => performance.getEntriesByName("first-contentful-paint").length > 0;
  for (let turn = 0; turn < 500 && !painted(); turn++) await new Promise((resolve) => setTimeout(resolve, 20));
}"""


def first_paint(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """The slides' page: the first words on an empty window, and the first picture."""
    cases = []
    for what, address, goal in (
        ("served", models.serve("slides").address, 300),
        ("from file", models.file("slides").as_uri(), 500),
    ):
        times = [opened(browser, address) for _ in range(samples.runs)]
        cases.append(middle(f"first paint, {what}", [each["paint"] for each in times], goal))
        cases.append(middle(f"first picture, {what}", [each["picture"] for each in times], None))
    return cases


def first_view(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """BERT-base size: from where the page begins to read the run until the first picture; what was sent for it, without
    and with the script and the style, which are the same for every model.
    """
    cases = []
    for words, goal in ((32, 150), (512, 400)):
        served = models.serve(BASE, text_of(words))
        times = [opened(browser, served.address) for _ in range(samples.runs)]
        after = [each["picture"] - each["answered"] for each in times]
        cases.append(middle(f"{words} words: first view after the forward pass", after, goal))
        cases.append(middle(f"{words} words: from the address to the first view", [t["picture"] for t in times], None))
        sent = middle(f"{words} words: sent for it", [each["bytes"] for each in times], 400_000)
        asked = max(each["asked"] for each in times)
        cases.append(Case(sent.what, sent.value, "bytes", sent.goal, {**sent.more, "requests": asked}))
        whole = middle(f"{words} words: sent for it, with script and style", [each["whole"] for each in times], None)
        cases.append(Case(whole.what, whole.value, "bytes", whole.goal, whole.more))
    return cases


def words_handled(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """Every view with texts of 512 words, and the first ones with 2,048: drawn, and how long it took."""
    cases = []
    for words in (512, 2048):
        served = models.serve(BASE, text_of(words))
        for view in VIEWS:
            if words > view.longest:
                continue
            with window(browser) as page:
                began = time.perf_counter()
                there = view.show(page, served)
                took = 1000 * (time.perf_counter() - began)
                what = f"{view.level}, {words} words"
                cases.append(drawn(page, what, took) if there else Case(what, None, more={"why": "no such level yet"}))
    return cases


def drawn(page: Page, what: str, took: float) -> Case:
    """A view that was opened: it shows a picture and no refusal; 1 = it does."""
    wrong = page.locator(".wrong").all_inner_texts()
    pictures = page.locator("main canvas, main svg").count()
    more: dict[str, Any] = {"milliseconds": round(took)}
    if wrong or not pictures:
        more["why"] = wrong[0] if wrong else "no picture"
    return Case(f"{what}: views that are empty", float(bool(wrong) or not pictures), "views", 0, more)


def served_cells(served: Served, count: int) -> list[str]:
    """Addresses of random numbers."""
    return [f"level=number&tensor={name}&cell={cell}" for name, cell in served.cells(count)]
