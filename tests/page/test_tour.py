"""The guided tour: each step on every family, its words and numbers, and the whole of it by keyboard in a browser."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import torch

import glassformer as gf
from glassformer.api.trace import Trace, trace
from glassformer.bundled.texts import notes
from glassformer.page.tour import tour_texts
from tests.look.rows import ALL
from tests.page.judged import judged
from tests.page.test_browser import show
from tests.page.watched import place_of, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NODE = shutil.which("node")
SCRIPT = Path(__file__).with_name("tell_tour.mjs")
WORDS = 60


def tour_in(address: str) -> str:
    """The tour and its step that an address names."""
    return parse_qs(urlsplit(address).fragment).get("tour", [""])[0]


def view_in(address: str) -> tuple[str, ...]:
    """What an address shows, whatever number is in hand."""
    given = parse_qs(urlsplit(address).fragment)
    return tuple(given.get(key, [""])[0] for key in ("level", "scene", "picture"))


def tell(pages: list[Path], tour: str = "slides") -> list[dict[str, Any]]:
    """A tour of these pages, written by the page's own code."""
    return tell_all({tour: pages})[tour]


def tell_all(tours: dict[str, list[Path]]) -> dict[str, list[dict[str, Any]]]:
    """Each tour of its pages."""
    if NODE is None:
        pytest.skip("the tour is written in node, which is not installed")
    asked = json.dumps({tour: [str(page) for page in pages] for tour, pages in tours.items()})
    done = subprocess.run([NODE, str(SCRIPT), asked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return answers


def check_steps(found: Trace, record: dict[str, Any]) -> None:
    """Short texts without holes, places that exist, numbers that are the trace's."""
    assert record["rows"]
    for row in record["rows"]:
        for part in ("text", "question", "answer", "note"):
            assert not re.search(r"undefined|NaN|\[object|  |[{}]", row[part]), row
            assert len(row[part].split()) <= WORDS, (row["key"], part, len(row[part].split()))
        assert row["text"], row
        for number in row["numbers"]:
            assert number_in(found, number["name"], number["cell"]) == float(number["value"]), (row["key"], number)
        if "tensor" in row["at"]:
            number_in(found, row["at"]["tensor"], row["at"]["cell"])


def number_in(found: Trace, name: str, cell: list[int]) -> float:
    """A number of the trace, a weight or a fact."""
    if name.startswith("parameters."):
        tensor = found.parameters[name]
    else:
        tensor = found.facts[name] if name in found.facts else found[name]
    assert len(cell) == tensor.dim()
    return float(tensor[tuple(cell)])


def test_no_text_has_a_digit_of_its_own() -> None:
    """Every number comes from the run; a correction's number and the parts of the slides are no numbers of a run."""
    for key, step in tour_texts().items():
        for name, text in texts_of(step):
            if name not in ("correction", "source"):
                assert not re.search(r"\d", text), (key, name, text)
            assert len(re.sub(r"\{\w+\}", "x", text).split()) <= WORDS, (key, name)


def texts_of(step: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a step and of its variants."""
    for name, text in step.items():
        if isinstance(text, dict):
            yield from texts_of(text)
        else:
            yield name, text


def test_corrections_are_those_of_the_docs() -> None:
    known = {note.number for note in notes()}
    corrections = {text for step in tour_texts().values() for name, text in texts_of(step) if name == "correction"}
    assert corrections <= known
    assert {"C-1", "C-2", "C-3", "C-4", "C-5", "C-14", "C-33"} <= corrections


def test_the_slides_have_the_steps_of_their_document_with_their_sizes(demo: Trace, demo_page: Path) -> None:
    (found,) = tell([demo_page])
    check_steps(demo, found)
    first = [row for row in found["rows"] if row["sentence"] == 0]
    said = {row["key"]: " ".join(row[part] for part in ("text", "question", "answer")) for row in first}
    assert "3 sentences" in said["holes"]
    assert "3 × 5 × 6 = 90" in said["embedding"]
    assert "6 × (4 × 2) = 48" in said["tables"]
    assert "48 + 48 + 48 = 144" in said["tables"]
    assert "Still 48" in said["shared"]
    assert "3 × 2 × 5 × 5 = 150" in said["product"]
    assert "−1000" in said["masking"]
    assert "8 × 6 = 48" in said["merge"]
    assert "6 numbers to 12" in said["forward"]
    assert "15 scores" in said["vocabulary"]
    # What the slides do not draw is said to be missing, and is no step through a tensor of its own.
    for key in ("scaled", "norm"):
        assert "this model" in said[key]
    extra = {row["key"] for row in first if row["source"] is None}
    assert {"scaled", "norm", "search", "recap", "loss"} <= extra
    assert not {"masking", "cells", "mixing", "residual", "vocabulary"} & extra


def test_zeroed_after_adding_two_places_get_one_guess(demo_page: Path, demo: Trace) -> None:
    """The page's own computation is that of the interpreter in Python, with the sums of hidden words set to zeros."""
    (found,) = tell([demo_page])
    row = next(row for row in found["rows"] if row["key"] == "twins")
    changed = demo.intervene(*(gf.set_number("encoder.embed.sum", f"sentence=0,token={token}", 0) for token in (1, 2)))
    probabilities = changed["head.probabilities"]
    assert torch.equal(probabilities[0], probabilities[1])
    best = int(probabilities[0].argmax())
    share = f"{float(probabilities[0, best]):.3f}"
    assert f"{demo.words.vocabulary[best]}, {share} and {share}" in row["answer"]


# --------------------------------------------------------------------------- in a browser


def titles(tab: Page) -> list[str]:
    return [
        text.split(" · ", 1)[1]
        for text in tab.locator(".tour-ways > select option").evaluate_all("all => all.map(each => each.text)")
    ]


def check_strip(tab: Page, found: Trace) -> None:
    """Every number in the strip is the trace's."""
    links = tab.locator(".tour a[data-shown]").evaluate_all(
        "all => all.map(({dataset, textContent}) => [dataset.shown, dataset.at, dataset.value, textContent])"
    )
    for name, index, value, text in links:
        expected = number_in(found, name, [int(step) for step in index.split(",")])
        assert float(value.replace("Infinity", "inf")) == expected
        digits = text.replace("−", "-").replace("∞", "inf")
        if digits.endswith("%"):
            # A share of 1 in 1,000 is written as one of all; rounding is to a tenth or a whole per cent.
            assert digits.startswith("<") or abs(float(digits[:-1]) / 100 - expected) <= 0.005
        elif "·" not in digits and math.isfinite(expected):
            assert abs(float(digits) - expected) <= 0.0005 * max(1.0, abs(expected))


def check_width(tab: Page, place: str) -> None:
    """Neither the page nor a picture is wider than the window."""
    assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, place
    beyond = "all => all.map(each => each.getBoundingClientRect().right - innerWidth)"
    assert max(tab.locator("main canvas").evaluate_all(beyond), default=0) <= 0, place


def walk(tab: Page, found: Trace, *, judge: bool = False, tour: str = "slides") -> int:
    """A whole tour by keyboard: start, next, answer; returns how many steps there are."""
    tab.keyboard.press("Tab")
    tab.locator(".tools .tour-start").focus()
    tab.keyboard.press("Enter")
    tab.locator(f"dialog.tours[open] button[data-tour={tour}]").focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".tour h2")
    steps = titles(tab)
    seen: set[tuple[str, ...]] = set()
    for order, title in enumerate(steps):
        address = f"{order + 1}" if tour == "slides" else f"{tour}.{order + 1}"
        tab.wait_for_url(lambda url, step=address: tour_in(url) == step)
        until(tab, "title => document.querySelector('.tour h2')?.innerText.endsWith(title)", title)
        tab.keyboard.press("a")
        until(tab, "(document.querySelector('.tour-answer')?.innerText ?? '') !== ''")
        check_strip(tab, found)
        tab.wait_for_selector("main canvas, main article, main .wrong")
        assert tab.locator("main .wrong").count() == 0
        check_width(tab, title)
        if judge:
            # Views that differ by their numbers alone are judged once, and then the strip alone.
            view = view_in(place_of(tab))
            assert judged(tab, within=".tour" if view in seen else None) == [], title
            seen.add(view)
        tab.keyboard.press("n")
    return len(steps)


@pytest.mark.long
def test_the_whole_tour_by_keyboard(opened: Page, demo: Trace, demo_page: Path) -> None:
    show(opened, demo_page)
    assert walk(opened, demo, judge=True) >= 25
    opened.keyboard.press("p")
    opened.keyboard.press("q")
    opened.wait_for_selector(".tour", state="detached")
    opened.locator(".tools .tour-start").click()
    opened.wait_for_selector(".tour h2")
    assert "tour=" in opened.evaluate("location.hash")


@pytest.mark.long
@pytest.mark.parametrize(
    "family", ["t5", pytest.param("gpt2", marks=pytest.mark.long), pytest.param("llama", marks=pytest.mark.long)]
)
def test_the_tour_of_other_families_by_keyboard(family: str, opened: Page, tmp_path: Path) -> None:
    row = next(each for each in ALL if each.name == family)
    inputs, decoder_inputs = row.batch(padding="none")
    found = trace(row.model(dtype=torch.float32), inputs, decoder_inputs, keep="*")
    found.to_html(tmp_path / "page.html", title=family)
    show(opened, tmp_path / "page.html")
    assert walk(opened, found) >= 18


def test_an_address_opens_a_step_and_its_answer_comes_by_touching(opened: Page, slides_page: Path) -> None:
    show(opened, slides_page, "tour=2")
    opened.wait_for_selector(".tour h2")
    assert opened.locator(".tour-answer").inner_text() == ""
    opened.locator("main canvas").last.focus()
    for _ in range(6):
        opened.keyboard.press("ArrowDown")
    opened.wait_for_selector(".tour-answer:not(:empty)")
    steps = titles(opened)
    number = next(order for order, title in enumerate(steps) if title.startswith("A mistake")) + 1
    opened.locator(".tour-ways > select").select_option(str(number))
    opened.wait_for_url(re.compile("#.*scene=twins"))
    opened.locator(".tour-act").click()
    opened.wait_for_url(re.compile("#.*scene=after"))
    opened.wait_for_selector(".tour-answer:not(:empty)")


@pytest.mark.long
def test_no_step_is_wider_than_a_phone(browser: Browser, demo_page: Path) -> None:
    """That none is wider than a larger window is seen on the way by keyboard."""
    with watched(browser, width=390, height=844) as tab:
        show(tab, demo_page, "tour=1")
        tab.wait_for_selector(".tour h2")
        for number in range(1, len(titles(tab)) + 1):
            tab.wait_for_url(lambda url, step=str(number): tour_in(url) == step)
            tab.wait_for_selector("main canvas, main article")
            check_width(tab, str(number))
            tab.keyboard.press("n")
