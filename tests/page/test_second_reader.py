"""What a second reader without an introduction stumbled over on ten other screens; see test_plain_sentences.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import glassformer as gf
from glassformer.api.model import Model
from glassformer.api.trace import Trace, trace
from glassformer.bundled.texts import slides
from glassformer.look.summaries.head_measures import MEASURES, measure, same_word
from tests.look.rows import row_named
from tests.page.test_browser import number_at
from tests.page.test_plain_sentences import number
from tests.page.watched import reach, turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ATTENTION = "encoder.blocks.0.self_attention"
WEIGHTS = f"{ATTENTION}.weights"


@pytest.fixture(scope="module")
def padded(english: Model) -> Trace:
    """A model that has learned nothing looks almost evenly; the second text is shorter, and its end mark is known."""
    texts = ["She likes the [MASK] better than the winter.", "He [MASK] to cook."]
    return english.trace(texts)


@pytest.fixture(scope="module")
def shorter(padded: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("second") / "english.html"
    padded.to_html(place, megabytes=8)
    return place


def marked(window: Page) -> str:
    return window.locator(".rail .part .choice[aria-current=true]").first.inner_text()


@pytest.mark.long
def test_the_marked_text_is_that_of_the_number_in_hand(window: Page, demo_page: Path, demo: Trace) -> None:
    reach(window, demo_page, f"level=head&tensor={WEIGHTS}&cell=1,0,2,1")
    window.locator(".inspector .big").wait_for()
    assert "sentence 1, head 0" in window.locator(".inspector").inner_text()
    until(window, "location.hash.includes('sentence=1')")
    until(window, lambda: marked(window).startswith("1 "))
    # Another text has the number of its own first place.
    reach(window, demo_page, "level=number&tensor=head.probabilities&cell=0,3")
    number_at(window, "head.probabilities", "0,3")
    row = demo.chosen_tokens[0][0]
    other = next(place for place, (sentence, _) in enumerate(demo.chosen_tokens) if sentence != row)
    window.locator(".rail .part .choice").nth(demo.chosen_tokens[other][0]).click()
    number_at(window, "head.probabilities", f"{other},3")
    until(window, lambda: marked(window).startswith(f"{demo.chosen_tokens[other][0]} "))


def test_what_joins_all_heads_is_of_none(window: Page, demo_page: Path, demo: Trace) -> None:
    heads = demo[WEIGHTS].shape[1]
    for last, own in (("output", False), ("query", True)):
        reach(
            window,
            demo_page,
            f"level=tensor&tensor={ATTENTION}.{last}&cell={','.join('0' * demo[f'{ATTENTION}.{last}'].dim())}",
        )
        window.locator("main .headline").wait_for()
        path = window.locator(".crumbs").inner_text()
        found = window.locator("main .headline").inner_text()
        assert ("head 0" in path) is own
        assert found.rstrip().endswith("See its head") is own
        assert (f"all {heads} heads mixed" in found) is not own


@pytest.mark.long
def test_a_weight_is_compared_with_an_even_share(window: Page, shorter: Path, padded: Trace) -> None:
    """Of the tokens that may be looked at, padding left out: in words, in the headline, and in the formula."""
    weights = padded[WEIGHTS][1, 0, 2]
    open_to = int((weights > 0).sum())
    assert open_to < len(weights)
    is_named = torch.tensor([word != "[MASK]" for word in padded.words.inputs[1]] + [False] * (len(weights) - open_to))
    least = int(torch.where(is_named, weights, torch.inf).argmin())
    reach(window, shorter, f"level=head&tensor={WEIGHTS}&cell=1,0,2,{least}&sentence=1")
    window.locator(".inspector .formula").wait_for()
    found = window.locator(".inspector").inner_text()
    assert f"an even share is 1 of {open_to}, {100 / open_to:.1f} %" in found
    assert f"an even share is 1 of {open_to}" in window.locator(".answered").inner_text()
    fraction = window.locator(".inspector .formula mfrac").first
    above, *below = fraction.locator("munder").evaluate_all("all => all.map(each => each.textContent)")
    assert above in below
    words = padded.words.inputs[1]
    assert above.endswith(words[least])
    assert f"+{len(weights) - open_to} × 0" in (fraction.text_content() or "")
    assert f"of {open_to}" in (fraction.text_content() or "")


def test_each_kind_of_place_has_an_even_share_of_its_own(window: Page, shorter: Path, padded: Trace) -> None:
    """Two end marks get twice as much of an even look as one token, and the token before the first is none."""
    looks = padded[f"{ATTENTION}.may_look"]
    looks = looks[min(1, len(looks) - 1), :1].expand(-1, padded[WEIGHTS].shape[2], -1).bool()
    even = looks.double() / looks.sum(-1, keepdim=True)
    ids, real = padded.facts["inputs.ids"][1], padded.facts["inputs.real"][1].bool()
    closes = ids == padded.words.closing["inputs"]
    measured = measure(even, looks, real, closes, same_word(ids, ids, crossing=False), crossing=False)[0]
    expected = dict(zip(MEASURES, measured.tolist(), strict=True))
    reach(window, shorter, f"level=heads&tensor={WEIGHTS}&cell=1,0,2,1&sentence=1")
    window.locator(".bars s[data-even]").nth(5).wait_for(state="attached")
    shown = window.locator(".bars s").evaluate_all("all => all.map(({dataset}) => Number(dataset.even))")
    kinds = ("previous", "self", "next", "first", "separator", "same_word")
    assert shown == pytest.approx([expected[kind] for kind in kinds], abs=1e-6)


@pytest.mark.long
def test_the_numbers_of_a_tie_stand_in_its_table(window: Page, shorter: Path) -> None:
    reach(window, shorter, "level=ties&sentence=1")
    window.locator(".ties table").wait_for()
    own = "all => all.map(({dataset}) => dataset.share)"
    headline = window.locator(".answer a").evaluate_all(own)
    lead = window.locator(".ties tbody tr td:nth-child(2) a").evaluate_all(own)
    assert len(headline) > 1
    assert headline == lead
    written = window.locator(".answer a").all_inner_texts()
    assert len(set(written)) == len(set(headline))


def test_the_pair_in_hand_has_both_its_numbers(window: Page, demo_page: Path, demo: Trace) -> None:
    reach(window, demo_page, "level=mask&sentence=0&options=pairs&at=0,1,0")
    window.locator(".pair-in-hand").wait_for()
    features = demo["encoder.embed.sum"][0].double()
    hidden = [token for row, token in demo.chosen_tokens if row == 0]
    wanted = gf.activity_matrix(features[: len(demo.words.inputs[0])], hidden, reading="pairs")
    shown = window.locator(".pair-in-hand b[data-product]").get_attribute("data-product")
    assert float(shown or "nan") == pytest.approx(float(wanted.pairs[1, 0]), abs=1e-9)
    share = window.locator(".pair-in-hand b[data-of-row]").get_attribute("data-of-row")
    assert float(share or "nan") == pytest.approx(float(wanted.weights[1, 0]), abs=1e-9)
    assert f"1 of {int(wanted.allowed[1].sum())}" in window.locator(".pair-in-hand").inner_text()


def test_a_turned_pair_is_shown_with_its_numbers(window: Page, tmp_path: Path) -> None:
    row = row_named("llama")
    inputs, decoder_inputs = row.batch(padding="none")
    run = trace(row.model(dtype=torch.float32), inputs, decoder_inputs, keep="*")
    name = next(each for each in run if each.endswith("query_rotated"))
    run.to_html(tmp_path / "page.html")
    sentence, head, token, channel = cell = (1, 1, 2, 1)
    half = run[name].shape[-1] // 2
    at = ",".join(map(str, cell))
    reach(window, tmp_path / "page.html", f"level=tensor&picture=angles&tensor={name}&cell={at}")
    found = window.locator(".worked")
    found.wait_for()
    text = found.inner_text()
    assert f"head {head}, position {token}" in text
    for each in (channel, channel + half):
        shown = found.locator(f"b[data-channel='{each}']").inner_text()
        assert number(shown) == pytest.approx(float(run[name][sentence, head, token, each]), abs=6e-4)
    times, rate = re.findall(r"Turned by (\d+) × ([\d.]+)", text)[0]
    angle = float(found.get_attribute("data-worked") or "nan")
    assert int(times) * float(rate) == pytest.approx(angle, abs=2e-5 * token)
    assert "whole turn" not in text or abs(angle) > 6.28


def test_no_small_product_is_written_as_zero(window: Page, demo_page: Path) -> None:
    reach(window, demo_page, f"level=scene&scene=mixing&tensor={WEIGHTS}&cell=0,0,1,2&sentence=0")
    window.locator("main canvas").wait_for()
    texts = drawn(window)
    assert "not added yet" in " ".join(texts)
    assert not {"0.00", "−0.00", "0.000", "−0.000"} & set(texts)


def drawn(window: Page) -> list[str]:
    """The texts of the picture in front, read from its SVG."""
    window.keyboard.press("s")
    with window.expect_download() as download:
        window.locator("text=SVG").first.click()
    return re.findall(r"<text[^>]*>([^<]*)</text>", Path(download.value.path()).read_text(encoding="utf-8"))


def test_on_a_phone_the_path_the_model_and_the_text_can_be_read(browser: Browser, demo_page: Path) -> None:
    with watched(browser, offline=True) as window:
        window.set_viewport_size({"width": 390, "height": 844})
        reach(window, demo_page, f"level=tensor&tensor={ATTENTION}.query&cell=0,1,2,1")
        window.locator("main canvas").first.wait_for()
        shown = window.locator(".crumbs li:visible").evaluate_all(
            "all => all.map(each => [each.textContent, each.scrollWidth <= each.clientWidth])"
        )
        assert shown == [["all tensors", True], ["head 1", True], ["query", True]]
        assert slides().sentences[0].words[0].lower() in window.locator(".rail .handle").inner_text().lower()
        assert "head 1, the, channel 1" in window.locator(".inspector .handle").inner_text()
        for scene in ("shared", "recap"):
            turn(window, f"level=scene&scene={scene}", anew=False)
            window.locator("main canvas").wait_for()
            until(window, "document.querySelector('main').scrollWidth <= innerWidth")


def test_the_places_of_an_answer_are_numbered(window: Page, student: Trace, student_page: Path) -> None:
    reach(window, student_page, "level=model")
    window.locator("main details.twin summary").click()
    rows = window.locator("main details.twin .links li")
    rows.first.wait_for()
    tokens = student.words.decoder_inputs[0]
    asked = [text.split(":")[0] for text in rows.all_inner_texts()]
    assert asked == [str(token) for token in range(len(tokens))][-4:]
    note = window.locator("main > .label").inner_text()
    assert "✓: the token that comes next in the text" in note
    assert ("The last 4 of" in note) is (len(tokens) > 4)
    found = window.locator("main .small-answer").inner_text()
    assert f"of {len(tokens) - 1} tokens after the first" in found


@pytest.mark.parametrize(("word", "red"), [("3", False), ("2", True)])
def test_red_is_explained_where_something_is_red(word: str, red: bool, window: Page, demo_page: Path) -> None:
    """A word that is looked up is not hidden because another one of its text is."""
    reach(window, demo_page, f"level=scene&scene=look-up&sentence=0&at={word}")
    window.locator("main canvas").wait_for()
    assert ("Red: a word that was hidden" in window.locator("main").inner_text()) is red


@pytest.mark.long
def test_a_mask_that_all_heads_share_is_of_none_and_has_a_formula(window: Page, student: Trace, tmp_path: Path) -> None:
    student.to_html(tmp_path / "page.html", megabytes=3)
    for name, formula in (("cross_attention", "=1"), ("self_attention", "=key≤query")):
        tensor = f"decoder.blocks.0.{name}.may_look"
        reach(window, tmp_path / "page.html", f"level=tensor&picture=box&tensor={tensor}&cell=0,0,0,0")
        window.locator("main canvas").wait_for()
        assert "head" not in window.locator(".crumbs").inner_text()
        written = re.sub(r"\s", "", window.locator(".formula.general").text_content() or "")
        assert written.endswith(formula)
    # Answers are red too, and nothing was hidden here.
    turn(window, "level=scene&scene=stages", anew=False)
    window.locator("main .scene-says").wait_for()
    window.locator("main canvas").wait_for()
    assert "Red:" not in window.locator("main").inner_text()


def test_the_table_of_both_directions_is_of_the_word_that_is_drawn(window: Page, demo_page: Path, demo: Trace) -> None:
    reach(window, demo_page, f"level=scene&scene=directions&tensor={WEIGHTS}&cell=0,1,3,0&sentence=0")
    window.locator("main details.twin summary").click()
    heads = window.locator(".scene-table th").all_inner_texts()
    words = slides().sentences[0].words
    assert heads[0] == f"head 1: {words[3]} takes from"
    column = window.locator(".scene-table tbody tr td:last-child").all_inner_texts()
    for weight, text in zip(demo[WEIGHTS][0, 1, 3].tolist(), column, strict=True):
        assert (
            text == "may not look" if weight == 0 else float(text.split()[-2]) == pytest.approx(100 * weight, abs=0.6)
        )
