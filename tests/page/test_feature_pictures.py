"""The pictures of vectors and what is made of them: each number on the page is the one that Python has."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import glassformer as gf
from glassformer.api.model import Model
from glassformer.api.trace import Trace
from glassformer.features.embed import same_word
from glassformer.features.pipeline import probe_of
from glassformer.features.search.index import SearchIndex
from glassformer.features.strategies import SIX
from glassformer.look.trace.tensors import layers_of
from glassformer.page.documents import documents
from glassformer.page.page import page, write_document
from glassformer.page.sections.related import related_makers
from glassformer.page.sections.sections import sections_of
from glassformer.page.server.desk import Desk
from glassformer.page.server.offers import Models, Offer
from tests.page.judged import judged, needs_axe
from tests.page.serving import small_model
from tests.page.test_browser import check
from tests.page.test_plain_sentences import number
from tests.page.test_server_browser import serving
from tests.page.watched import click, reach, turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXTS = ["She likes the summer better.", "He likes the winter food."]
LEARNED = [f"{who} likes {what}." for who in ("She", "He") for what in ("summer", "winter", "the food", "to cook")]
LABELS = ["hers"] * 4 + ["his"] * 4
MORE = ["both", *LABELS[1:]]
SCENES = ("vectors", "block-outputs", "same-word", "regression", "neighbours", "transfer")


@dataclass
class Made:
    """A model, what was made with it, and the page of a run of it. `pooling`: what the regression reads."""

    model: Model
    run: Trace
    pipeline: Any
    index: SearchIndex
    before: Model
    file: Path


def made(folder: Path, strategy: str, pooling: str, labels: list[str]) -> Made:
    model = gf.load(small_model(folder, layers=4))
    features = gf.TextFeatures(model, strategy=strategy, pooling=pooling)
    pipeline = make_pipeline(features, LogisticRegression(max_iter=300)).fit(LEARNED, labels)
    index = SearchIndex.build(folder / "index", LEARNED, model, strategy=strategy, pooling=pooling)
    before = Model(copy.deepcopy(model.module), model.tokenizer, length=64)
    with torch.no_grad():
        for name, weight in before.module.named_parameters():
            if ".blocks.3." in name:
                weight.add_(torch.linspace(-0.01, 0.02, weight.numel()).reshape(weight.shape))
    run = model.trace(TEXTS)
    file = folder / "page.html"
    makers = related_makers(model.module, probe=probe_of(pipeline), index=index, start=before)
    write_document(file, lambda: page(run, title="small", megabytes=64, sections=sections_of(run, makers)))
    return Made(model, run, pipeline, index, before, file)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two labels by the first vector of the last layer: each number of the vector is one of the run."""
    return made(tmp_path_factory.mktemp("first"), "last", "first", LABELS)


@pytest.fixture(scope="module")
def mean(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Three labels by means over words of sums over layers."""
    return made(tmp_path_factory.mktemp("mean"), "sum-last-4", "mean", MORE)


def draw(page: Page, file: Path, picture: str, more: str = "") -> list[list[str]]:
    """Open a picture; the rows of the table next to it."""
    reach(page, file, f"level=scene&scene={picture}{more}")
    page.locator("main .twin").wait_for()
    click(page.locator("main .twin summary"))
    return table(page)


def table(page: Page) -> list[list[str]]:
    rows = "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    return [list(row) for row in page.locator(".scene-table tr").evaluate_all(rows)]


def numbers(texts: list[str]) -> Any:
    return np.array([number(text) for text in texts])


def test_six_strategies_are_the_features_of_the_word(first: Made, window: Page) -> None:
    token = 2
    heads, *rows = draw(window, first.file, "vectors", f"&at={token},0")
    assert [row[0] for row in rows] == list(SIX)
    word = first.model.embed(TEXTS[0], strategy=list(SIX), pooling="first", words=True)
    assert word.words is not None
    own = list(word.words)
    place = own.index("likes") if first.run.words.inputs[0][token] == "likes" else None
    printed = documents()["pictures"]["six-strategies"]["shares"]
    layers = [first.run[name][0, token].double().numpy() for name in layers_of(first.run)]
    expected = {
        **{
            "embedding": layers[0],
            "last": layers[4],
            "second-to-last": layers[3],
            "sum-all": np.sum(layers[1:], axis=0),
        },
        **{"sum-last-4": np.sum(layers[1:], axis=0), "concat-last-4": np.concatenate(layers[1:])},
    }
    for name, count, f1, shown in ((row[0], row[2], row[3], row[4:]) for row in rows):
        assert int(count.replace(",", "")) == len(expected[name])
        assert float(f1) == pytest.approx(100 * printed[name])
        assert np.abs(numbers(shown) - expected[name][:8]).max() < 6e-6
        if place is not None:
            assert np.abs(expected[name] - word.vectors[f"{name}.first"][place]).max() < 1e-5
    assert heads[4:] == [f"channel {channel}" for channel in range(8)]


def test_cosines_are_those_of_the_command(first: Made, window: Page) -> None:
    found = same_word(first.model, "likes", TEXTS, pooling="first")
    heads, *rows = draw(window, first.file, "same-word")
    assert heads[1] == "likes with likes"
    assert len(rows) == len(found.layers)
    for (_, shown, _), (cosine,), (equal,) in zip(rows, found.cosines, found.equal, strict=True):
        assert shown == "equal" if equal else number(shown) == pytest.approx(cosine, abs=2e-5)
    below = [first.run[name][0] for name in ("encoder.embed.word", *layers_of(first.run))]
    token = first.run.words.inputs[0].index("likes")
    for row, one, two in zip(rows[1:], below[1:], below, strict=False):
        expected = torch.nn.functional.cosine_similarity(one[token].double(), two[token].double(), dim=0)
        assert number(row[2]) == pytest.approx(float(expected), abs=2e-5)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("which", ["first", "mean"])
def test_the_probabilities_are_those_of_scikit_learn(which: str, window: Page, request: pytest.FixtureRequest) -> None:
    found: Made = request.getfixturevalue(which)
    expected = found.pipeline.predict_proba(TEXTS)
    for sentence in range(2):
        _, *rows = draw(window, found.file, "regression", f"&sentence={sentence}")
        assert [row[0] for row in rows] == list(found.pipeline.classes_)
        assert np.abs(numbers([row[2] for row in rows]) - expected[sentence]).max() < 2e-5
        scores = numbers([row[1] for row in rows])
        shares = np.exp(scores - scores.max())
        assert np.abs(shares / shares.sum() - expected[sentence]).max() < 4e-5


@pytest.mark.sampled(1)
@pytest.mark.parametrize("which", ["first", "mean"])
def test_the_neighbours_are_those_of_the_index(which: str, window: Page, request: pytest.FixtureRequest) -> None:
    found: Made = request.getfixturevalue(which)
    for sentence, text in enumerate(TEXTS):
        _, *rows = draw(window, found.file, "neighbours", f"&sentence={sentence}")
        hits = found.index.ask(text, top=8, by="vectors")
        assert [row[4] for row in rows] == [LEARNED[int(row[2])] for row in rows]
        assert np.abs(numbers([row[1] for row in rows]) - [hit.score for hit in hits]).max() < 2e-5
        by_row = {hit.row: hit.score for hit in hits}
        assert all(number(row[1]) == pytest.approx(by_row[int(row[2])], abs=2e-5) for row in rows)


def test_what_moved_is_shown_and_its_weight_is_opened(first: Made, window: Page) -> None:
    _, *rows = draw(window, first.file, "transfer")
    moved = {row[0]: row for row in rows if row[2] != "0"}
    assert list(moved) == ["block 3"]
    after, before = (dict(each.module.named_parameters()) for each in (first.model, first.before))
    own = {
        name: (before[name].detach().double(), after[name].detach().double()) for name in after if ".blocks.3." in name
    }
    off = sum(float((two - one).square().sum()) for one, two in own.values())
    size = sum(float(one.square().sum()) for one, _ in own.values())
    assert float(moved["block 3"][5]) == pytest.approx((off / size) ** 0.5, rel=1e-3)
    link = window.locator("main details.twin a")
    assert link.count() == 1
    link.click()
    article = window.locator("article[data-tensor]")
    article.wait_for()
    name = article.get_attribute("data-tensor") or ""
    cell = tuple(int(step) for step in (article.get_attribute("data-cell") or "").split(","))
    value = float(article.get_attribute("data-value") or "nan")
    assert value == pytest.approx(float(first.run.tensor(name)[cell]), abs=1e-9)
    assert number(moved["block 3"][6].split(" → ")[1]) == pytest.approx(value, abs=1e-6)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("which", "scene"),
    [("first", "vectors"), ("first", "same-word"), ("mean", "neighbours")],
)
def test_a_number_is_followed_home_by_keys(
    which: str, scene: str, window: Page, request: pytest.FixtureRequest
) -> None:
    found: Made = request.getfixturevalue(which)
    draw(window, found.file, scene)
    window.locator("main canvas").focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        window.keyboard.press(key)
    article = window.locator("article[data-tensor]")
    article.wait_for()
    name, at = article.get_attribute("data-tensor") or "", article.get_attribute("data-cell") or ""
    assert name in layers_of(found.run) or name == "encoder.embed.word"
    check(window, found.run, name, dict(zip(found.run.axes(name), map(int, at.split(",")), strict=True)))


def test_a_page_without_them_says_how_to_write_one(first: Made, window: Page, tmp_path: Path) -> None:
    first.run.to_html(tmp_path / "bare.html")
    window.goto((tmp_path / "bare.html").as_uri())
    for scene, option in (("regression", "--probe"), ("neighbours", "--index"), ("transfer", "--start")):
        turn(window, f"level=scene&scene={scene}", anew=False)
        until(window, "option => document.querySelector('main .wrong')?.innerText.includes(option)", option)
    turn(window, "level=pictures", anew=False)
    window.locator(".gallery li").first.wait_for()
    for key, here in (("six-strategies", "true"), ("distilbert", "false"), ("search", "false"), ("vgg", "false")):
        assert window.locator(f'.gallery li[data-key="{key}"]').get_attribute("data-here") == here


@pytest.mark.long
def test_a_typed_text_finds_its_own_neighbours(mean: Made, browser: Browser) -> None:
    makers = related_makers(mean.model.module, probe=probe_of(mean.pipeline), index=mean.index)
    offer = Offer("small", "nowhere", (TEXTS[0],), makers=makers, model=mean.model)
    desk = Desk(Models([offer], device="cpu"))
    with serving(desk, "small", (TEXTS[0],)) as address, watched(browser) as page:
        page.goto(f"{address}#level=scene&scene=neighbours")
        page.locator("main canvas").wait_for()
        page.locator("main button", has_text="Write another text").click()
        typed = "He likes to cook."
        page.locator("main textarea").fill(typed)
        page.keyboard.press("Enter")
        click(page.locator("main .twin summary"))
        best = mean.index.ask(typed, top=1, by="vectors")[0]
        until(
            page, "text => document.querySelector('.scene-table tbody tr')?.cells[4]?.textContent === text", best.text
        )
        assert number(table(page)[1][1]) == pytest.approx(best.score, abs=2e-5)
        assert best.text == typed


@pytest.mark.long
@needs_axe
def test_everyone_can_read_them_on_a_phone(mean: Made, browser: Browser) -> None:
    with watched(browser, offline=True, bypass_csp=True) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        for scene, theme in zip(SCENES, ("light", "dark", "contrast") * 2, strict=True):
            draw(page, mean.file, scene, f"&theme={theme}")
            assert page.locator("main h1").inner_text() == TITLES[scene]
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), scene
            if scene in ("vectors", "regression", "neighbours"):
                assert judged(page) == [], scene


def titles() -> dict[str, str]:
    """The titles of the pictures, as the sources of the page have them."""
    text = (Path(__file__).parents[2] / "web" / "src" / "scenes" / "scenes.ts").read_text(encoding="utf-8")
    return dict(re.findall(r'^  "?([\w-]+)"?: \{\n    title: say`(.*)`,$', text, flags=re.MULTILINE))


TITLES = titles()
