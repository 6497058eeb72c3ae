"""The page in other languages: German, and one from right to left that no word of which is English."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from glassformer.api.trace import Trace
from glassformer.base.errors import ConfigError
from glassformer.page import page as pages
from glassformer.page.parts import ID, as_part, languages
from glassformer.page.sections.carried import compressed
from glassformer.page.tour import quiz, tour_texts
from manual import page_words
from tests.page.serving import desk_of
from tests.page.test_server_browser import serving
from tests.page.watched import reach, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WEB = Path(__file__).resolve().parents[2] / "web"
ATTENTION = "encoder.blocks.0.self_attention"
IN_HAND = f"tensor={ATTENTION}.weights&cell=0,0,1,3"
LEVELS = (
    *("level=model", "level=heads", "level=block", f"level=head&{IN_HAND}", f"level=tensor&{IN_HAND}"),
    *(f"level=number&{IN_HAND}", "level=mask", "level=ties", "level=rollout", "level=lens", "level=gradients"),
    *("level=pictures", "level=tree", "level=training", "level=learn", "level=quiz", "level=scene&scene=mixing"),
    *("level=tensor&tensor=encoder.embed.position&picture=distances", f"tour=5&level=block&{IN_HAND}"),
)
# Texts of the page, and of its pictures, in which a Latin letter follows another: of each what is around it.
LATIN = """() => {
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    if (!parentElement.closest("script, style, noscript, math, kbd, code, pre, .command, [lang]:not(html)")) {
      found.push(data);
    }
  }
  for (const name of ["title", "aria-label", "placeholder", "aria-valuetext"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) found.push(element.getAttribute(name));
  }
  return [...found, ...window.drawn].filter((text) => /[A-Za-z]{2}/.test(text));
}"""
DRAWN = """() => {
  window.drawn = new Set();
  const own = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    window.drawn.add(text);
    return own.call(this, text, ...rest);
  };
}"""
# What is no word of the page: names of tensors, of Python and of commands, functions in a formula, names of works.
NAMES = re.compile(
    r"\btrace\.explain.*|\b[a-z_]+(?:\.[\w*]+)+\b|\bgf\.\w+|\bglassformer( explore)?\b|\b[a-z]+_[a-z_]+\b"
)
REFRESH = "run python -m manual page-words"
OTHER = {"exp", "gelu", "relu", "softmax", "float", "slides", "en-fr", "mask", "cls", "tensor2tensor", "bert", "pdf"}
# `embed.word = row ids of word.weight`: a formula in words, which Python writes.
FORMULA = re.compile(r"^[a-z_.]+ = ")


def words_of(trace: Trace) -> set[str]:
    """All that is data of a run, in small letters."""
    return {word.lower() for word in trace.words.vocabulary}


def unmarked(text: str, known: set[str]) -> list[str]:
    """The English words of a text."""
    if FORMULA.match(text):
        return []
    found = re.findall(r"[A-Za-z][\w'-]*[A-Za-z]", NAMES.sub(" ", text))
    return [word for word in found if word.lower() not in known | OTHER]


def test_the_list_of_what_python_writes_for_the_page_is_that_of_now() -> None:
    assert page_words.FILE.read_text(encoding="utf-8") == page_words.text(page_words.sentences()), REFRESH
    assert page_words.OF_SITE.read_text(encoding="utf-8") == page_words.text(page_words.site()), REFRESH


def test_what_the_package_says_with_parts_in_it_is_written_somewhere_in_it() -> None:
    package = WEB.parent / "glassformer"
    source = "".join(file.read_text(encoding="utf-8") for file in package.rglob("*.py"))
    whole = re.sub(r'"\s*\n\s*f?"', "", source)
    for sentence in (*page_words.HONESTY, *page_words.SECTIONS):
        for piece in re.split(r"\{\d\}", sentence):
            for part in re.split(r"(?<=[.]) |(?<=from) |(?<=limit) ", piece):
                assert part.strip(" .():,") in whole, part


def test_the_tours_and_the_quiz_are_in_german() -> None:
    german = json.loads((WEB / "words" / "de.json").read_text(encoding="utf-8"))
    texts = [text for tour in tour_texts().values() for text in page_words.texts_in(tour, ("correction", "source"))]
    texts += [text for each in quiz()["question"] for text in (each["question"], *each["choices"], each["because"])]
    long = [text for text in texts if len(text) > 40]
    assert len(long) > 300
    assert [text for text in long if german[text] == text] == []


def test_a_page_has_the_words_of_the_language_that_it_was_asked_for(demo: Trace) -> None:
    spoken = languages(pages.script_files())
    assert "de" in spoken
    english, german = (pages.page(demo, language=language) for language in ("en", "de"))
    assert (f'id="{ID}de-' in english, f'id="{ID}de-' in german) == (False, True)
    assert 'data-language="de"' in german
    with pytest.raises(ConfigError, match="fr"):
        pages.page(demo, language="fr")


@pytest.fixture(scope="module")
def reversed_page(demo: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of `demo` in a language that is written from right to left, made of the English words."""
    text = pages.page(demo, title="slides", language="de")
    name = next(name for name in pages.script_files() if name.startswith("de-"))
    node = ("node", "words.mjs", "reversed")
    chunk = subprocess.run(node, cwd=WEB, check=True, capture_output=True, text=True).stdout
    block = pages.block_of(f"{ID}{name.removesuffix('.js')}", compressed(as_part(name, chunk.strip()).encode()))
    own = re.compile(rf'<script type="application/gzip" id="{ID}de-[^"]*">[^<]*</script>')
    text, count = own.subn(lambda _: block, text)
    assert count == 1
    file: Path = tmp_path_factory.mktemp("reversed") / "slides.html"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def unguarded(browser: Browser) -> Iterator[Page]:
    """A window that takes the changed words, which the policy of the page does not know."""
    with watched(browser, offline=True, bypass_csp=True, idles=True) as page:
        page.add_init_script(f"({DRAWN})()")
        yield page


def test_every_word_of_the_page_is_one_of_its_table(unguarded: Page, reversed_page: Path, demo: Trace) -> None:
    known = words_of(demo)
    left: dict[str, str] = {}
    for level in LEVELS:
        reach(unguarded, reversed_page, level)
        until(unguarded, "!document.querySelector('.awaited')")
        unguarded.wait_for_timeout(60)
        for text in unguarded.evaluate(LATIN):
            if words := unmarked(text, known):
                left.setdefault(f"{words} in {text[:80]}", level)
    assert left == {}


@pytest.mark.long
def test_a_language_from_right_to_left_mirrors_the_page_and_overflows_nowhere(
    unguarded: Page, reversed_page: Path
) -> None:
    reach(unguarded, reversed_page, "level=model")
    assert unguarded.evaluate("document.documentElement.dir") == "rtl"
    rail, inspector = (unguarded.locator(f".{name}").bounding_box() for name in ("rail", "inspector"))
    assert rail is not None
    assert inspector is not None
    assert rail["x"] > inspector["x"]
    wide: list[str] = []
    for width, height in ((1280, 720), (390, 844)):
        unguarded.set_viewport_size({"width": width, "height": height})
        for level in LEVELS:
            reach(unguarded, reversed_page, level)
            if unguarded.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append(f"{level} at {width}")
    unguarded.set_viewport_size({"width": 1280, "height": 720})
    assert wide == []


def test_the_cell_in_hand_is_framed_where_it_is_drawn_from_right_to_left_too(
    unguarded: Page, reversed_page: Path
) -> None:
    reach(unguarded, reversed_page, f"level=tensor&{IN_HAND}")
    frame, canvas = (
        unguarded.locator(f".main .picture {of}").first.bounding_box() for of in (".frame-of-cell", "canvas")
    )
    assert frame is not None
    assert canvas is not None
    assert canvas["x"] <= frame["x"]
    assert frame["x"] + frame["width"] <= canvas["x"] + canvas["width"] + 1


def test_a_language_is_chosen_on_a_live_page_and_is_kept(browser: Browser) -> None:
    number = ".headline h1"
    with serving(desk_of()) as address, watched(browser) as page:
        page.goto(f"{address}#level=number&{IN_HAND}")
        shown = page.locator(number).inner_text()
        with page.expect_event("load"):
            page.locator("select[aria-label=language]").select_option("de")
        until(page, "document.documentElement.lang === 'de' && document.querySelector('.headline h1') !== null")
        assert page.evaluate("location.hash").find("language=de") > 0
        assert "Formel" in page.locator(".main").inner_text()
        # Numbers have the same form in each language: they are copied into programs.
        assert page.locator(number).inner_text() == shown
        page.goto("about:blank")
        page.goto(f"{address}#level=model")
        page.wait_for_selector(".rail")
        assert page.evaluate("document.documentElement.lang") == "de"
        page.goto("about:blank")
        page.goto(f"{address}#level=model&language=en")
        page.wait_for_selector(".rail")
        assert page.evaluate("document.documentElement.lang") == "en"
