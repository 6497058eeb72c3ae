"""What readers without an introduction stumbled over: each sentence of the page that misled them, held to the run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from glassformer.api.model import Model
from glassformer.api.trace import Trace, trace
from glassformer.bundled.texts import slides
from tests.look.rows import row_named
from tests.page.test_browser import more_row, number_at, show
from tests.page.test_page import blocks
from tests.page.test_server_browser import serving
from tests.page.test_server_trees import translating
from tests.page.watched import reach, turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


# --------------------------------------------------------------------------- arithmetic


def filled(fill: str) -> tuple[Trace, str, dict[str, int]]:
    """A run with padding whose forbidden scores are filled so, and a masked score in it."""
    row = more_row(f"bert, fill {fill}")
    run = trace(row.model(), *row.batch(padding="right"), keep="*")
    name = next(each for each in run if each.endswith(".masked"))
    looks = run[name.replace("masked", "may_look")].expand_as(run[name])
    cell = (int(index) for index in torch.nonzero(looks == 0)[0])
    return run, name, dict(zip(run.axes(name), cell, strict=True))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("fill", ["set -inf", "set -10000.0", "add -10000.0"])
def test_a_masked_score_is_no_product(fill: str, window: Page, tmp_path: Path) -> None:
    run, name, cell = filled(fill)
    found = run.explain(name, cell)
    assert sum(term.value for term in found.terms) == pytest.approx(found.value)
    assert len(found.terms) == (1 if fill == "set -10000.0" else 2)
    for text in (str(found), found._repr_html_()):
        assert "masked: not looked at" in text
        assert " · " not in text.replace("masked · ", "")
    run.to_html(tmp_path / "page.html")
    at = ",".join(map(str, cell.values()))
    reach(window, tmp_path / "page.html", f"level=number&tensor={name}&cell={at}")
    article = number_at(window, name, at)
    written = re.sub(r"\s", "", article.locator(".formula:not(.general)").text_content() or "")
    assert "·" not in written
    assert ("+(−∞)=−∞" if fill == "set -inf" else "masked" if "set" in fill else "+(−10000)") in written
    assert "·" not in article.locator("details.twin tbody tr").last.inner_text()


@pytest.mark.parametrize("name", ["head.probabilities", "head.log_probabilities"])
def test_lowered_exponents_say_so_and_give_the_number(name: str, window: Page, demo_page: Path, demo: Trace) -> None:
    reach(window, demo_page, f"level=number&tensor={name}&cell=0,0")
    number_at(window, name, "0,0")
    largest = float(demo["head.logits"][0].max())
    note = window.locator("main .lowered").first.inner_text()
    assert f"{largest:.3f}".replace("-", "−") in note
    assert "less the largest" in str(demo.explain(name, {"place": 0, "vocabulary": 0}))


@pytest.mark.long
def test_what_is_left_out_is_counted_against_all(window: Page, student_page: Path) -> None:
    """Each place has room for another number of terms: each says how many."""
    name = "encoder.blocks.0.feed_forward.output"
    reach(window, student_page, f"level=number&tensor={name}&cell=0,1,2")
    article = number_at(window, name, "0,1,2")
    message = " ".join([article.inner_text(), window.locator(".inspector").inner_text()])
    counts = re.findall(r"([\d,]+) more of ([\d,]+)", message)
    assert len({left for left, _ in counts}) > 1
    assert len({of for _, of in counts}) <= 2
    assert re.search(r"\d more(?! of)", message) is None


# --------------------------------------------------------------------------- what is next to a picture


def test_a_picture_has_no_number_of_another_view_next_to_it(window: Page, student_page: Path) -> None:
    own = "tensor=encoder.blocks.0.self_attention.weights&cell=0,0,1,2"
    reach(window, student_page, f"level=tensor&{own}")
    window.locator(".inspector .big").wait_for()
    for place in ("level=scene&scene=earlier", "level=scene&scene=gradients", "level=mask", "level=pictures"):
        turn(window, f"{place}&{own}", anew=False)
        window.locator("main canvas, main .wrong, .gallery li").first.wait_for()
        until(window, "document.querySelector('.inspector .big') === null")
        assert "block 0" not in window.locator(".crumbs").inner_text(), place
    # What is pointed at stands there, and is the one in hand after a click.
    turn(window, f"level=scene&scene=earlier&{own}", anew=False)
    canvas = window.locator("main canvas")
    canvas.focus()
    window.keyboard.press("ArrowDown")
    window.locator(".inspector .big").wait_for()
    assert "decoder" in window.locator(".crumbs").inner_text()


@pytest.mark.long
def test_a_page_that_cannot_change_a_number_does_not_say_that_it_cannot_check_it(
    window: Page, english: Model, tmp_path: Path
) -> None:
    english.trace("She likes the [MASK] better.").to_html(tmp_path / "page.html")
    reach(window, tmp_path / "page.html", "level=number&tensor=encoder.embed.sum&cell=0,0,0")
    number_at(window, "encoder.embed.sum", "0,0,0")
    inspector = window.locator(".inspector")
    until(window, lambda: "glassformer explore" in inspector.inner_text())  # the controls come in a later part
    assert "cannot work" not in inspector.inner_text()


# --------------------------------------------------------------------------- pictures


def test_a_hidden_word_gets_a_tag_like_any_other(window: Page, demo_page: Path) -> None:
    """The bars below the vectors of *Tags*: one for each word of the text, hidden or not."""
    reach(window, demo_page, "level=scene&scene=four-ways")
    window.locator("main canvas").wait_for()
    words = len(slides().sentences[0].words)
    assert bars(window, "Tags") == words


def bars(window: Page, title: str) -> int:
    """Thick bars in the quarter of the picture under a title, read from its SVG."""
    window.keyboard.press("s")
    with window.expect_download() as download:
        window.locator("text=SVG").first.click()
    svg = Path(download.value.path()).read_text(encoding="utf-8")
    places = {
        match[3]: (float(match[1]), float(match[2]))
        for match in re.finditer(r'<text[^>]*x="([\d.]+)"[^>]*y="([\d.]+)"[^>]*>([^<]*)</text>', svg)
    }
    x, y = places[title]
    found = re.findall(r'<rect[^>]*x="([\d.]+)"[^>]*y="([\d.]+)"[^>]*width="[\d.]+"[^>]*height="4"', svg)
    return sum(float(left) >= x and float(top) > y for left, top in found)


def number(text: str) -> float:
    """As the page writes it: `−1·10⁻⁴`."""
    plain = text.translate(str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789"))
    return float(plain.replace("·10", "e"))


def test_the_products_of_two_words_add_up_in_the_table(window: Page, demo_page: Path, demo: Trace) -> None:
    reach(window, demo_page, "level=scene&scene=two-words&at=4,0,1,0&sentence=0")
    window.locator("main details.twin summary").click()
    rows = window.locator(".scene-table tr").all()
    head, *others = [row.locator("th, td").all_inner_texts() for row in rows]
    assert head[0].startswith("weight × value")
    block = "encoder.blocks.0.self_attention"
    weights, value = demo[f"{block}.weights"][0, 1, 4], demo[f"{block}.value"][0, 1]
    for row, key in zip(others, (4, 0), strict=False):
        shown = [number(text) for text in row[1:]]
        assert shown == pytest.approx((weights[key] * value[key]).tolist(), abs=6e-4)
    columns = list(zip(*[[number(text) for text in row[1:]] for row in others], strict=True))
    assert all(sum(parts) == pytest.approx(whole, abs=2e-3) for *parts, whole in columns)


@pytest.mark.parametrize("width", [1280, 390])
def test_no_command_breaks_within_an_option(width: int, browser: Browser, demo_page: Path) -> None:
    with watched(browser, offline=True) as window:
        window.set_viewport_size({"width": width, "height": 800})
        show(window, demo_page, "level=scene&scene=next-sentence")
        window.locator(".scene-lacks .option").first.wait_for()
        heights = window.locator(".option").evaluate_all("all => all.map(each => each.getClientRects().length)")
        assert set(heights) == {1}
        assert "--pair" in window.locator(".option").all_inner_texts()


def test_pages_that_are_empty_say_what_fills_them(window: Page, student_page: Path) -> None:
    reach(window, student_page, "level=scene&scene=padding")
    found = window.locator("main .wrong")
    found.wait_for()
    assert 'glassformer explain en-fr "I am" "I am a student." --html page.html' in found.inner_text()
    reach(window, student_page, "level=training")
    window.locator("main h1").wait_for()
    found = window.locator("main")
    assert "glassformer train translate" in found.inner_text()
    assert "--html page.html" in found.inner_text()


def test_the_last_block_is_called_so(window: Page, tmp_path: Path) -> None:
    """An answer that is the first guess after the last block alone is not said to be it *from* a block *on*."""
    found = trace(row_named("bert").model(dtype=torch.float32), *row_named("bert").batch(padding="none"), keep="*")
    shown = tmp_path / "lens.html"
    found.to_html(shown)
    lens: dict[str, Any] = json.loads(blocks(shown.read_text())["section-lens"])
    place = lens["places"][0]
    for order, layer in enumerate(place["layers"]):
        layer["rank"] = 1 if order == len(place["layers"]) - 1 else 2
    found.to_html(shown, sections={"lens": lens})
    show(window, shown, "level=lens&at=0")
    stated = window.locator(".answer")
    stated.wait_for()
    assert "only after the last block" in stated.inner_text()
    place["layers"][0]["rank"] = 1
    found.to_html(shown, sections={"lens": lens})
    show(window, shown, "level=lens&at=0")
    stated.wait_for()
    assert "again after the last block" in stated.inner_text()


@pytest.mark.long
def test_padding_is_no_word_that_an_answer_could_owe_to(window: Page, english: Model, tmp_path: Path) -> None:
    """Its zeros made attention and gradients look more alike than they are; the mask workshop had it as words."""
    texts = ["She likes the [MASK].", "He loves to [MASK] every day of the summer."]
    run = english.trace(texts)
    run.to_html(tmp_path / "page.html")
    count = int(run.facts["inputs.real"][0].sum())
    assert count < run.facts["inputs.real"].shape[1]
    reach(window, tmp_path / "page.html", "level=gradients&sentence=0&at=0,5")
    rows = window.locator(".owed:not(.added) tbody tr")
    rows.first.locator("a").wait_for()
    assert rows.count() == count
    products = rows.evaluate_all("all => all.map(({dataset}) => Math.abs(Number(dataset.product)))")
    query = next(token for row, token in run.chosen_tokens if row == 0)
    mean = run["encoder.blocks.5.self_attention.weights"][0, :, query, :count].double().mean(dim=0)
    ranks = torch.stack([torch.tensor(products).argsort().argsort(), mean.argsort().argsort()]).double()
    shown = window.locator("main").inner_text()
    alike = re.search(r"order these words: (−?[\d.]+)", shown)
    assert alike is not None
    assert float(alike[1].replace("−", "-")) == pytest.approx(float(torch.corrcoef(ranks)[0, 1]), abs=0.006)
    reach(window, tmp_path / "page.html", "level=mask&sentence=0")
    window.locator("main canvas").first.wait_for()
    assert "padding" not in window.locator("main .sentences").inner_text()


# --------------------------------------------------------------------------- several texts on a live page


@pytest.mark.long
def test_a_node_opens_next_to_other_texts(browser: Browser, translator: Model) -> None:
    """The other texts of the page keep what their decoder reads: their own translations."""
    texts = ("She likes the summer.", "Two dogs run.")
    model = translator
    tree = model.search_tree(texts[1])
    lost = next(node for node in tree.nodes if node.fate == "below" and node.step == 2)
    with serving(translating(), "en-fr", texts) as address, watched(browser) as window:
        window.goto(f"{address}#level=tree&sentence=1&at={lost.number}")
        window.locator("main canvas").focus()
        window.keyboard.press("Enter")
        window.wait_for_selector('.step-slider:has-text("step 3 of 4")')
        assert window.locator(".told").count() == 0
        own = model.trace(list(texts))
        real = own.facts["decoder_inputs.real"][0].bool() if "decoder_inputs.real" in own.facts else slice(None)
        ids = own.facts["decoder_inputs.ids"][0][real].tolist()
        run = model.trace(list(texts), target_ids=[ids, list(tree.decoder_ids(lost))])
        place = next(at for at, each in enumerate(run.chosen_tokens) if tuple(each) == (1, 2))
        row = window.locator(f'tr[data-token="{lost.token}"] a')
        row.wait_for()
        shown = float(row.get_attribute("data-value") or "nan")
        assert shown == pytest.approx(float(run["head.probabilities"][place, lost.token]), abs=1e-6)
