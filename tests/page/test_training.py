"""How a model learned, on its page: the numbers are those that the run has kept, whatever step is in hand; and a page
that follows a training while it goes on.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from glassformer.api.load import load
from glassformer.api.train import train
from glassformer.look.summaries.head_measures import MEASURES
from glassformer.page.sections.training import Training, averaged, is_running, training_sections, watched_texts
from glassformer.training.progress import NoProgress
from glassformer.training.record import FILE, read_watched
from glassformer.training.stopping import exclusive
from tests.page.judged import judge_places, long_too, needs_axe
from tests.page.serving import desk_of, served
from tests.page.test_page import blocks
from tests.page.test_server_browser import serving
from tests.page.together import try_each
from tests.page.watched import reach, until, watched
from tests.run.conftest import prose
from tests.run.runs import recipe

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SENTENCES = ("She [MASK] the summer.", "It [MASK] after [MASK] days.")
STEPS = 40


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run with watched sentences."""
    folder = tmp_path_factory.mktemp("training")
    text = folder / "prose.txt"
    text.write_text(prose(), encoding="utf-8")
    wanted = recipe(text, steps=STEPS, evaluate_every=15) | {"watch": {"sentences": list(SENTENCES)}}
    train(wanted, out=folder / "run", progress=NoProgress())
    return folder / "run"


@pytest.fixture(scope="module")
def file(run: Path) -> Path:
    page = run.parent / "page.html"
    load(run).trace(SENTENCES[0]).to_html(page, training=run)
    return page


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Page]:
    with watched(browser, offline=True, reduced_motion="no-preference") as window:
        yield window


@pytest.fixture
def page(window: Page, file: Path) -> Page:
    reach(window, file, "level=training")
    window.wait_for_selector(".training .scrubber")
    return window


def put(page: Page, place: int) -> None:
    """Move the slider to a record."""
    page.locator(".scrubber input").evaluate(
        "(input, place) => { input.value = place; input.dispatchEvent(new Event('input', { bubbles: true })); }", place
    )


@pytest.mark.long
def test_the_section_is_what_the_run_has_kept(run: Path, file: Path) -> None:
    record = json.loads(blocks(file.read_text())["section-training"])
    found = read_watched(run / FILE)
    assert record["records"] == list(found.records.values())
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [point[:2] for point in record["curve"]["points"]] == [[line["step"], line["loss"]] for line in lines]
    assert [each["step"] for each in record["evaluated"]] == [15, 30, 40]
    assert record["baselines"] == ["unigram"]
    assert not record["running"]
    assert training_sections(run.parent) == {}
    assert watched_texts(run) == (SENTENCES, None)


@pytest.mark.long
def test_random_records_show_their_own_numbers(page: Page, run: Path) -> None:
    records = list(read_watched(run / FILE).records.values())
    try_each(random.Random(0).sample(range(1, len(records)), 3), lambda place: check_record(page, run, place))


def check_record(page: Page, run: Path, place: int) -> None:
    """Every number of a record, once it is in hand."""
    record = list(read_watched(run / FILE).records.values())[place]
    put(page, place)
    page.locator("h1", has_text=f"After step {record['step']} of {STEPS}").wait_for()
    for index, sentence in enumerate(record["sentences"]):
        shown = (
            page.locator(".watched")
            .nth(index)
            .locator(".digits")
            .evaluate_all("all => all.map((each) => Number(each.dataset.value))")
        )
        assert shown == [share for guesses in sentence["places"] for _, share in guesses]
        words = page.locator(".watched").nth(index).locator(".guess").all_inner_texts()
        assert [word.strip() for word in words] == [word for guesses in sentence["places"] for word, _ in guesses]
    for fact in ("loss", "mean", "learning_rate", "epoch"):
        kept = "rate" if fact == "learning_rate" else fact
        assert float(page.locator(f"[data-fact={kept}]").get_attribute("data-value") or "nan") == record[fact]
    # The pictures: the page's own bytes of a head, against those of the record.
    header = read_watched(run / FILE).header
    assert header is not None
    measured = np.frombuffer(base64.b64decode(record["sentences"][0]["measured"]), "<f4").reshape(-1, len(MEASURES))
    label = page.locator(f"[data-heads-of='{record['step']}'] canvas").get_attribute("aria-label")
    assert label == f"All heads after step {record['step']}"
    assert len(measured) == sum(each["heads"] for each in header["sentences"][0]["attentions"])


def test_the_slider_by_keys_and_the_address(page: Page, run: Path) -> None:
    steps = list(read_watched(run / FILE).records)
    page.locator(".scrubber input").focus()
    page.keyboard.press("Home")
    page.locator("h1", has_text="Before the first step").wait_for()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.locator("h1", has_text=f"After step {steps[2]} of").wait_for()
    page.wait_for_url(re.compile("at=2"))
    page.keyboard.press("Shift+A")
    page.wait_for_url(re.compile("A[.]2"))
    page.keyboard.press("End")
    page.locator("h1", has_text=f"After step {STEPS} of").wait_for()
    columns = """() => [...document.querySelector(".watched").querySelectorAll(".column")].map(
        ({ dataset }) => dataset.step).join()"""
    until(page, f"kept => ({columns})() === kept", f"2,{STEPS}")
    page.wait_for_url(lambda address: "at=" not in address)  # it is written when the hand rests
    page.reload()
    page.locator("h1", has_text=f"After step {STEPS} of").wait_for()
    until(page, f"kept => ({columns})() === kept", f"2,{STEPS}")
    # Without focus on the slider the same keys move it, and the table has a row for each record.
    page.locator("body").click(position={"x": 600, "y": 60})
    page.keyboard.press("ArrowLeft")
    page.locator("h1", has_text=f"After step {steps[-2]} of").wait_for()
    page.locator("summary", has_text="the same as a table").click()
    until(page, f"document.querySelectorAll('tr[data-record]').length === {len(steps)}")


def test_nothing_plays_by_itself_where_less_motion_is_asked_for(browser: Browser, file: Path) -> None:
    with watched(browser, offline=True, reduced_motion="reduce") as page:
        page.goto(f"{file.as_uri()}#level=training&at=3")
        page.locator(".scrubber .play", has_text="next").click()
        page.locator("h1", has_text="After step 4 of").wait_for()
        page.wait_for_timeout(600)
        assert "After step 4 of" in page.locator("h1").inner_text()


def test_it_plays_to_the_end_and_stops(page: Page) -> None:
    put(page, 27)
    page.locator(".scrubber .play").click()
    page.locator("h1", has_text=f"After step {STEPS} of").wait_for()
    page.locator(".scrubber .play", has_text="play").wait_for()


@pytest.mark.long
@needs_axe
@long_too
def test_nothing_serious_for_those_who_cannot_see_it(browser: Browser, file: Path, long: bool) -> None:
    with watched(browser, bypass_csp=True, reduced_motion="no-preference") as page:
        page.goto(f"{file.as_uri()}#level=training&at=5&options=A.2")
        judge_places(page, ["level=training&at=5&options=A.2"], ".scrubber", long=long)


def test_a_run_without_sentences_shows_its_curve_and_what_to_do(browser: Browser, run: Path, tmp_path: Path) -> None:
    for name in ("glassformer.json", "model.safetensors", "tokenizer.json", "metrics.jsonl", "metrics.json"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    load(tmp_path).trace(SENTENCES[0]).to_html(tmp_path / "page.html", training=tmp_path)
    with watched(browser, offline=True, reduced_motion="no-preference") as page:
        page.goto(f"{(tmp_path / 'page.html').as_uri()}#level=training")
        page.locator("p", has_text="No sentences were watched").wait_for()
        page.locator("code", has_text="--watch").wait_for()
        page.locator(".training canvas").wait_for()
        page.locator("summary", has_text="the same as a table").click()
        until(page, "document.querySelectorAll('.training tbody tr').length === 5")


# --------------------------------------------------------------------------- while it trains


def test_what_is_sent_while_it_trains_comes_once(run: Path, tmp_path: Path) -> None:
    lines = (run / FILE).read_text().splitlines(keepends=True)
    log = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / FILE).write_text("".join(lines[:6]))
    (tmp_path / "metrics.jsonl").write_text(log[0] + log[1][:9])
    training = Training(tmp_path)
    first = training.record()
    assert [record["step"] for record in first["records"]] == [0, 1, 2, 3, 4]
    assert first["fresh"]
    assert len(first["curve"]["points"]) == 1
    with (tmp_path / FILE).open("a") as file:
        file.write("".join(lines[6:9]) + lines[9][:50])
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write(log[1][9:] + log[2])
        file.write('{"step": 1e999, "loss": 1, "learning_rate": 1}\n{"step": 9, "loss": 1e999, "learning_rate": 1}\n')
        file.write(f'{{"step": 9, "loss": {"9" * 400}, "learning_rate": 1}}\n')
    then = training.record(first["mark"])
    assert not then["fresh"]
    assert [record["step"] for record in then["records"]] == [5, 6, 7]
    assert len(then["curve"]["points"]) == 3
    (tmp_path / "other").write_text("".join(lines))  # written anew, as when every second record is dropped
    (tmp_path / "other").rename(tmp_path / FILE)
    anew = training.record(then["mark"])
    assert anew["fresh"]
    assert len(anew["records"]) == len(lines) - 1
    assert not is_running(tmp_path)
    with exclusive(tmp_path):
        assert is_running(tmp_path)
    many = [(step, float(step), 0.1) for step in range(10, 100_000, 10)]
    points = averaged(many, 600)
    assert len(points["points"]) <= 600
    assert points["points"][0][1] == pytest.approx(np.mean([loss for _, loss, _ in many[: points["lines"]]]))


def test_a_damaged_record_is_left_out_and_reported(run: Path, tmp_path: Path) -> None:
    lines = (run / FILE).read_text().splitlines(keepends=True)
    damaged = json.loads(lines[4])
    damaged["loss"] = 0.0
    lines[4] = json.dumps(damaged) + "\n"
    (tmp_path / FILE).write_text("".join(lines))
    (tmp_path / "metrics.jsonl").write_text("")
    found = Training(tmp_path).record()
    assert found["damaged"] == 1
    assert 3 not in [record["step"] for record in found["records"]]


@pytest.fixture
def unfinished(run: Path, tmp_path: Path) -> Path:
    """The folder of a run that has made five records and saved no model."""
    folder = tmp_path / "going-on"
    folder.mkdir()
    for name in ("recipe.toml", "tokenizer.json"):
        (folder / name).write_bytes((run / name).read_bytes())
    lines = (run / FILE).read_text().splitlines(keepends=True)
    (folder / FILE).write_text("".join(lines[:6]))
    (folder / "metrics.jsonl").write_text("")
    return folder


def test_the_server_sends_a_training_that_has_no_model_yet(unfinished: Path, run: Path) -> None:
    desk = desk_of(unfinished)
    with served(desk) as asked:
        overview = asked.overview(unfinished.name, SENTENCES)
        assert overview["formulas"] == []
        assert asked.get(f"api/models/{unfinished.name}/vocabulary").json() == []
        found = asked.get(f"api/models/{unfinished.name}/training").json()
        assert [record["step"] for record in found["records"]] == [0, 1, 2, 3, 4]
        assert not found["saved"]
        then = asked.get(f"api/models/{unfinished.name}/training", known=found["mark"]).json()
        assert then["records"] == []
        assert asked.get("api/models/slides/training").json() is None
        asked.error(asked.get("api/models/slides/training", known="../x"), 400)
        asked.error(asked.get("api/models/nobody/training"), 404)


def test_a_page_follows_a_training_and_opens_the_model_at_its_end(
    browser: Browser, unfinished: Path, run: Path
) -> None:
    lines = (run / FILE).read_text().splitlines(keepends=True)
    with (
        serving(desk_of(unfinished), unfinished.name, SENTENCES) as address,
        watched(browser, reduced_motion="no-preference") as page,
    ):
        with exclusive(unfinished):
            page.goto(address)
            page.locator("h1", has_text="After step 4 of").wait_for()
            page.locator("p", has_text="The training goes on").wait_for()
            with (unfinished / FILE).open("a") as file:
                file.write("".join(lines[6:12]))
            page.locator("h1", has_text="After step 10 of").wait_for()
            put(page, 3)  # who looks at a step is left there
            page.locator("h1", has_text="After step 3 of").wait_for()
            with (unfinished / FILE).open("a") as file:
                file.write("".join(lines[12:15]))
            page.locator(".scrubber input[max='13']").wait_for()
            assert "After step 3 of" in page.locator("h1").inner_text()
            for each in run.iterdir():
                if each.is_file() and each.name != FILE:
                    (unfinished / each.name).write_bytes(each.read_bytes())
        page.locator("button", has_text="Open the model").click()
        page.locator("nav a", has_text="all heads").first.wait_for()
        page.locator("h1", has_text="After step 3 of").wait_for()
