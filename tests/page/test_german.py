"""In German: the home page of a server and what it refuses, and sites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from glassformer.api.trace import Trace
from glassformer.base.errors import ConfigError
from glassformer.bundled.texts import slides_model
from glassformer.page.server.home import GROUPS
from glassformer.page.server.offers import Offer
from glassformer.page.site import publish as module
from glassformer.page.site.cards import MADE, card_of
from glassformer.page.site.examples import Example, View
from glassformer.page.site.home import OPENING_WORDS, SAID, TITLE
from glassformer.page.site.publish import publish, what
from glassformer.page.site.spoken import spoken, spoken_card
from tests.page.serving import SENTENCES, desk_of
from tests.page.test_link_cards import Head
from tests.page.test_server_browser import serving
from tests.page.watched import until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WORDS = Path(__file__).resolve().parents[2] / "web" / "words"
VIEWS: tuple[View, ...] = ("hidden", "lens", "rollout")


@pytest.fixture(scope="module")
def german() -> dict[str, str]:
    """The German sentences by the English ones."""
    found: dict[str, str] = json.loads((WORDS / "de.json").read_text(encoding="utf-8"))
    return found


def test_the_sentences_of_a_card_are_in_the_language_of_a_site(demo: Trace) -> None:
    for view in VIEWS:
        card = card_of(demo, Example(SENTENCES, view=view))
        found = spoken_card(card, "de")
        assert found.place == card.place
        assert found.question != card.question
        assert found.answer != card.answer
        # The words of the run and its numbers are the same.
        for part in card.answer.replace("”", "“").split("“")[1::2]:
            assert f"„{part}“" in found.answer
        assert spoken_card(card, "en") == card
    assert spoken(what(demo), "de") != what(demo)
    assert set(VIEWS) <= set(MADE)


def test_a_site_is_in_the_language_that_it_was_asked_for(
    german: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def page(*given: object, more: str, language: str, **options: object) -> str:
        asked.append(language)
        return more

    monkeypatch.setattr(module, "page", page)
    monkeypatch.setattr(module, "shared_script", lambda language: language)
    monkeypatch.setattr(module, "sections_of", lambda trace: {})
    offers = [Offer("slides", slides_model(), SENTENCES)]
    home = publish(tmp_path / "site", offers, language="de")
    text = home.read_text(encoding="utf-8")
    assert '<html lang="de">' in text
    for sentence in (TITLE, SAID, "the whole model"):
        assert german[sentence] in text
        assert sentence not in text
    assert Head(text).stated["og:title"] == german[TITLE]
    found = Head((home.parent / "slides.html").read_text(encoding="utf-8")).stated
    assert found["og:title"].startswith(german["What does a hidden word look at?"])
    assert [*asked, (home.parent / "shared.js").read_text()] == ["de", "de"]
    with pytest.raises(ConfigError, match="xx"):
        publish(tmp_path / "other", offers, language="xx")
    assert not (tmp_path / "other").exists()


def test_the_home_page_of_a_server_and_what_it_refuses_are_in_the_language_that_was_chosen(
    browser: Browser, german: dict[str, str]
) -> None:
    with serving(desk_of()) as address, watched(browser, fails=True, idles=True) as page:
        page.goto(f"{address}home")
        until(page, "document.querySelector('[data-card]') === null")
        assert page.locator("h1").inner_text() == TITLE
        with page.expect_event("load"):
            page.locator("header select").select_option("de")
        until(page, "document.documentElement.lang === 'de' && document.querySelector('[data-card]') === null")
        shown = page.evaluate("document.body.innerText")
        here = [title for title in GROUPS.values() if title in german and german[title] in shown]
        assert here  # those that have models
        for sentence in (TITLE, SAID, *OPENING_WORDS, *here):
            assert german[sentence] in shown
            assert sentence not in shown.splitlines()
        answer, question = (page.locator(f".card {part}").first.inner_text() for part in (".answer", "h3"))
        assert question in german.values()
        assert "attention" not in answer
        # The words of a run stay: the picture of a head has them.
        assert page.locator(".card svg text").count() > 0
        page.locator("#place").fill("/nowhere/at/all\u0001")
        page.keyboard.press("Enter")
        until(page, "document.querySelector('#told').classList.contains('wrong')")
        # The browser keeps what was chosen.
        page.goto("about:blank")
        page.goto(f"{address}home")
        until(page, "document.documentElement.lang === 'de'")
        assert page.locator("h1").inner_text() == german[TITLE]


def test_a_refusal_is_in_the_language_of_the_page(browser: Browser, german: dict[str, str]) -> None:
    with serving(desk_of()) as address, watched(browser, fails=True, idles=True) as page:
        page.goto(f"{address}#language=de")
        page.wait_for_selector(".rail")
        page.keyboard.press("s")
        page.locator(".save .menu li button").first.wait_for()
        offered = [text.splitlines()[0] for text in page.locator(".save .menu li button").all_inner_texts()]
        # The address of a live page ends with its server: it is no frame for others.
        assert any(text.startswith(german["Link"]) for text in offered)
        assert not any(text.startswith(german["Frame"]) for text in offered)
        page.goto(f"{address}home#language=de")
        until(page, "document.documentElement.lang === 'de'")
        page.evaluate("document.querySelector('#place').removeAttribute('required')")
        page.locator("#place").fill(" ")
        page.keyboard.press("Enter")
        until(page, "document.querySelector('#told').classList.contains('wrong')")
        found = page.locator("#told").inner_text()
        assert found.startswith(german["the folder of a model is needed, or hub:owner/name"])
