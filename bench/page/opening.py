"""How long the page takes to be there, and what it weighs."""

from __future__ import annotations

import gzip
import time
from typing import TYPE_CHECKING, Any

from bench.page.models import Models, Served, text_of
from bench.page.views import VIEWS
from bench.page.window import AHEAD, REPORTED, WAIT, Case, Samples, middle, settle, window
from glassformer.page.page import script_files, script_of_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BASE = "BERT-base size"

TIMES = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const asked = performance.getEntriesByType("resource");
  const sent = (entries) => entries.reduce((sum, { transferSize }) => sum + transferSize, 0);
  const data = asked.filter(({ name }) => name.includes("/api/"));
  const page = performance.getEntriesByType("navigation");
  const drawn = performance.getEntriesByName("drawn")[0]?.startTime ?? 0;
  // Chunks that are fetched ahead come after the first picture.
  const ahead = asked.filter(({ name, startTime }) => name.includes("/script/") && startTime > drawn);
  const first = asked.filter((entry) => !ahead.includes(entry));
  return {
    paint: paint.startTime,
    // The run comes with the page: from here on the page knows of it.
    answered: performance.getEntriesByName("opening")[0]?.startTime ?? 0,
    asked: data.length,
    bytes: sent(data) + sent(page),
    script: sent(first.filter((entry) => !data.includes(entry))),
    ahead: sent(ahead),
    whole: sent(first) + sent(page),
  };
}"""


def bundle(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """Script and style: what a served page begins with, the chunks that it fetches later, an exported page's whole."""
    scripts = script_files()
    begins = ["core.js", "core.css", *(name for name in scripts if name.startswith("live-"))]
    cases = [
        *weighed("a served page begins with", "".join(map(scripts.pop, begins)), (250_000, 80_000)),
        *weighed("all of it, in an exported page", "".join(script_of_page().values())),
        *weighed("style of the chunks", scripts.pop("chunks.css")),
    ]
    # Letters after a name change with the contents of the file; what several chunks need has no other name.
    chunks: dict[str, str] = {}
    for name, script in scripts.items():
        chunk = name.rpartition("-")[0]
        chunks[chunk] = chunks.get(chunk, "") + script
    for chunk, script in sorted(chunks.items()):
        cases += weighed("chunks, what several need" if chunk == "chunk" else f"chunk {chunk}", script)
    return cases


def weighed(what: str, text: str, goals: tuple[float | None, float | None] = (None, None)) -> list[Case]:
    """Its bytes, and those with gzip."""
    sizes = (len(text.encode()), len(gzip.compress(text.encode(), 9)))
    return [
        Case(f"{what}: {kind}", size, "bytes", goal)
        for kind, size, goal in zip(("minified", "gzipped"), sizes, goals, strict=True)
    ]


def opened(browser: Browser, address: str, place: str = "") -> dict[str, Any]:
    """The times of a page that is opened in a fresh window, from the click to its address."""
    with window(browser) as page:
        page.goto(f"{address}{place}", wait_until="commit")
        page.wait_for_selector(".frame", timeout=WAIT)
        picture = settle(page)["picture"]
        # The browser reports a paint once it is on the screen, which may be after the last command.
        page.evaluate(REPORTED, "first-contentful-paint")
        page.evaluate(REPORTED, AHEAD)
        times: dict[str, Any] = page.evaluate(TIMES)
        return {**times, "picture": picture}


def first_paint(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """The slides' page: the first words on an empty window, which of a served page are its head, and the first picture,
    which is held to the same goal.
    """
    cases = []
    for what, address, goal in (
        ("served", models.serve("slides").address, 300),
        ("from file", models.file("slides").as_uri(), 500),
    ):
        times = [opened(browser, address) for _ in range(samples.runs)]
        cases.append(middle(f"first paint, {what}", [each["paint"] for each in times], goal))
        cases.append(middle(f"first picture, {what}", [each["picture"] for each in times], goal))
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
        for what, key in (
            ("script and style before it", "script"),
            ("sent for it, with script and style", "whole"),
            ("script that is fetched ahead once it stands", "ahead"),
        ):
            found = middle(f"{words} words: {what}", [each[key] for each in times], None)
            cases.append(Case(found.what, found.value, "bytes", found.goal, found.more))
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
