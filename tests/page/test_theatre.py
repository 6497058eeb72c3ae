"""A text rewritten on a live page: it is what the command writes, and branches are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

from tests.cli.conftest import Run, run  # noqa: F401  # the fixture
from tests.page.serving import TOKEN
from tests.page.test_server_browser import serving
from tests.page.test_written import desk_of
from tests.page.watched import at_rest, until, watched
from tests.writers import READ, writing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROMPT, TOKENS = "She likes the", 8


def options_of(page: Page) -> dict[str, str]:
    """What the address says of how the text is written."""
    at_rest(page)
    found = parse_qs(page.evaluate("location.hash.slice(1)")).get("options", [""])[0]
    return dict(each.split("=", 1) for each in found.split(",") if each)


def read_of(page: Page) -> list[int]:
    """The tokens of the text on the stage, by the address."""
    at_rest(page)
    changes = parse_qs(page.evaluate("location.hash.slice(1)"), separator="&").get("changes", [""])[0]
    return [int(each) for each in changes.partition("target,0,")[2].partition(";")[0].split()]


def rewritten(page: Page, act: Callable[[], object]) -> list[int]:
    """The tokens after something was done that writes others, once the run of them is shown."""
    before = read_of(page)
    act()
    until(page, lambda: read_of(page) != before)
    count = "count => document.querySelectorAll('.growing button').length === count"
    until(page, count, len(read_of(page)))
    page.wait_for_selector(".stage-text path", state="attached")
    return read_of(page)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A window that is still open when its server ends: what it then asks for fails."""
    with watched(browser, fails=True) as page:
        yield page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "writer"


@pytest.mark.long
def test_what_is_written_and_rewritten_is_what_the_command_writes(
    page: Page,
    tmp_path: Path,
    folder: Path,
    run: Run,  # noqa: F811
) -> None:
    model = writing("llama")
    tokenizer = model.tokenizer.target
    with serving(desk_of("writer", model, tmp_path, PROMPT), "writer", (PROMPT,)) as address:

        def generated(*words: str) -> str:
            done = run("generate", folder, PROMPT, "--max-tokens", str(TOKENS), *words)
            assert done.code == 0, done.err
            return done.out.rstrip("\n")

        page.goto(f"{address}#level=tree&picture=words&options=seed=3,tokens={TOKENS}")
        page.wait_for_selector(".drawn")
        # Played where less motion is asked for, all of it is there at once.
        first = rewritten(page, lambda: page.locator(".play").click())
        assert tokenizer.decode(first).rstrip("\n") == generated("--seed", "3")
        until(page, "count => document.querySelector('.step-slider input').value === count", str(len(first)))
        words = [tokenizer.shown[token] for token in first]
        bare = [word[1:] if word.startswith("▁") and len(word) > 1 else word for word in words]
        assert page.locator(".growing button").all_text_contents() == bare
        # Another seed at its first word is another text.
        page.keyboard.press("Home")
        seed = page.locator(".sliders input").nth(1)
        second = rewritten(page, lambda: seed.press("ArrowRight"))
        assert options_of(page)["seed"] == "4"
        assert tokenizer.decode(second).rstrip("\n") == generated("--seed", "4")
        # Another candidate at the third word: what stands before it stays.
        given = len(model.search_tree(PROMPT, seed=3, max_tokens=TOKENS).prompt)
        for _ in range(2):
            page.get_by_label("one step on").click()
        page.wait_for_selector(f'.step-slider:has-text("step {given + 2} of")')
        other = page.locator(".candidates tr:has(th button)").first
        token = int(str(other.get_attribute("data-token")))
        third = rewritten(page, lambda: other.locator("th button").click())
        assert third[: given + 3] == [*second[: given + 2], token]
        assert third[: given + 3] != second[: given + 3]
        # At a temperature of 0 nothing is drawn: the likeliest token each time, as the command has with one beam.
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("Home")
        page.locator(".sliders input").first.press("Home")
        until(page, lambda: options_of(page).get("temperature") == "0")
        cold = read_of(page)
        assert tokenizer.decode(cold).rstrip("\n") == generated("--beams", "1")
        # All of them are kept, and one can go back.
        branches = page.locator(".branches button")
        until(page, lambda: branches.count() == len({tuple(each) for each in (first, second, third, cold)}))
        assert rewritten(page, lambda: branches.first.click()) == first
        assert options_of(page)["seed"] == "3"
        # Nothing to begin with, and a prompt as long as what the model reads at once.
        page.locator(".writer input").fill(" ")
        page.keyboard.press("Enter")
        page.wait_for_selector(".writer .wrong")
        assert read_of(page) == first
        page.locator(".writer input").fill("the " * READ)
        long = rewritten(page, lambda: page.keyboard.press("Enter"))
        assert long
        assert page.locator(".writer .wrong").count() == 0
        back = rewritten(page, page.go_back)
        assert back == first
        shown = page.locator(".growing").inner_text()
        # What is still fetched ahead is fetched before the server ends.
        page.wait_for_load_state("networkidle")
    # The server is gone: the page says so, and keeps what is there.
    page.locator(".sliders input").nth(1).press("PageUp")
    page.wait_for_selector(".writer .wrong")
    assert read_of(page) == first
    assert page.locator(".growing").inner_text() == shown
    assert TOKEN in page.url
