"""The search in a real browser: its table, the sum of a score, nodes opened as runs, the answer word by word."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from glassformer.api.model import Model
from glassformer.api.trace import Trace, trace
from glassformer.decode.record import Node
from glassformer.look.texts.tree import SearchTree
from tests.look.rows import row_named
from tests.page.judged import judge_places, long_too, needs_axe
from tests.page.test_browser import number_at, same, show
from tests.page.test_people import wider
from tests.page.test_server_browser import serving
from tests.page.test_server_trees import translating
from tests.page.watched import at_rest, reach, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXT = "A man is playing the guitar."


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    """A window without a network."""
    with watched(browser, offline=True) as page:
        yield page


@pytest.fixture(scope="module")
def tree(translator: Model) -> SearchTree:
    return translator.search_tree(TEXT)


@pytest.fixture(scope="module")
def found(translator: Model) -> Trace:
    return translator.trace(TEXT)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, tree: SearchTree, found: Trace) -> Path:
    place: Path = tmp_path_factory.mktemp("page") / "tree.html"
    found.to_html(place, title="en-fr", searches=[tree])
    return place


def node_of(tree: SearchTree, page: Page) -> Node:
    """The node in hand, by the address."""
    at_rest(page)
    at = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('at')")
    return tree.nodes[int(str(at).split(",")[-1])]


def sum_shown(page: Page) -> list[str | None]:
    """The addends of the score next to the picture, and the total."""
    page.wait_for_selector(".addends")
    return [cell.get_attribute("data-value") for cell in page.locator(".addends td").all()]


@pytest.mark.long
def test_the_table_has_every_node_and_the_sum_each_addend(opened: Page, file: Path, tree: SearchTree) -> None:
    reach(opened, file, "level=tree")
    opened.wait_for_selector("tr[data-node]", state="attached")
    shown = opened.locator("tr[data-node]").evaluate_all(
        "rows => rows.map(row => [Number(row.dataset.node), row.dataset.best === 'true',"
        " [...row.querySelectorAll('td[data-value]')].map(({dataset}) => dataset.value)])"
    )
    assert tree.best is not None
    best = {node.number for node in tree.path(tree.best)}
    assert sorted(number for number, _, _ in shown) == list(range(len(tree.nodes)))
    for number, is_best, (logarithm, total) in shown:
        node = tree.nodes[number]
        assert is_best == (number in best)
        assert same(logarithm, node.log_probability)
        assert same(total, node.total)
    for node in random.Random(3).sample(tree.nodes, 3):
        reach(opened, file, f"level=tree&at={node.number}")
        *addends, total = sum_shown(opened)
        path = tree.path(node)
        assert len(addends) == len(path)
        assert all(same(shown, each.log_probability) for shown, each in zip(addends, path, strict=True))
        assert same(total, node.total)
        assert same(opened.locator(".tree-score b").get_attribute("data-value"), node.score)


def test_keys_walk_the_tree_and_an_addend_leads_to_its_number(
    opened: Page, file: Path, tree: SearchTree, found: Trace
) -> None:
    reach(opened, file, "level=tree")
    canvas = opened.locator("main canvas")
    canvas.focus()
    opened.keyboard.press("End")
    assert node_of(tree, opened) == tree.best
    opened.keyboard.press("ArrowLeft")
    before = tree.path(node_of(tree, opened))
    assert tree.best is not None
    assert before == tree.path(tree.best)[:-1]
    opened.keyboard.press("ArrowDown")
    assert node_of(tree, opened).step == before[-1].step
    assert node_of(tree, opened) != before[-1]
    # Every addend of the answer stands in the run that the page carries.
    reach(opened, file, f"level=tree&at={tree.best.number}")
    opened.locator(".addends td a").nth(2).wait_for()
    until(opened, "document.body.innerText.includes('compared with the trace')")
    opened.locator(".addends td a").nth(2).click()
    node = tree.path(tree.best)[2]
    article = number_at(opened, "head.log_probabilities", f"2,{node.token}")
    assert same(article.get_attribute("data-value"), float(found["head.log_probabilities"][2, node.token]))


def test_a_node_of_the_answer_opens_there_and_another_one_names_its_command(
    opened: Page, file: Path, tree: SearchTree
) -> None:
    assert tree.best is not None
    third = tree.path(tree.best)[3]
    reach(opened, file, f"level=tree&at={third.number}")
    canvas = opened.locator("main canvas")
    canvas.focus()
    opened.locator(".opens").wait_for()
    opened.keyboard.press("Enter")
    opened.wait_for_selector(".growing")
    assert "step 4 of" in opened.locator(".step-slider").inner_text()
    opened.keyboard.press("Escape")
    opened.wait_for_selector("main canvas")
    assert node_of(tree, opened) == third
    lost = next(node for node in tree.nodes if node.step == 4 and tree.path(node)[0] != tree.path(tree.best)[0])
    reach(opened, file, f"level=tree&at={lost.number}")
    until(opened, "document.body.innerText.includes('This word opens live')")
    assert "glassformer explore en-fr" in opened.locator(".inspector").inner_text()


def test_word_by_word_shows_the_numbers_of_the_step(opened: Page, file: Path, tree: SearchTree, found: Trace) -> None:
    reach(opened, file, "level=tree&picture=words&at=2")
    opened.wait_for_selector("tr[data-token] a[data-value]")
    opened.locator("input[type=range]").focus()
    opened.keyboard.press("ArrowRight")
    until(opened, "document.querySelector('.step-slider').innerText.includes('step 4 of')")
    until(opened, "document.querySelectorAll('.shares').length === 2")
    rows = opened.locator("tr[data-token]")
    probabilities = found["head.probabilities"][3]
    until(
        opened,
        f"document.querySelector('tr[data-token]').dataset.token === '{int(probabilities.argmax())}'",
    )
    for row in rows.all():
        token = int(str(row.get_attribute("data-token")))
        assert same(row.locator("a").get_attribute("data-value"), float(probabilities[token]))
    until(
        opened,
        "token => document.querySelector('tr[data-token][aria-current=true]')?.dataset.token === token",
        str(int(found.facts["decoder_inputs.ids"][0, 4])),
    )
    last = len(found.config.output_stack.blocks) - 1
    for kind, count in (("self_attention", 4), ("cross_attention", len(found.words.inputs[0]))):
        name = f"decoder.blocks.{last}.{kind}.weights"
        shown = opened.locator(f'[data-attention="{name}"] [data-value]')
        until(
            opened,
            "([name, count]) => document.querySelectorAll(`[data-attention='${name}'] [data-value]`).length === count",
            [name, count],
        )
        mean = found[name][0, :, 3].double().mean(dim=0)
        values = [float(str(each.get_attribute("data-value"))) for each in shown.all()]
        assert torch.allclose(torch.tensor(values, dtype=torch.float64), mean[:count], atol=1e-6)
    opened.locator(".look-choice select").last.select_option("1")
    share = opened.locator(f'[data-attention="decoder.blocks.{last}.cross_attention.weights"] a[data-value]').nth(2)
    share.click()
    name = f"decoder.blocks.{last}.cross_attention.weights"
    article = number_at(opened, name, "0,1,3,2")
    assert same(article.get_attribute("data-value"), float(found[name][0, 1, 3, 2]))


@pytest.mark.long
def test_any_node_of_a_live_page_opens_as_its_run(browser: Browser, translator: Model) -> None:
    text, model = "Two dogs run.", translator
    tree = model.search_tree(text)
    assert tree.best is not None
    lost = next(node for node in tree.nodes if node.fate == "below" and node.step == 2)
    # The window closes before the server, from which it fetches parts of its script while it is idle.
    with serving(translating(), "en-fr", (text,)) as address, watched(browser) as window:
        window.goto(f"{address}#level=tree&at={lost.number}")
        window.locator("main canvas").focus()
        window.keyboard.press("Enter")
        window.wait_for_selector(".changes li")
        window.wait_for_selector('.step-slider:has-text("step 3 of 4")')
        run = model.trace(text, target_ids=tree.decoder_ids(lost))
        row = window.locator(f'tr[data-token="{lost.token}"] a')
        row.wait_for()
        value = float(row.get_attribute("data-value") or "nan")
        # The server ran a batch of other lengths: float32 adds in another order.
        assert value == pytest.approx(float(run["head.probabilities"][2, lost.token]), rel=2e-6)
        # Another way to search is another tree.
        window.keyboard.press("Escape")
        window.locator(".tree-ways select").nth(1).select_option("2")
        window.wait_for_selector('.tree-told:has-text("beam of 2")')
        expected = model.search_tree(text, beams=2)
        until(
            window,
            "count => document.querySelectorAll('tr[data-node]').length === count",
            len(expected.nodes),
        )


def test_an_encoder_says_that_it_writes_nothing(opened: Page, slides_page: Path) -> None:
    reach(opened, slides_page, "level=tree")
    assert "no decoder" in opened.locator("main .says").inner_text()


def test_a_decoder_alone_is_read_word_by_word(opened: Page, tmp_path: Path) -> None:
    row = row_named("gpt2")
    inputs, _ = row.batch(padding="none")
    found = trace(row.model(dtype=torch.float32), inputs, keep="*")
    found.to_html(tmp_path / "gpt2.html")
    reach(opened, tmp_path / "gpt2.html", "level=tree")
    assert "carries no search" in opened.locator(".wrong").inner_text()
    reach(opened, tmp_path / "gpt2.html", "level=tree&picture=words&at=1&sentence=1")
    opened.wait_for_selector("tr[data-token] a")
    place = next(at for at, each in enumerate(found.chosen_tokens) if tuple(each) == (1, 1))
    first = opened.locator("tr[data-token]").first
    best = int(found["head.probabilities"][place].argmax())
    assert first.get_attribute("data-token") == str(best)
    opened.locator(".shares").wait_for()


@pytest.mark.long
@needs_axe
@long_too
def test_both_are_for_all(browser: Browser, file: Path, long: bool) -> None:
    def is_for_all(page: Page) -> None:
        assert wider(page) == []

    with watched(browser, bypass_csp=True) as page:
        show(page, file, "level=tree&at=2")
        for picture, drawn in (("", "main canvas"), ("words", ".candidates table")):
            judge_places(page, [f"level=tree&at=2&picture={picture}"], drawn, is_for_all, long=long)
