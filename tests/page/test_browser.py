"""The page in a real browser: random shown numbers followed to their operands, keys, addresses, nothing fetched."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from glassformer.api.trace import Trace, trace
from glassformer.look.trace.cell import Words
from tests.contracts.families import Row
from tests.look.rows import row_named, slides_trace
from tests.page.watched import click, place_of, reach, turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

# A family of each kind: an encoder, a decoder with shared key-value heads and rotary positions, both together, tags.
FAMILIES = ("slides", "bert", "llama", "t5", "bert, tags by a CRF")


def traced(name: str) -> Trace:
    """A run of a family."""
    if name == "slides":
        return slides_trace(dtype=torch.float32)
    row: Row = row_named(name) if name in ("bert", "llama", "t5") else more_row(name)
    inputs, decoder_inputs = row.batch(padding="none")
    return trace(row.model(dtype=torch.float32), inputs, decoder_inputs, keep="*")


def more_row(name: str) -> Row:
    """A row of the table of looking."""
    from tests.look.rows import MORE

    return next(row for row in MORE if row.name == name)


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    """A window in which nothing may be fetched and nothing may go wrong."""
    asked: list[str] = []
    with watched(browser, offline=True) as page:
        page.on("request", lambda request: asked.append(request.url))
        yield page
    assert [url for url in asked if not url.startswith("file://")] == []


def show(page: Page, file: Path, address: str = "") -> None:
    """Open the page of a file at an address of its own."""
    if page.url.partition("#")[0] == file.as_uri():  # of which the browser would else change the address alone
        page.goto("about:blank")
    page.goto(f"{file.as_uri()}#{address}")
    page.wait_for_selector(".frame")


def number_at(page: Page, name: str, index: str) -> Locator:
    """The last level, once it shows this number."""
    article = page.locator(f'article[data-tensor="{name}"][data-cell="{index}"]')
    article.wait_for()
    return article


def check(page: Page, found: Trace, name: str, cell: Mapping[str, int]) -> None:
    """What the page shows of a number is what the trace has: value, recomputed value, operands."""
    article = number_at(page, name, ",".join(map(str, cell.values())))
    expected = found.explain(name, cell)
    shown, stated, links = article.evaluate(
        """article => [
            article.dataset.value,
            { ...article.querySelector(".check").dataset },
            [...article.querySelectorAll("a[data-operand]")].map(({dataset}) =>
                [dataset.operand, dataset.at, dataset.value]),
        ]"""
    )
    assert same(shown, expected.value)
    assert expected.recomputed is not None
    assert stated["holds"] == "true"
    assert float(stated.get("error", "nan")) <= 1e-5
    assert same(stated["recomputed"], expected.recomputed, 1e-12)
    terms = {(operand.name, ",".join(map(str, operand.cell.values()))): operand.value for operand in expected.operands}
    assert len(links) > 0 or not terms
    for operand, at, value in links:
        assert same(value, terms[operand, at])


def same(shown: str | None, expected: float, tolerance: float = 0.0) -> bool:
    """Infinities are written as JavaScript writes them."""
    assert shown is not None
    value = float(shown.replace("Infinity", "inf"))
    if math.isinf(expected) or math.isinf(value):
        return value == expected
    return abs(value - expected) <= tolerance * (1 + abs(expected))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("family", FAMILIES)
def test_random_numbers_are_followed_to_their_operands(family: str, opened: Page, tmp_path: Path) -> None:
    found = traced(family)
    file = tmp_path / "page.html"
    found.to_html(file)
    show(opened, file)
    rng = random.Random(family)
    for name in rng.sample(sorted(found), 6):
        shape = found[name].shape
        cell = {axis: rng.randrange(size) for axis, size in zip(found.axes(name), shape, strict=True)}
        index = ",".join(map(str, cell.values()))
        turn(opened, f"level=number&tensor={name}&cell={index}", anew=False)
        check(opened, found, name, cell)
        step = follow_one(opened, rng, name, index)
        if step is not None and step[0] in found:
            check(opened, found, step[0], dict(zip(found.axes(step[0]), step[1], strict=True)))


def follow_one(page: Page, rng: random.Random, name: str, index: str) -> tuple[str, list[int]] | None:
    """Click one of the operands in the table; returns where it leads."""
    article = number_at(page, name, index)
    table = article.locator("details.twin")
    if table.count() == 0:
        return None
    if table.get_attribute("open") is None:
        click(table.locator("summary"))
    links = article.locator("a[data-operand]")
    if links.count() == 0:
        return None
    link = links.nth(rng.randrange(links.count()))
    target, at = link.get_attribute("data-operand"), link.get_attribute("data-at")
    assert target is not None
    assert at is not None
    click(link)
    number_at(page, target, at)
    return target, [int(step) for step in at.split(",") if step]


WEIGHTS = "encoder.blocks.0.self_attention.weights"


def test_a_number_leads_home_to_a_word_and_a_weight(opened: Page, slides_page: Path) -> None:
    reach(opened, slides_page, f"level=number&tensor={WEIGHTS}&cell=0,1,1,0")
    attention = "encoder.blocks.0.self_attention"
    chain = (
        (f"{attention}.masked", "0,1,1,0"),
        (f"{attention}.scores", "0,1,1,0"),
        (f"{attention}.key", "0,1,0,2"),
        ("encoder.embed.sum", "0,0,3"),
        ("encoder.embed.word", "0,0,3"),
        ("parameters.encoder.embed.word.weight", "0,3"),
    )
    for name, index in chain:
        opened.locator(f'article a[data-operand="{name}"][data-at="{index}"]').click()
        article = number_at(opened, name, index)
    assert article.get_attribute("data-kind") == "given"
    until(opened, "document.querySelector('.inspector').innerText.toLowerCase().includes('used by')")
    opened.go_back()
    number_at(opened, "encoder.embed.word", "0,0,3")


def test_keys_lead_through_the_levels_and_the_address_keeps_the_place(opened: Page, slides_page: Path) -> None:
    show(opened, slides_page)
    canvas = opened.locator("canvas").first
    canvas.focus()
    opened.keyboard.press("ArrowUp")
    opened.keyboard.press("ArrowUp")
    until(opened, "location.hash.includes('cell=0,')")
    opened.keyboard.press("Enter")
    opened.wait_for_selector("article")
    number = place_of(opened)
    assert "level=number" in number
    opened.keyboard.press("Escape")
    opened.wait_for_selector("h1:not(article h1)")
    opened.keyboard.press("Escape")
    opened.wait_for_selector(".sentence")
    assert "level=block" in place_of(opened)
    opened.go_back()
    opened.go_back()
    opened.wait_for_selector("article")
    assert place_of(opened) == number


@pytest.mark.parametrize("level", ["tensor", "number"])
def test_of_a_tensor_named_without_a_cell_the_first_number_is_in_hand(
    opened: Page, slides_page: Path, level: str
) -> None:
    name = "encoder.blocks.0.self_attention.query"
    show(opened, slides_page, f"level={level}&tensor={name}")
    until(opened, lambda: "cell=0,0,0,0" in place_of(opened))
    first = float(slides_trace(dtype=torch.float32)[name][0, 0, 0, 0])
    shown = opened.locator(".inspector .big" if level == "tensor" else "article")
    until(opened, lambda: f"{first:.3f}" in shown.first.inner_text())


def test_every_number_of_the_page_is_worked_out_again(browser: Browser, slides_page: Path) -> None:
    found = slides_trace(dtype=torch.float32)
    count = sum(tensor.numel() for tensor in found.values())
    with watched(browser, offline=True, idles=True) as page:
        show(page, slides_page)
        stated = page.locator(f'.foot [data-checked="{count}"]')
        stated.wait_for()
        assert stated.get_attribute("data-holds") == "true"


def test_words_that_look_like_html_stay_words(opened: Page, tmp_path: Path) -> None:
    evil = "<img src=x onerror=document.title='broken'>"
    row = row_named("bert")
    inputs, _ = row.batch(padding="none")
    words = Words(inputs=[[evil] * inputs.shape[1]] * inputs.shape[0], vocabulary=[evil])
    trace(row.model(dtype=torch.float32), inputs, words=words).to_html(tmp_path / "page.html", title=evil)
    show(opened, tmp_path / "page.html")
    opened.wait_for_selector("canvas")
    assert opened.locator("img").count() == 0
    assert "broken" not in opened.title().replace(evil, "")
    assert evil in opened.locator(".sentence").first.inner_text()


def test_what_the_page_does_not_carry_is_said_where_it_is_needed(opened: Page, tmp_path: Path) -> None:
    found = slides_trace(dtype=torch.float32)
    found.save(tmp_path / "trace.safetensors")
    from glassformer.api.trace import load_trace

    load_trace(tmp_path / "trace.safetensors").to_html(tmp_path / "page.html")
    show(opened, tmp_path / "page.html", "level=number&tensor=encoder.blocks.0.self_attention.query&cell=0,0,0,0")
    stated = opened.locator("article .wrong")
    stated.wait_for()
    assert "parameters.encoder.blocks.0.self_attention.query.weight" in stated.inner_text()
