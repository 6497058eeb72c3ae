"""A window of the browser in which nothing may go wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

WAIT = 120_000
"""Milliseconds after which any waiting fails: a machine may be busy with much else."""


# Looks every 10 ms by the date: a test may have stopped the other clock of the page. What is read of an element that is
# not drawn at this moment is not yet true.
_UNTIL = """async ([given, wait]) => {
  const holds = () => {
    try {
      const found = (EXPRESSION);
      return Boolean(typeof found === "function" ? found(given) : found);
    } catch (error) {
      if (error instanceof TypeError && error.message.includes("of null")) return false;
      throw error;
    }
  };
  const end = Date.now() + wait;
  while (!holds()) {
    if (Date.now() > end) return false;
    await new Promise((done) => setTimeout(done, 10));
  }
  return true;
}"""


def until(page: Page, expression: str | Callable[[], object], given: object = None) -> None:
    """Ask until the expression of the page, or the function of ours, holds.

    Playwright's own `wait_for_function` evaluates its text again inside the page when the first answer is no, and the
    page's content policy forbids that: whether such a test passed was a matter of speed. Here the page compiles the
    expression once, and asks itself: each question from here would cost several processes a message.
    """
    end = time.monotonic() + WAIT / 1000
    if isinstance(expression, str):
        assert _holds(page, expression, given, end), f"not true after {WAIT // 1000} s: {expression}"
        return
    while not expression():
        assert time.monotonic() < end, f"not true after {WAIT // 1000} s: {expression}"
        page.wait_for_timeout(10)


def _holds(page: Page, expression: str, given: object, end: float) -> bool:
    """Whether it comes to hold, asked again on the page that follows where this one is left."""
    from playwright.sync_api import Error

    asked = _UNTIL.replace("EXPRESSION", expression)
    while True:
        try:
            return bool(page.evaluate(asked, [given, max(0.0, end - time.monotonic()) * 1000]))
        except Error as error:
            if "context was destroyed" not in error.message or time.monotonic() > end:
                raise


def at_rest(page: Page) -> None:
    """Wait for what follows an input in the next tasks: the address is given to the browser one task after the picture,
    and what is next to the picture is drawn one task after it. What is fetched or computed is no part of this.
    """
    page.evaluate("new Promise((done) => setTimeout(() => setTimeout(() => setTimeout(done))))")


def place_of(page: Page) -> str:
    """The part of the address that says what is shown, once it is written."""
    at_rest(page)
    return str(page.evaluate("location.hash"))


# Of another level nothing is left to be taken for the next place. Within a level the way leads over a picture that does
# not exist, of which the page says so in a line.
_NOWHERE = "level=scene&scene=nowhere"
_TURN = """async ([nowhere, address, anew]) => {
  const next = (later) => new Promise((done) => later(done));
  const rest = async () => { for (let times = 0; times < 3; times++) await next(setTimeout); };
  await rest();  // what came before may still write its address
  const level = new URLSearchParams(address).get("level");
  const here = level === null || level === document.querySelector("main")?.dataset.level;
  for (const place of anew && here ? [nowhere, address] : [address]) {
    if (location.hash === `#${place}`) continue;
    const changed = new Promise((done) => addEventListener("hashchange", done, { once: true }));
    location.hash = place;
    await changed;
    await next(setTimeout);
  }
  await rest();
}"""


def turn(page: Page, address: str, *, anew: bool = True) -> None:
    """Lead an open page to another of its places, drawn anew or from what is there, and wait for what is drawn without
    being fetched.
    """
    page.evaluate(_TURN, [_NOWHERE, address, anew])


def reach(page: Page, file: Path, address: str) -> None:
    """Show a place of a page, which is opened where another one is open.

    To open a page takes ten times as long as to turn to a place of it: a test opens it anew (`show`) only if it is
    about that, or if the test before leaves what no address has, such as a dialog.
    """
    if page.url.partition("#")[0] == file.as_uri():
        turn(page, address)
    else:
        page.goto(f"{file.as_uri()}#{address}")
        page.wait_for_selector(".frame")


def click(link: Locator) -> None:
    """Click without a mouse, which Playwright moves there first: that takes ten times as long, and most tests are not
    about whether something lies above the link.
    """
    link.evaluate("link => link.click()")


# The numbers wait for an idle moment, 200 ms at most (`idle` in web/src/run/store.ts): here it never comes.
_NEVER_CHECKED = """
const ask = requestIdleCallback;
globalThis.requestIdleCallback = (done, options) => (options?.timeout === 200 ? 0 : ask(done, options));
"""


@contextmanager
def watched(
    browser: Browser, *, width: int = 1280, height: int = 720, fails: bool = False, idles: bool = False, **options: Any
) -> Iterator[Page]:
    """A window of this size; errors of its page fail the test that closes it, and warnings of the browser too unless a
    request `fails` in the test. Nothing moves in it unless `reduced_motion` says otherwise: a test that reads places
    would have to wait. Only where it `idles` the page works thousands of its numbers out again while nothing else is to
    be done: for each opened page that costs as much as its first view.
    """
    context = browser.new_context(
        **{"viewport": {"width": width, "height": height}, "reduced_motion": "reduce", **options}
    )
    if not idles:
        context.add_init_script(_NEVER_CHECKED)
    context.set_default_timeout(WAIT)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    if not fails:
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    yield page
    context.close()
    assert not wrong, "\n".join(wrong)
