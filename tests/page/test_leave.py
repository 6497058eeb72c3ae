"""What is saved from a page in a real browser: it opens elsewhere, holds the trace's numbers, and runs nothing."""

from __future__ import annotations

import csv
import io
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from glassformer.api.trace import trace
from glassformer.look.trace.cell import Words
from tests.look.rows import row_named, slides_trace
from tests.page.serving import ATTENTION, desk_of, served
from tests.page.test_browser import show
from tests.page.test_server_browser import serving
from tests.page.watched import reach, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAME = f"{ATTENTION}.weights"
AT = f"level=number&tensor={NAME}&cell=0,1,1,0"
EVIL = "<img src=x onerror=document.title='broken'>"


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Page]:
    """A window without a network, in which nothing may go wrong."""
    with watched(browser, offline=True, accept_downloads=True) as page:
        yield page


def saved(page: Page, entry: str, folder: Path) -> Path:
    """What an entry of the menu saves, under the name that it proposes."""
    if page.locator(".menu").count() == 0:
        page.get_by_role("button", name="Save", exact=True).click()
    with page.expect_download() as waiting:
        page.locator(".menu button").filter(has_text=entry).click()
    file = folder / waiting.value.suggested_filename
    waiting.value.save_as(file)
    page.keyboard.press("Escape")
    return file


def elements(svg: Path) -> list[ElementTree.Element]:
    return list(ElementTree.parse(svg).iter())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("level", ["block", "tensor", "number"])
def test_a_picture_holds_what_the_view_shows(window: Page, slides_page: Path, level: str, tmp_path: Path) -> None:
    reach(window, slides_page, f"level={level}&tensor={NAME}&cell=0,1,1,0")
    window.wait_for_selector("canvas")
    svg, png = saved(window, "SVG", tmp_path), saved(window, "PNG", tmp_path)
    assert svg.name == ("slides-encoder.blocks.0.svg" if level == "block" else f"slides-{NAME}-0.1.1.0.svg")
    assert png.name == svg.with_suffix(".png").name
    root = ElementTree.parse(svg).getroot()
    texts = [element.text or "" for element in root.iter() if element.tag.endswith("}text")]
    message = " ".join(texts)
    head = window.locator("h1").inner_text() if level != "block" else window.locator(".sentence").first.inner_text()
    for word in head.split():
        assert word in message, word
    if level == "tensor":
        value = float(slides_trace(dtype=torch.float32)[NAME][0, 1, 1, 0])
        assert f"{value:.2f}" in texts
    width, height = (float(root.attrib[side]) for side in ("width", "height"))
    assert width <= 1280
    for group in root:
        moved = re.findall(r"-?[\d.]+", group.attrib.get("transform", "")) or ("0", "0")
        for element in group:
            for side, by, most in (("x", moved[0], width), ("y", moved[1], height)):
                if side in element.attrib:
                    assert 0 <= float(element.attrib[side]) + float(by) <= most
    assert struct.unpack(">II", png.read_bytes()[16:24]) == (2 * width, 2 * height)


def test_a_saved_picture_runs_nothing_and_fetches_nothing(window: Page, tmp_path: Path) -> None:
    row = row_named("bert")
    inputs, _ = row.batch(padding="none")
    words = Words(inputs=[[EVIL] * inputs.shape[1]] * inputs.shape[0], vocabulary=[EVIL])
    trace(row.model(dtype=torch.float32), inputs, words=words).to_html(tmp_path / "page.html", title=EVIL)
    show(window, tmp_path / "page.html")
    window.wait_for_selector("canvas")
    svg = saved(window, "SVG", tmp_path)
    assert re.fullmatch(r"[\w.-]+", svg.name)
    tags = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in elements(svg)}
    assert tags <= {"svg", "title", "g", "rect", "path", "polygon", "text", "image"}
    assert any(EVIL in (element.text or "") for element in elements(svg) if element.tag.endswith("}text"))
    assert not [name for element in elements(svg) for name in element.attrib if name.startswith("on")]
    window.goto(svg.as_uri())
    assert "broken" not in window.title().replace(EVIL, "")


def test_numbers_are_saved_as_the_trace_has_them(window: Page, slides_page: Path, tmp_path: Path) -> None:
    found = slides_trace(dtype=torch.float32)
    reach(window, slides_page, AT)
    window.wait_for_selector("article")
    tensors = saved(window, "safetensors", tmp_path)
    assert tensors.name == f"slides-{NAME}.safetensors"
    assert load_file(tensors)[NAME].equal(found[NAME])
    with safe_open(tensors, "pt") as opened:
        assert opened.metadata()["axes"] == ", ".join(found.axes(NAME))
        assert opened.metadata()["name"] == NAME
    sheet = list(csv.reader(io.StringIO(saved(window, "CSV, this slice", tmp_path).read_text(encoding="utf-8-sig"))))
    words = found.words.inputs[0]
    assert [row[0] for row in sheet[1:]] == sheet[0][1:]
    assert len(sheet[0]) == len(words) + 1
    numbers = torch.tensor([[float(number) for number in row[1:]] for row in sheet[1:]])
    assert numbers.equal(found[NAME][0, 1])
    cells = list(csv.DictReader(io.StringIO(saved(window, "CSV, all cells", tmp_path).read_text(encoding="utf-8-sig"))))
    assert len(cells) == found[NAME].numel()
    for row in cells:
        at = tuple(int(row[axis]) for axis in ("sentence", "head", "query index", "key index"))
        assert torch.tensor(float(row["value"])) == found[NAME][at]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_tensor_is_saved_bit_for_bit(browser: Browser, dtype: torch.dtype, tmp_path: Path, window: Page) -> None:
    found = slides_trace(dtype=dtype)
    found.to_html(tmp_path / "page.html")
    names = [f"{ATTENTION}.may_look", f"{ATTENTION}.masked", "encoder.embed.sum", *found.facts]
    for name in [*names, *list(found.parameters)[:2]]:
        index = ",".join("0" * found.tensor(name).dim())
        reach(window, tmp_path / "page.html", f"level=tensor&tensor={name}&cell={index}")
        read = load_file(saved(window, "safetensors", tmp_path))[name]
        assert read.dtype == found.tensor(name).dtype, name
        assert read.equal(found.tensor(name)), name


def test_a_saved_page_opens_where_it_was_left_and_saves_itself_again(
    window: Page, slides_page: Path, tmp_path: Path
) -> None:
    reach(window, slides_page, AT)
    window.wait_for_selector("article")
    once = saved(window, "HTML file", tmp_path)
    assert once.name == "slides.html"
    show(window, once)
    shown = window.locator(f'article[data-tensor="{NAME}"][data-cell="0,1,1,0"]')
    shown.wait_for()
    value = float(slides_trace(dtype=torch.float32)[NAME][0, 1, 1, 0])
    assert float(shown.get_attribute("data-value") or "nan") == value
    (tmp_path / "again").mkdir()
    again = saved(window, "HTML file", tmp_path / "again")
    assert again.read_bytes() == once.read_bytes()


def test_the_menu_is_walked_through_by_keys(window: Page, slides_page: Path) -> None:
    reach(window, slides_page, AT)
    window.wait_for_selector("article")
    address = window.evaluate("location.href")
    window.keyboard.press("s")
    entries = window.locator(".menu button")
    entries.first.wait_for()
    focused = "document.activeElement.textContent"
    until(window, f"first => {focused} === first", entries.first.text_content())
    window.keyboard.press("ArrowUp")
    until(window, f"last => {focused} === last", entries.last.text_content())
    window.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copied = []
    for _ in range(3):  # from below: a citation, a frame, a link
        window.evaluate("navigator.clipboard.writeText('')")
        window.keyboard.press("Enter")
        until(window, lambda: window.evaluate("navigator.clipboard.readText()") != "")
        copied.append(window.evaluate("navigator.clipboard.readText()"))
        window.keyboard.press("ArrowUp")
    citation, frame, link = copied
    assert link == address
    assert f"\\url{{{address}}}" in citation
    assert f'src="{address.replace("&", "&amp;")}&amp;embed"' in frame
    window.keyboard.press("Escape")
    window.locator(".menu").wait_for(state="detached")
    until(window, f"{focused} === 'Save'")
    assert window.evaluate("location.href") == address


def test_the_live_page_is_written_by_the_server(browser: Browser, tmp_path: Path, window: Page) -> None:
    desk = desk_of()
    with serving(desk) as address, watched(browser, accept_downloads=True) as page:
        page.goto(f"{address}#{AT}")
        page.locator("article").wait_for()
        file = saved(page, "HTML file", tmp_path)
        page.goto("about:blank")
    (run,) = desk.runs.values()
    show(window, file)
    shown = window.locator(f'article[data-tensor="{NAME}"][data-cell="0,1,1,0"]')
    shown.wait_for()
    assert float(shown.get_attribute("data-value") or "nan") == float(run.trace[NAME][0, 1, 1, 0])


@pytest.mark.parametrize(
    ("changes", "more", "texts"),
    [
        ("text,0,;text,1,She [MASK] the summer", "", ["0 She likes the summer", "1 They go hiking quite often"]),
        (
            "text,0,He likes [MASK]",
            "&kept=*,,&shown=A-B",
            ["1 He loves to cook healthy", "2 They go hiking quite often"],
        ),
    ],
)
def test_a_live_page_with_changes_is_saved_with_them_made_once(
    browser: Browser, tmp_path: Path, window: Page, changes: str, more: str, texts: list[str]
) -> None:
    """Changes made again in the file would be of other texts. Of A - B it is the page of B."""
    with serving(desk_of()) as address, watched(browser, accept_downloads=True) as page:
        page.goto(f"{address}#{AT}&changes={changes}{more}")
        (page.get_by_text("Open either for its formula") if more else page.locator("article")).wait_for()
        file = saved(page, "HTML file", tmp_path)
        page.goto("about:blank")
    show(window, file)
    window.locator("article").wait_for()
    shown = window.locator(".rail .choice").all_inner_texts()
    assert [text for text in shown if text[:1].isdigit()][-2:] == texts


def test_the_route_of_the_page_is_a_file_to_keep() -> None:
    with served(desk_of()) as page:
        key = page.overview()["run"]
        answer = page.get(f"api/runs/{key}/page")
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].startswith("attachment")
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert answer.text.startswith("<!doctype html>")
        page.error(page.get(f"api/runs/{'0' * 32}/page"), 404)
