"""The two widest levels in a real browser: the whole model and all heads, their numbers those of the trace."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from glassformer.api.trace import Trace, trace
from glassformer.look.summaries.head_measures import MEASURES, measure
from glassformer.look.trace.cell import Words
from glassformer.page.server import overview
from tests.look.rows import row_named, slides_trace
from tests.page.judged import judge_places, long_too, needs_axe
from tests.page.serving import TEXTS, desk_of, small_model
from tests.page.test_browser import more_row, opened, show  # noqa: F401 (a fixture)
from tests.page.test_server_browser import serving, window  # noqa: F401 (a fixture)
from tests.page.watched import place_of, reach, turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ATTENTION = "encoder.blocks.0.self_attention"
CLOSING = {"inputs": 5, "decoder_inputs": 7}
FAMILIES = ("bert", "llama", "t5", "bert, tags by a CRF", "bert, spans", "bert, several labels")


def traced(name: str) -> Trace:
    """A run of a family with padding, and with tokens that close a text."""
    if name == "slides":
        return slides_trace(dtype=torch.float32)
    row = row_named(name) if "," not in name else more_row(name)
    inputs, decoder_inputs = row.batch(padding="right")
    words = Words(closing=CLOSING)
    return trace(row.model(dtype=torch.float32), inputs, decoder_inputs, words=words, keep="*")


def expected_measures(found: Trace, attention: str, sentence: int) -> torch.Tensor:
    """What Python measures, [heads, what]."""
    axes = found.described(f"{attention}.weights")
    real, ids = found.facts.get(f"{axes.tokens}.real"), found.facts[f"{axes.keys}.ids"]
    closing, crossing = found.words.closing.get(axes.keys), axes.tokens != axes.keys
    looking = found.facts[f"{axes.tokens}.ids"]
    same = looking[sentence][:, None] == ids[sentence][None]
    if not crossing:
        same &= ~torch.eye(len(same), dtype=torch.bool)
    return measure(
        found[f"{attention}.weights"][sentence],
        found[f"{attention}.may_look"].bool().expand(len(ids), -1, -1, -1)[sentence],
        None if real is None else real[sentence],
        None if closing is None else ids[sentence] == closing,
        None if crossing and found.words.source_vocabulary else same,
        crossing=crossing,
    )


def check_table(page: Page, found: Trace, sentence: int) -> int:
    """Every number of the table of heads is the one that Python measures; returns how many there are."""
    page.wait_for_selector("tr[data-head]", state="attached")
    shown = page.locator("tr[data-head]").evaluate_all(
        "rows => rows.map(row => [row.dataset.head,"
        " [...row.querySelectorAll('[data-measure]')].map(({dataset}) => [dataset.measure, Number(dataset.value)])])"
    )
    attentions = [name.removesuffix(".weights") for name in found if name.endswith("_attention.weights")]
    expected = {name: expected_measures(found, name, sentence) for name in attentions}
    assert len(shown) == sum(len(each) for each in expected.values())
    count = 0
    for id_, measures in shown:
        attention, head = id_.split(" ")
        for name, value in measures:
            wanted = float(expected[attention][int(head)][MEASURES.index(name)])
            assert math.isnan(value) if math.isnan(wanted) else value == pytest.approx(wanted, abs=2e-6), (id_, name)
            count += not math.isnan(wanted)
    return count


@pytest.mark.sampled(1)
@pytest.mark.parametrize("family", ["slides", *FAMILIES[:3]])
def test_what_heads_do_is_what_python_measures(family: str, opened: Page, tmp_path: Path) -> None:  # noqa: F811
    found = traced(family)
    found.to_html(tmp_path / "page.html")
    for sentence in range(min(2, next(iter(found.facts.values())).shape[0])):
        reach(opened, tmp_path / "page.html", f"level=heads&sentence={sentence}")
        assert check_table(opened, found, sentence) > 10


@pytest.fixture(scope="module")
def live_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("model"))


def test_a_large_live_run_sends_only_what_the_level_shows(
    window: Page,  # noqa: F811
    live_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(overview, "MOST_WHOLE", 100)
    asked: list[str] = []
    window.on("request", lambda request: asked.append(request.url))
    desk = desk_of(live_folder)
    with serving(desk, model="small", texts=(" ".join(TEXTS[:2]),)) as address:
        window.goto(f"{address}#level=heads")
        window.wait_for_selector("tr[data-head]", state="attached")
        (run,) = desk.runs.values()
        assert check_table(window, Trace.of(run.trace), 0) > 10
        assert sum("/heads?" in url for url in asked) == 1  # both attentions in one answer
        window.goto(f"{address}#level=model")
        window.wait_for_selector(".answer")
        # Both levels are there without a tensor sent whole.
        assert [url for url in asked if "/numbers" in url or ("/tensor?" in url and "part=&" in f"{url}&")] == []
        window.goto("about:blank")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("family", ["slides", *FAMILIES])
def test_the_parts_of_a_model_have_all_its_weights_and_its_answers(
    family: str,
    opened: Page,  # noqa: F811
    tmp_path: Path,
) -> None:
    found = traced(family)
    found.to_html(tmp_path / "page.html")
    show(opened, tmp_path / "page.html", "level=model")
    opened.wait_for_selector("canvas")
    rows = opened.locator("tr[data-unit]").evaluate_all(
        "rows => rows.map(({dataset}) => [dataset.unit, Number(dataset.weights)])"
    )
    assert sorted(unit for unit, _ in rows) == sorted(set(map(found.statement.unit, found)))
    read = {operand.name for formula in found.statement.formulas.values() for operand in formula.rule.operands.values()}
    weights = sum(tensor.numel() for name, tensor in found.parameters.items() if name in read)
    assert sum(count for _, count in rows) == weights
    opened.wait_for_selector("a[data-answer]", state="attached")
    answers = opened.locator("a[data-answer]").evaluate_all(
        "all => all.map(({dataset}) => [dataset.answer, dataset.cell, Number(dataset.share)])"
    )
    assert answers
    for name, cell, share in answers:
        assert share == pytest.approx(float(found[name][tuple(map(int, cell.split(",")))]), abs=1e-7)


def test_a_small_model_starts_with_its_tensors_a_larger_one_with_its_parts(opened: Page, tmp_path: Path) -> None:  # noqa: F811
    for family, level in (("slides", "block"), ("bert", "model")):
        traced(family).to_html(tmp_path / "page.html")
        show(opened, tmp_path / "page.html")
        opened.wait_for_selector(f"main[data-level={level}] canvas")
        assert (opened.locator(".under").count() == 1) is (level == "model")


def test_keys_lead_from_the_model_to_a_head_and_back(opened: Page, tmp_path: Path) -> None:  # noqa: F811
    traced("bert").to_html(tmp_path / "page.html")
    show(opened, tmp_path / "page.html")
    opened.locator("canvas").first.focus()
    opened.keyboard.press("ArrowDown")
    until(opened, "location.hash.includes('unit=encoder.blocks.1')")
    opened.keyboard.press("Enter")
    until(opened, "location.hash.includes('level=block') || !location.hash.includes('level')")
    opened.keyboard.press("Escape")
    opened.wait_for_selector(".under")
    turn(opened, "level=heads", anew=False)
    opened.wait_for_selector("tr[data-head]", state="attached")
    opened.locator("canvas").first.focus()
    opened.keyboard.press("End")
    until(opened, "location.hash.includes('encoder.blocks.1.self_attention.weights&cell=0,2')")
    opened.keyboard.press("Enter")
    until(opened, "!location.hash.includes('level=heads')")
    assert "encoder.blocks.1.self_attention.weights" in place_of(opened)
    opened.go_back()
    opened.wait_for_selector("tr[data-head]", state="attached")
    opened.keyboard.press("Escape")
    opened.wait_for_selector(".under")


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file: Path = tmp_path_factory.mktemp("pages") / "t5.html"
    traced("t5").to_html(file)
    return file


@pytest.mark.long
@needs_axe
@long_too
def test_both_levels_fit_and_can_be_read(browser: Browser, t5: Path, long: bool) -> None:
    """Of a model with two stacks; those of the slides' model are judged in `test_people.py`."""
    with watched(browser, bypass_csp=True) as page:
        show(page, t5)
        judge_places(page, ("level=model", "level=heads"), "main canvas", long=long)
