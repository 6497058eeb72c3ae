"""The pictures of BERT: what they say next to the run's own numbers, in a browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import glassformer as gf
from glassformer.api.trace import Trace, trace
from glassformer.bundled.texts import slides_model
from glassformer.look.trace.cell import Words
from glassformer.models.families.bert import bert
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.page.documents import SIZES, documents
from tests.look.rows import row_named
from tests.page.judged import judged, needs_axe
from tests.page.test_browser import same
from tests.page.together import try_each
from tests.page.watched import click, reach, until
from tests.translators import translating

if TYPE_CHECKING:
    from playwright.sync_api import Page

ATTENTION = "encoder.blocks.0.self_attention"
PAIR = ("[CLS]", "the", "man", "[MASK]", "[SEP]", "a", "bird", "[SEP]")
LABELS = ("IsNext", "NotNext")
PICTURES = ("sizes", "four-ways", "next-sentence", "spam", "skit", "directions")


@pytest.fixture(scope="module")
def pair() -> Trace:
    """Two texts through a BERT that says whether the second follows the first."""
    model = row_named("bert, next sentence").model(dtype=torch.float32)
    ids = torch.tensor([[1, 5, 6, 2, 3, 7, 8, 3]])
    segments = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1]])
    vocabulary = [f"word{place}" for place in range(23)]
    words = Words(inputs=[PAIR], labels=LABELS, vocabulary=vocabulary)
    return trace(model, Inputs(ids=ids, segments=segments), words=words)


@pytest.fixture(scope="module")
def slides() -> Trace:
    return gf.load(str(slides_model())).trace(["She [MASK] [MASK] summer better"])


@pytest.fixture(scope="module")
def files(pair: Trace, slides: Trace, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bert")
    found = {"pair": folder / "pair.html", "slides": folder / "slides.html"}
    pair.to_html(found["pair"])
    slides.to_html(found["slides"])
    return found


def draw(page: Page, file: Path, picture: str, more: str = "") -> None:
    reach(page, file, f"level=scene&scene={picture}{more}")
    page.locator("main canvas").wait_for()
    click(page.locator("main .twin summary"))


def table(page: Page) -> list[list[str]]:
    """The numbers that are no cells of the run."""
    rows = page.locator(".scene-table tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def linked(page: Page, tensor: str) -> dict[tuple[int, ...], str]:
    """The numbers of a tensor next to the picture, by their cells."""
    found = {}
    for link in page.locator(f".twin a[href*='tensor={tensor}&']").all():
        cell = re.search(r"cell=([\d,]+)", link.get_attribute("href") or "")
        assert cell is not None
        found[tuple(int(index) for index in cell.group(1).split(","))] = link.inner_text()
    return found


@pytest.mark.long
@pytest.mark.parametrize("run", ["pair", "slides"])
def test_each_picture_is_drawn_or_says_what_is_missing(run: str, window: Page, files: dict[str, Path]) -> None:
    def is_drawn(picture: str) -> None:
        draw(window, files[run], picture)
        assert window.locator(".wrong").count() == 0
        lacks = run == "slides" and picture in ("next-sentence", "spam")
        assert window.locator(".scene-lacks pre").count() == int(lacks)
        if lacks:
            command = documents()["pictures"][picture]["make"][-1]
            assert command in window.locator(".scene-lacks pre").inner_text()

    try_each(PICTURES, is_drawn)


def test_the_weights_of_base_and_large_are_those_that_python_counts(window: Page, files: dict[str, Path]) -> None:
    """Counted by rule in the page; here each parameter of the model itself, without making any."""
    draw(window, files["pair"], "sizes")
    heads, *rows = table(window)
    assert heads[-1] == "weights in all"
    for size, row in zip(SIZES, rows, strict=False):
        with torch.device("meta"):
            model = Transformer(bert(size=size, sentence_labels=0, vocabulary_head=False))
        counts = {name: parameter.numel() for name, parameter in model.named_parameters()}
        attention = sum(count for name, count in counts.items() if "_attention." in name)
        forward = sum(count for name, count in counts.items() if ".feed_forward." in name)
        tables = sum(count for name, count in counts.items() if ".embed." in name and ".norm." not in name)
        rest = sum(counts.values()) - attention - forward - tables
        shown = [int(text.replace(",", "")) for text in row[4:]]
        assert shown == [tables, attention, forward, rest, sum(counts.values())]


def test_the_weights_of_this_model_are_its_own(window: Page, files: dict[str, Path], pair: Trace) -> None:
    draw(window, files["pair"], "sizes")
    *kinds, total = (int(text.replace(",", "")) for text in table(window)[-1][4:])
    assert sum(kinds) == total == sum(tensor.numel() for tensor in pair.parameters.values())


def test_the_answer_next_to_the_document_is_the_traces(window: Page, files: dict[str, Path], pair: Trace) -> None:
    draw(window, files["pair"], "next-sentence")
    name = "sentence_head.probabilities"
    shown = linked(window, name)
    assert set(shown) == {(0, 0), (0, 1)}
    for cell, text in shown.items():
        assert same(text, float(pair[name][cell]), 0.005)
    printed = documents()["pictures"]["next-sentence"]
    (_, *labels), (said, *shares) = table(window)
    assert dict(zip(labels, shares, strict=True)) == {"IsNext": "1.0 %", "NotNext": "99 %"}
    assert printed["text"] in said
    assert printed["second"] in said


def test_forward_only_is_the_same_scores_with_the_other_mask(window: Page, files: dict[str, Path], pair: Trace) -> None:
    head, query = 1, PAIR.index("[MASK]")
    draw(window, files["pair"], "directions", f"&tensor={ATTENTION}.weights&cell=0,{head},{query},0")
    heads, *rows = table(window)
    assert heads == [f"head {head}: [MASK] takes from", "Forward only", "Both directions"]
    scores = pair[f"{ATTENTION}.scaled"][0, head, query].double()
    both, forward = scores.softmax(0), scores[: query + 1].softmax(0)
    for key, (word, one, two) in enumerate(rows):
        assert word == PAIR[key]
        assert float(two.removesuffix(" %")) == pytest.approx(100 * float(both[key]), abs=0.5)
        if key > query:
            assert one == "may not look"
        else:
            assert float(one.removesuffix(" %")) == pytest.approx(100 * float(forward[key]), abs=0.5)


def test_another_word_looks_by_keys_alone(window: Page, files: dict[str, Path]) -> None:
    draw(window, files["slides"], "directions", f"&tensor={ATTENTION}.weights&cell=0,0,1,0")
    window.locator("main canvas").focus()
    window.keyboard.press("ArrowDown")
    until(window, "location.hash.includes('cell=0,0,2,0')")
    window.keyboard.press("Enter")
    window.locator("article").wait_for()


def test_the_other_stack_of_a_pair_keeps_its_mask(window: Page, tmp_path: Path) -> None:
    """It has another number of tokens, for which the mask of this one has no numbers."""
    pair = translating(double=False).trace("She likes the summer.")
    encoder, decoder = (pair[f"{stack}.blocks.0.self_attention.may_look"].shape[-1] for stack in ("encoder", "decoder"))
    assert decoder > encoder
    pair.to_html(tmp_path / "pair.html")
    draw(window, tmp_path / "pair.html", "directions")
    assert len(table(window)) == 1 + encoder


@pytest.mark.long
@needs_axe
def test_axe_finds_nothing_serious(window: Page, files: dict[str, Path]) -> None:
    def finds_nothing(picture: str) -> None:
        draw(window, files["slides"], picture)
        assert judged(window) == []

    try_each(PICTURES, finds_nothing)
