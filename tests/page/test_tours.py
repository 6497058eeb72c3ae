"""The tours of the decoder and of a translation: on every model that writes, their sums against torch, by keyboard."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from glassformer.api.model import Model
from glassformer.api.trace import Trace, trace
from glassformer.models.inputs import Inputs
from glassformer.page.page import page
from glassformer.page.tour import tour_texts
from glassformer.parts.activity import Reading, activity_matrix
from tests.look.rows import row_named
from tests.page.test_browser import show
from tests.page.test_tour import check_steps, tell, tell_all, texts_of, walk
from tests.page.watched import reach, until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.long  # the tours of the slides and of BERT stay in `make test`

Tours = dict[str, list[dict[str, Any]]]
CORRECTIONS = {
    "translation": {"C-5", "C-8", "C-9", "C-16", "C-32", "C-36", "C-37", "C-39"},
    "decoder": {"C-16", "C-31", "C-34", "C-37", "C-38"},
    "notes": {"C-6", "C-9", "C-10", "C-12", "C-38"},
    "post": {"C-27", "C-28", "C-29", "C-35"},
    "guide": {"C-30", "C-44"},
}
OF_DOCUMENTS = ("notes", "post", "guide")


@pytest.fixture(scope="module")
def tours(translator: Model, student_page: Path, demo_page: Path, tmp_path_factory: pytest.TempPathFactory) -> Tours:
    """Both tours of the translator, of the text alone and with a longer one; the documents' of it and the slides."""
    file = tmp_path_factory.mktemp("tours") / "two.html"
    longer = "The animal didn't cross the street because it was too tired."
    translator.trace(["I am a student.", longer]).to_html(file, title="two", megabytes=64)
    both = {tour: [student_page, file] for tour in ("translation", "decoder")}
    return tell_all(both | {tour: [student_page, demo_page] for tour in OF_DOCUMENTS})


def said(answer: dict[str, Any]) -> dict[str, str]:
    """All that a step says of the first text, by its key."""
    rows = [row for row in answer["rows"] if row["sentence"] == 0]
    return {row["key"]: " ".join(row[part] for part in ("text", "question", "answer")) for row in rows}


def written(value: float, digits: int = 3) -> str:
    """A number as the page writes it."""
    return f"{value:.{digits}f}".replace("-", "−")


def test_the_tours_say_where_the_documents_are_imprecise() -> None:
    for tour, corrections in CORRECTIONS.items():
        texts = tour_texts()[tour]
        assert corrections <= {text for step in texts.values() for name, text in texts_of(step) if name == "correction"}


def test_the_sums_of_the_translation_are_those_of_torch(student: Trace, tours: Tours) -> None:
    answer, _ = tours["translation"]
    check_steps(student, answer)
    texts = said(answer)
    target = student.facts["decoder_inputs.ids"][0].tolist()
    logs = student["head.log_probabilities"].double()
    sums = [float(logs[place, word]) for place, word in enumerate(target[1:])]
    assert f"over all, it is {written(-sum(sums) / len(sums))}" in texts["loss"]
    assert f"{written(sum(sums))} for {len(sums)} tokens" in texts["beam"]
    assert f"has {math.exp(sum(sums)) * 100:.0f} %" in texts["beam"]
    assert "15: a triangle" in texts["triangle"]
    # The head that looks most at the words that all of the last block look at where the three words are written.
    assert "for suis at am (" in texts["looks"]
    assert "for étudiant at student (" in texts["looks"]
    crossed = [student[f"decoder.blocks.{block}.cross_attention.weights"][0].double() for block in range(3)]
    sought = crossed[-1].mean(dim=0)[:3].argmax(dim=-1).tolist()
    assert sought == [0, 1, 3]
    shares = {
        (block, head): [float(its[head, query, key]) for query, key in enumerate(sought)]
        for block, its in enumerate(crossed)
        for head in range(4)
    }
    block, head = max(shares, key=lambda each: shares[each][0] * sum(shares[each]))
    assert f"Head {head} of block {block} looks" in texts["looks"]
    # The place where the likeliest word is the least likely.
    open_place = int(student["head.probabilities"].max(dim=-1).values.argmin())
    assert open_place == 2
    assert "after suis" in texts["candidates"]
    rest = 1 - float(student["head.probabilities"][open_place].double().topk(3).values.sum())
    assert f"{rest * 100:.2g} %" in texts["candidates"]


def test_without_its_last_word_the_decoder_has_the_same_earlier_keys(
    student: Trace, translator: Model, tours: Tours
) -> None:
    """The page runs the decoder again, one token shorter; so does this test, with the model itself."""
    answer, _ = tours["decoder"]
    row = next(row for row in answer["rows"] if row["key"] == "cache")
    model = translator.module
    shorter = trace(
        model,
        Inputs(ids=student.facts["inputs.ids"]),
        Inputs(ids=student.facts["decoder_inputs.ids"][:, :-1]),
    )
    name = "decoder.blocks.1.self_attention.key"
    was = shorter[name][0, row["at"]["cell"][1], -1, 0]
    assert f"began with {written(float(was))}" in row["text"]
    torch.testing.assert_close(shorter[name], student[name][:, :, :-1], rtol=1e-4, atol=1e-5)
    assert f"{2 * shorter[name].numel():,} numbers" in row["answer"]


@pytest.mark.parametrize("tour", ["translation", "decoder"])
def test_padding_is_no_part_of_a_shorter_text(tour: str, tours: Tours) -> None:
    """With a longer one, a text has the same sums as alone, and its own last word is left out."""
    one, two = map(said, tours[tour])
    changed = {"end", "cache", "stacks", "words"}
    assert one.keys() - changed
    for key in one.keys() - changed:
        assert one[key] == two[key]


def test_where_angles_depend_on_the_length_earlier_keys_are_said_to_move(tmp_path: Path) -> None:
    row = row_named("llama, stretched dynamic")
    inputs, _ = row.batch(padding="none")
    file = tmp_path / "page.html"
    file.write_text(page(trace(row.model(dtype=torch.float32), inputs, keep="*")), encoding="utf-8")
    (answer,) = tell([file], "decoder")
    assert "is not exact here" in said(answer)["cache"]


@pytest.mark.parametrize("tour", OF_DOCUMENTS)
def test_each_document_has_a_tour_in_its_order(tour: str, tours: Tours, student: Trace, demo: Trace) -> None:
    """A step is found as in the tour that it comes from, and says where the document has it."""
    for found, answer in zip((student, demo), tours[tour], strict=True):
        check_steps(found, answer)
        assert all(why for _, why in answer["left"])
        sources = [row["source"] for row in answer["rows"] if row["sentence"] == 0]
        assert sum(bool(source) for source in sources) >= 5
    if tour == "notes":
        times = [tuple(map(int, source.split(", ")[-1].split(":"))) for source in sources if source]
        assert {len(time) for time in times} == {2, 3}  # minutes and seconds; hours too


def test_the_tour_of_the_post_has_the_three_readings(demo: Trace, tours: Tours) -> None:
    """The page's sums are those of the package: the words' vectors, two of five words hidden."""
    texts = said(tours["post"][1])
    vectors = demo["encoder.embed.sum"][0]
    readings: dict[str, Reading] = {"identity": "code", "stated": "stated", "both": "pairs"}
    for key, reading in readings.items():
        found = activity_matrix(vectors, (1, 2), reading=reading)
        assert f"Of 25 pairs {int(found.allowed.sum())} are left" in texts[key]
    assert f"She gives {written(float(found.pairs[1, 0]))}" in texts["pairs"]
    assert f"{float(found.weights[0, 4]) * 100:.1f} %" in texts["both"]


# --------------------------------------------------------------------------- in a browser


@pytest.mark.parametrize("tour", ["translation", "decoder"])
def test_a_translator_has_both_tours_by_keyboard(tour: str, opened: Page, student: Trace, student_page: Path) -> None:
    show(opened, student_page)
    steps = walk(opened, student, judge=True, tour=tour)
    assert steps == len(tour_texts()[tour])


def test_the_tour_of_the_post_by_keyboard(opened: Page, demo: Trace, demo_page: Path) -> None:
    show(opened, demo_page)
    assert walk(opened, demo, judge=True, tour="post") == len(tour_texts()["post"])


@pytest.mark.parametrize("tour", ["notes", "guide"])
def test_the_tours_of_long_documents_by_keyboard(tour: str, opened: Page, student: Trace, student_page: Path) -> None:
    show(opened, student_page)
    assert walk(opened, student, judge=True, tour=tour) >= 30


@pytest.mark.parametrize(
    ("family", "tour"),
    [
        ("gpt2", "decoder"),
        pytest.param("t5", "translation", marks=pytest.mark.long),
        pytest.param("llama", "decoder", marks=pytest.mark.long),
        pytest.param("marian", "translation", marks=pytest.mark.long),
    ],
)
def test_the_tours_of_other_families_by_keyboard(family: str, tour: str, opened: Page, tmp_path: Path) -> None:
    inputs, decoder_inputs = row_named(family).batch(padding="none")
    found = trace(row_named(family).model(dtype=torch.float32), inputs, decoder_inputs, keep="*")
    found.to_html(tmp_path / "page.html", title=family)
    show(opened, tmp_path / "page.html")
    assert walk(opened, found, tour=tour) >= len(tour_texts()[tour]) - 1


def test_an_address_leads_into_a_tour_and_out_of_one_that_does_not_exist(opened: Page, student_page: Path) -> None:
    show(opened, student_page, "tour=translation.10")
    assert "Which source word" in opened.locator(".tour h2").inner_text()
    opened.locator(".tour-ways button", has_text="Other tours").click()
    opened.locator("dialog.tours[open] button[data-tour=slides]").click()
    until(opened, "new URLSearchParams(location.hash.slice(1)).get('tour') === '1'")
    # The step with which the slides' tour began had this address before tours had names, and may have its name.
    reach(opened, student_page, "tour=slides.1")
    opened.wait_for_selector(".tour h2")
    show(opened, student_page, "tour=nowhere.2")
    for wrong in ("nowhere.2", "decoder.99", "bert.1"):
        reach(opened, student_page, f"tour={wrong}")
        opened.wait_for_selector(".tour p")
        assert f"no step {wrong}" in opened.locator(".tour").inner_text()
        opened.locator(".tour-ways button", has_text="Leave").click()
        opened.wait_for_selector(".tour", state="detached")
