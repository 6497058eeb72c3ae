"""The script of a served page: a core with which it begins, and chunks that it fetches; a file has all in one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from glassformer.page.page import built, script_files
from glassformer.page.server.guard import HEADERS
from tests.page.serving import ATTENTION, desk_of, served
from tests.page.test_server_browser import serving
from tests.page.watched import turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOME = {"home.js", "home.css"}
"""Those of the home page, which is a page of its own."""
IMPORTED = re.compile(r"""(?:from|import)\s*\(?\s*"\./([\w.-]+\.js)\"""")
IN_HAND = f"tensor={ATTENTION}.weights&cell=0,1,2,0"
# A view of each chunk: its address, and what stands in it.
VIEWS = {
    "looking": (f"level=head&{IN_HAND}", ".stage canvas"),
    "scenes": ("level=pictures", "main[data-level=pictures] a"),
    "summed_up": (f"level=rollout&{IN_HAND}", "main[data-level=rollout] canvas"),
    "tours": ("tour=2", ".tour h2"),
    "learning": ("level=learn", ".learn-curve svg"),
    "training": ("level=training", "main[data-level=training] p"),
    "workshop": ("level=mask", "main[data-level=mask] canvas"),
}


def imported(name: str) -> set[str]:
    """The files that one of them imports, at once or later."""
    return set(IMPORTED.findall(script_files()[name]))


def test_every_file_is_reached_from_the_core_and_none_is_missing() -> None:
    reached, new = {"core.js"}, {"core.js"}
    while new:
        new = set().union(*(imported(name) for name in new)) - reached
        reached |= new
    # The styles are asked for by their names.
    assert reached == {name for name in script_files() if name.endswith(".js")} - HOME
    assert {"core.css", "chunks.css", "home.css"} == {name for name in script_files() if name.endswith(".css")}


def test_the_core_waits_for_no_other_file() -> None:
    assert re.findall(r"^import\b[^(]*?\"\./", script_files()["core.js"], re.MULTILINE) == []
    # An exported page has nobody to ask for a file.
    assert IMPORTED.findall(built("explorer.js")) == []


def test_each_file_is_sent_as_a_script_that_a_browser_may_keep() -> None:
    with served(desk_of()) as page:
        for name, text in script_files().items():
            answer = page.get(f"script/{name}")
            assert (answer.status_code, answer.text) == (200, text)
            assert answer.headers["content-type"].startswith("text/css" if name.endswith(".css") else "text/javascript")
            assert ("immutable" in answer.headers["cache-control"]) is ("-" in name)
            assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
        assert page.error(page.get("script/nothing-ABCDEFGH.js"), 404)["do"] == "open the page again"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A live page of the slides' model."""
    with serving(desk_of()) as address:
        yield address


def own(chunk: str) -> list[str]:
    """The file of a chunk."""
    return [name for name in script_files() if name.startswith(f"{chunk}-")]


def asked_by(page: Page) -> list[str]:
    """The files of the script that a page asks for from now on."""
    asked: list[str] = []
    page.on(
        "request", lambda request: asked.append(request.url.rpartition("/")[2]) if "/script/" in request.url else None
    )
    return asked


def test_a_live_page_begins_with_its_core_and_has_the_rest_before_it_is_clicked(browser: Browser, address: str) -> None:
    with watched(browser, idles=True) as page:
        asked = asked_by(page)
        page.goto(address)
        page.wait_for_selector(".frame")
        until(page, "performance.getEntriesByName('chunks').length > 0")
        # Not fetched: what a page without a server has in its place, the words of a language that is not chosen, and
        # the rules of chains of labels.
        left = {*own("alone"), *own("chains"), *own("de"), *HOME}
        assert {name for name in script_files() if name not in asked} <= left
        assert len(asked) == len(set(asked))
        drawn = page.evaluate(
            """() => {
              const drawn = performance.getEntriesByName("drawn")[0].startTime;
              const scripts = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/script/"));
              return scripts.filter(({ startTime }) => startTime < drawn).map(({ name }) => name.split("/").at(-1));
            }"""
        )
        assert sorted(drawn) == ["core.css", "core.js", *own("live")]
        del asked[:]
        for place, there in VIEWS.values():
            turn(page, place, anew=False)
            page.locator(there).first.wait_for()
        page.keyboard.press("s")
        page.locator(".save .menu li button").first.wait_for()
        assert asked == []
        page.goto("about:blank")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("chunk", VIEWS)
def test_a_view_is_opened_by_its_address_at_once(browser: Browser, address: str, chunk: str) -> None:
    place, there = VIEWS[chunk]
    with watched(browser) as page:
        asked = asked_by(page)
        page.goto(f"{address}#{place}")
        page.locator(there).first.wait_for()
        assert set(own(chunk)) <= set(asked)
        page.goto("about:blank")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", ["level=head", "tour=2"])
def test_a_chunk_that_cannot_be_fetched_is_reported_and_the_page_can_be_opened_again(
    browser: Browser, address: str, place: str
) -> None:
    # All but the part with which a served page begins.
    fetched_later = re.compile(r"/script/(?!live-)\w+-\w+\.js$")
    with watched(browser, fails=True) as page:
        page.route(fetched_later, lambda route: route.abort())
        page.goto(f"{address}#{place}&{IN_HAND}")
        found = page.locator("[role=alert]")
        found.first.wait_for()
        # The column at the right waits for a chunk too, and reports it a moment later.
        assert "could not be fetched from its server" in found.first.inner_text()
        assert page.locator(".rail a.choice").count() > 5  # the page stands
        page.unroute(fetched_later)
        found.first.get_by_role("button").click()
        page.locator(VIEWS["looking" if place == "level=head" else "tours"][1]).first.wait_for()
        assert found.count() == 0
        assert place in page.url
        page.goto("about:blank")
