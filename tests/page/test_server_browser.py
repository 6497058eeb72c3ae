"""The live page in a real browser: its numbers are the trace's, worked out in the page or by the server."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn

from glassformer.page.server import overview
from glassformer.page.server.app import application
from glassformer.page.server.asked import Asked
from glassformer.page.server.desk import Desk
from glassformer.run.serving.listening import bound
from tests.page.serving import ATTENTION, SENTENCES, TOKEN, desk_of, small_model
from tests.page.watched import until, watched
from tests.serving.servers import until_stopped

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAME = f"{ATTENTION}.weights"


@contextmanager
def serving(desk: Desk, model: str = "slides", texts: tuple[str, ...] = SENTENCES) -> Iterator[str]:
    """The address of a server in a thread of this process, whose page starts with these texts."""
    app = application(desk, TOKEN, Asked(model=model, texts=texts))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    with bound(0) as listening:
        thread = threading.Thread(target=lambda: asyncio.run(until_stopped(server, listening)))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/{TOKEN}/"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Page]:
    """A window in which nothing may go wrong."""
    with watched(browser, idles=True) as page:
        yield page


def test_an_answer_does_not_wait_until_its_head_is_acknowledged() -> None:
    with bound(0) as listening, socket.create_connection(listening.getsockname()) as asking:
        connection, _ = listening.accept()
        with connection:
            assert asking.getpeername() == connection.getsockname()
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("whole", [True, False])
def test_a_number_of_the_live_page_is_that_of_the_trace(
    window: Page, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not whole:
        monkeypatch.setattr(overview, "MOST_WHOLE", 100)
    asked: list[str] = []
    window.on("request", lambda request: asked.append(request.url))
    desk = desk_of()
    with serving(desk) as address:
        window.goto(f"{address}#level=number&tensor={NAME}&cell=1,0,3,2")
        shown = window.locator(f'article[data-tensor="{NAME}"][data-cell="1,0,3,2"]')
        shown.wait_for()
        (run,) = desk.runs.values()
        value = float(run.trace[NAME][1, 0, 3, 2])
        assert float(shown.get_attribute("data-value") or "nan") == value
        window.goto("about:blank")
    assert all(url.startswith((address, "about:")) for url in asked)
    assert any("/explain" in url for url in asked) is not whole
    assert any("/numbers" in url for url in asked) is whole


@pytest.mark.long
@pytest.mark.parametrize("whole", [True, False])
def test_the_tour_of_a_live_page_has_its_numbers(window: Page, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not whole:
        monkeypatch.setattr(overview, "MOST_WHOLE", 100)
    desk = desk_of()
    with serving(desk) as address:
        window.goto(f"{address}#tour=8")
        window.wait_for_selector(".tour h2")
        for step in (9, 10):
            window.keyboard.press("n")
            until(window, f"new URLSearchParams(location.hash.slice(1)).get('tour') === '{step}'")
        window.keyboard.press("a")
        window.wait_for_selector(".tour-answer:not(:empty)")
        (run,) = desk.runs.values()
        for step in (13, 15):
            window.locator(".tour-ways > select").select_option(str(step))
            until(window, f"new URLSearchParams(location.hash.slice(1)).get('tour') === '{step}'")
            window.wait_for_selector(f'.tour h2:has-text("step {step} of")')
            shown = window.locator(".tour a[data-shown]").first
            shown.wait_for()
            # All of it at once: the step may still be written anew.
            name, index, found = shown.evaluate("({ dataset }) => [dataset.shown, dataset.at, dataset.value]")
            assert float(found) == float(run.trace[name][tuple(map(int, index.split(",")))])
        window.goto("about:blank")


@pytest.mark.long
def test_every_step_of_a_run_that_is_not_sent_whole_is_shown(window: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step opens what it is about, also when nothing else on the page has opened it."""
    monkeypatch.setattr(overview, "MOST_WHOLE", 100)
    with serving(desk_of()) as address:
        window.goto(f"{address}#tour=1")
        window.wait_for_selector(".tour h2")
        count = window.locator(".tour-ways > select option").count()
        for step in range(2, count + 1):
            window.keyboard.press("n")
            window.wait_for_selector(f'.tour h2:has-text("step {step} of")')
            assert "does not carry" not in window.locator(".tour-says").inner_text()
        window.goto("about:blank")


def test_the_address_of_a_step_opens_its_picture_also_of_another_model(window: Page, tmp_path: Path) -> None:
    with serving(desk_of(small_model(tmp_path)), model="small", texts=SENTENCES[:1]) as address:
        window.goto(f"{address}#tour=7&model=slides")
        window.wait_for_selector(".tour h2")
        until(window, "location.hash.includes('tensor=encoder.embed.word&')")
        window.goto("about:blank")
