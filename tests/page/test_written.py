"""A story and a reply as they are written, in a real browser: exported, played by keys, and written live."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from glassformer.api.model import Model
from glassformer.api.trace import Trace
from glassformer.look.texts.search_tree import trace_of
from glassformer.look.texts.tree import SearchTree
from glassformer.look.texts.written import PLACE, path_of
from glassformer.page.server.desk import Desk
from glassformer.page.server.offers import Models, Offer
from glassformer.tasks.writing.chat.settings import ChatSection
from tests.page.judged import judge_places, long_too, needs_axe
from tests.page.test_browser import number_at, same, show
from tests.page.test_people import wider
from tests.page.test_server_browser import serving
from tests.page.watched import reach, until, watched
from tests.translators import ENGLISH, translating
from tests.writers import writing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROMPT = "She likes the"


@dataclass(frozen=True)
class Opened:
    """What was written, its run, and the page of it."""

    tree: SearchTree
    trace: Trace
    file: Path


def writer() -> Model:
    return writing("llama")


def chatting() -> Model:
    bare = translating(double=False)
    return Model(bare.module, bare.tokenizer, task=ChatSection(), length=24)


def opened_page(model: Model, tree: SearchTree, file: Path) -> Opened:
    trace = Trace.of(trace_of(model, tree))
    trace.to_html(file, title="a writer", searches=[tree], place=PLACE)
    return Opened(tree, trace, file)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    model = writer()
    tree = model.search_tree(PROMPT, temperature=1.2, top_p=0.9, seed=5, max_tokens=8)
    return opened_page(model, tree, tmp_path_factory.mktemp("page") / "story.html")


@pytest.fixture(scope="module")
def reply(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    model = chatting()
    tree = model.search_tree([ENGLISH[1][:12], "She likes"], seed=2, max_tokens=6)
    return opened_page(model, tree, tmp_path_factory.mktemp("page") / "reply.html")


def at_step(page: Page, step: int) -> None:
    page.wait_for_selector(f'.step-slider:has-text("step {step} of")')


def test_a_story_is_played_and_stepped_by_keys(browser: Browser, story: Opened) -> None:
    with watched(browser, offline=True, reduced_motion="no-preference") as page:
        play_and_step(page, story)


def play_and_step(opened: Page, story: Opened) -> None:
    show(opened, story.file)
    first, count = len(story.tree.prompt), len(story.trace.words.inputs[0])
    at_step(opened, first)
    # The word that is written in this step is there; those after it are not yet shown.
    assert opened.locator('[data-where="now"]').count() == 1
    assert opened.locator('[data-where="hidden"]').count() == count - first - 1
    assert opened.locator('[data-given="false"]').count() == count - first
    opened.keyboard.press("ArrowRight")
    at_step(opened, first + 1)
    opened.keyboard.press("ArrowLeft")
    at_step(opened, first)
    for _ in range(2):
        opened.keyboard.press("+")
    until(opened, "document.querySelector('.speed select').value === '8'")
    opened.keyboard.press(" ")
    at_step(opened, count)
    opened.wait_for_selector('.play:text-is("play")')
    opened.keyboard.press("Home")
    at_step(opened, first)
    opened.locator(".whole input").check()
    until(opened, f"document.querySelectorAll('[data-where=later]').length === {count - first - 1}")


def test_each_step_has_what_was_drawn_and_looked_at(window: Page, story: Opened) -> None:
    tree, trace = story.tree, story.trace
    first = len(tree.prompt) - 1
    name = "decoder.blocks.1.self_attention.weights"
    for number, node in list(enumerate(path_of(tree)))[:3]:
        reach(window, story.file, f"level=tree&picture=words&at={first + number}")
        window.wait_for_selector(".drawn")
        assert node.draw is not None
        given = str(window.locator(".drawn").get_attribute("data-draw")).split(",")
        assert [float(each) for each in given] == list(node.draw)
        row = window.locator(f'tr[data-token="{node.token}"]')
        assert row.get_attribute("aria-current") == "true"
        assert same(row.locator("[data-share]").get_attribute("data-share"), node.share or 0)
        probability = float(trace["head.probabilities"][first + number, node.token])
        assert same(row.locator("a").get_attribute("data-value"), probability)
        shown = [each.get_attribute("data-value") for each in window.locator(f'[data-attention="{name}"] span').all()]
        mean = trace[name][0, :, first + number, : first + number + 1].double().mean(dim=0)
        assert len(shown) == len(mean)
        assert torch.allclose(torch.tensor([float(str(each)) for each in shown], dtype=torch.float64), mean, atol=1e-6)
    # The triangle has the row, and opens the head.
    window.locator(".so-far canvas").focus()
    window.keyboard.press("Enter")
    window.wait_for_url(re.compile("level=head"))
    # With one head chosen, a share leads to its number.
    reach(window, story.file, f"level=tree&picture=words&at={first + 1}&options=head=1")
    window.locator(f'[data-attention="{name}"] a').nth(2).click()
    article = number_at(window, name, f"0,1,{first + 1},2")
    assert same(article.get_attribute("data-value"), float(trace[name][0, 1, first + 1, 2]))


def test_the_draws_are_a_tree(window: Page, story: Opened) -> None:
    reach(window, story.file, "level=tree&picture=")
    window.wait_for_selector("tr[data-node]", state="attached")
    assert window.locator("tr[data-node]").count() == len(story.tree.nodes)
    assert "seed 5" in window.locator(".tree-told").inner_text()


def test_a_reply_has_its_turns_and_its_alignment(window: Page, reply: Opened) -> None:
    show(window, reply.file)
    window.wait_for_selector(".read-from p[data-role]")
    roles = window.locator(".read-from p").evaluate_all("all => all.map(each => each.dataset.role)")
    assert roles == ["model", "you"]
    assert window.locator('.growing p[data-role="model"]').count() == 1
    name = "decoder.blocks.1.cross_attention.weights"
    window.wait_for_selector(f'[data-attention="{name}"] span')
    shown = [each.get_attribute("data-value") for each in window.locator(f'[data-attention="{name}"] span').all()]
    mean = reply.trace[name][0, :, 0].double().mean(dim=0)
    assert torch.allclose(torch.tensor([float(str(each)) for each in shown], dtype=torch.float64), mean, atol=1e-6)


def desk_of(name: str, model: Model, folder: Path, text: str) -> Desk:
    return Desk(Models([Offer(name, model.save(folder / name), (text,))], device="cpu"))


def test_a_live_page_writes_after_what_is_typed(browser: Browser, tmp_path: Path) -> None:
    # Where less motion is asked for, what was written does not play by itself.
    desk = desk_of("writer", writer(), tmp_path, "He")
    # The window closes before the server, from which it fetches parts of its script while it is idle.
    with serving(desk, "writer", ("He",)) as address, watched(browser, reduced_motion="reduce") as page:
        page.goto(f"{address}#level=tree&picture=words&options=seed=3,tokens=6")
        page.locator(".writer input").fill(PROMPT)
        page.keyboard.press("Enter")
        expected = writer().search_tree(PROMPT, temperature=None, seed=3, max_tokens=6)
        page.wait_for_selector(f'.step-slider:has-text("step {len(expected.prompt)} of")')
        page.wait_for_selector(".drawn")
        whole = expected.whole_ids(path_of(expected)[-1])
        until(page, "count => document.querySelectorAll('.growing button').length === count", len(whole))
        node = path_of(expected)[0]
        assert node.draw is not None
        given = str(page.locator(".drawn").get_attribute("data-draw")).split(",")
        assert [float(each) for each in given] == pytest.approx(list(node.draw), abs=1e-6)


def test_a_live_page_talks(browser: Browser, tmp_path: Path) -> None:
    with (
        serving(desk_of("chat", chatting(), tmp_path, "Hi"), "chat", ("Hi",)) as address,
        watched(browser, reduced_motion="no-preference") as page,
    ):
        page.goto(f"{address}#level=tree&picture=words&options=seed=2,tokens=5")
        page.wait_for_selector(".read-from p[data-role]")
        before = page.locator(".read-from p").count()
        page.locator(".writer input").fill("She likes")
        page.locator(".writer button[type=submit]").click()
        page.wait_for_selector(f".read-from p:nth-child({before + 1})")
        roles = page.locator(".read-from p").evaluate_all("all => all.map(each => each.dataset.role)")
        assert roles[-1] == "you"
        # It plays by itself, up to its end.
        count = page.locator('.growing p[data-role="model"] button').count()
        at_step(page, count)


@pytest.mark.long
@needs_axe
@long_too
def test_both_are_for_all(browser: Browser, story: Opened, reply: Opened, long: bool) -> None:
    def is_for_all(page: Page) -> None:
        page.wait_for_selector(".so-far canvas")
        assert wider(page) == []

    with watched(browser, bypass_csp=True) as page:
        for each in (story, reply):
            place = f"level=tree&picture=words&at={len(each.tree.prompt)}"
            show(page, each.file, place)
            judge_places(page, [place], ".candidates table", is_for_all, long=long)
