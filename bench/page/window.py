"""A window of headless Chromium that can reach this machine alone, and what is timed in it.

A time runs from an input event to the last change that it brought about: the last command to a canvas, or the last
element of the picture that was written.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

ARGUMENTS = (
    # Nothing but this machine has an address.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--js-flags=--expose-gc",
)
SIZE = {"width": 1280, "height": 720}
WAIT = 60_000

PROBE = """
(() => {
  // What follows the picture once the cell in hand rests, and what nobody sees.
  const [DETAILS, FOLDED] = [".details", "details:not([open]) > :not(summary)"];
  const probe = { began: 0, given: 0, picture: 0, aside: 0, rested: 0, pending: 0, painted: 0, late: 0 };
  globalThis.probe = probe;
  const { clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...given) {
    // A picture is painted in one go: the microtask comes when all its commands were issued.
    const kind = this.canvas.closest(DETAILS) === null ? "picture" : "rested";
    if (this.canvas.isConnected) queueMicrotask(() => { probe.painted += 1; probe[kind] = performance.now(); });
    return clearRect.apply(this, given);
  };
  const awaited = (work) => async function (...given) {
    probe.pending += 1;
    try { return await work.apply(this, given); }
    finally { setTimeout(() => { probe.pending -= 1; probe.late = performance.now(); }, 0); }
  };
  globalThis.fetch = awaited(globalThis.fetch);
  // An answer is there when its body is: the numbers of a run have megabytes.
  for (const kind of ["json", "text", "arrayBuffer"]) Response.prototype[kind] = awaited(Response.prototype[kind]);
  // When the input came, and when the browser gave it to the page: a move of the mouse waits for the next frame.
  const begin = (event) => { probe.began = event.timeStamp; probe.given = performance.now(); };
  for (const kind of ["mousemove", "keydown", "click"]) addEventListener(kind, begin, { capture: true });
  const all = { subtree: true, childList: true, characterData: true, characterDataOldValue: true, attributes: true };
  const watch = () => new MutationObserver((changes) => {
    const now = performance.now();
    for (const { target, type, oldValue } of changes) {
      // A text written again is no change.
      if (type === "characterData" && target.data === oldValue) continue;
      const element = target instanceof Element ? target : target.parentElement;
      const within = (kind) => element?.closest(kind) != null;
      if (within(DETAILS) || within(FOLDED)) probe.rested = now;
      else if (within("main")) probe.picture = now;
      else if (within("aside")) probe.aside = now;
    }
  }).observe(document, all);
  watch();
  // Resolves when nothing has changed for a while and nothing is asked for.
  probe.settled = (quiet = 40) => new Promise((resolve) => {
    const look = () => {
      const last = Math.max(probe.picture, probe.aside, probe.rested, probe.late, probe.began);
      if (probe.pending === 0 && performance.now() - last > quiet) resolve(probe);
      else setTimeout(look, 10);
    };
    requestAnimationFrame(look);
  });
  probe.sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));
  probe.random = (seed) => () => (seed = (seed * 48271) % 2147483647) / 2147483647;
})();
"""

# A mark of the page: all chunks of its script are here. Until then a click may wait for one.
AHEAD = "chunks"

# Waits until a time is reported; the page's content policy forbids text that is run as a function.
REPORTED = """async (name) => {
  const reported = () => performance.getEntriesByName(name).length > 0;
  for (let turn = 0; turn < 500 && !reported(); turn++) await new Promise((resolve) => setTimeout(resolve, 20));
}"""


@dataclass(frozen=True)
class Samples:
    """How often things are done: runs of what is opened, moves of the mouse, keys, clicks; pages at once and for how
    long; what a person does in an hour, one thing a second, in so many parts.
    """

    runs: int = 5
    moves: int = 60
    keys: int = 60
    clicks: int = 60
    pages: int = 50
    seconds: int = 15
    interactions: int = 3600
    parts: int = 12

    @staticmethod
    def trial() -> Samples:
        """A few of each."""
        return Samples(runs=1, moves=4, keys=4, clicks=6, pages=4, seconds=4, interactions=80, parts=4)


@dataclass(frozen=True)
class Case:
    """One measured thing: its number, what it should be at most, and what else is worth knowing."""

    what: str
    value: float | None
    unit: str = "ms"
    goal: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """As JSON; `reached` is None where nothing was measured or asked for."""
        reached = None if self.value is None or self.goal is None else self.value <= self.goal
        value = None if self.value is None else round(self.value, 3)
        return {
            "what": self.what,
            "value": value,
            "unit": self.unit,
            "goal": self.goal,
            "reached": reached,
            **self.more,
        }


def p95(values: Sequence[float]) -> float:
    """The value that one in twenty exceeds."""
    ordered = sorted(values)
    return ordered[min(int(0.95 * len(ordered)), len(ordered) - 1)]


def late(what: str, values: Sequence[float], goal: float | None, **more: Any) -> Case:
    """A case of many samples: their 95th percentile, with the median as well."""
    if not values:
        return Case(what, None, goal=goal, more={"why": "nothing could be measured", **more})
    summary = {"samples": len(values), "median": round(statistics.median(values), 3), "largest": round(max(values), 3)}
    return Case(what, p95(values), goal=goal, more={**summary, **more})


def middle(what: str, values: Sequence[float], goal: float | None, **more: Any) -> Case:
    """A case of a few runs: their median."""
    return Case(what, statistics.median(values), goal=goal, more={"runs": [round(each, 1) for each in values], **more})


@contextmanager
def window(browser: Browser) -> Iterator[Page]:
    """A fresh window, without anything that another one has kept. An error in its page ends the measuring: a page that
    has stopped drawing is quick.
    """
    context: BrowserContext = browser.new_context(viewport=SIZE)
    context.add_init_script(PROBE)
    wrong: list[str] = []
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    try:
        yield context.new_page()
    finally:
        context.close()
    if wrong:
        raise SystemExit(f"an error in the page, which is measured no further: {wrong[0]}")


def show(page: Page, address: str, place: str = "") -> None:
    """Open the page at a place and wait until it is drawn, and has nothing left to fetch."""
    page.goto("about:blank")
    page.goto(f"{address}#{place}", wait_until="commit")
    page.wait_for_selector(".frame", timeout=WAIT)
    page.evaluate(REPORTED, AHEAD)
    settle(page)


def settle(page: Page) -> dict[str, float]:
    """Wait until nothing changes any more; when the last input began, and when the last picture was finished."""
    found: dict[str, float] = page.evaluate(
        "probe.settled().then(({ began, given, picture, aside }) => ({ began, given, picture, aside }))"
    )
    return found
