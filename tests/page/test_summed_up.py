"""What sums a run up, in a real browser: heads that tie words and rollout are what numpy makes of the trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from glassformer.api.model import Model
from glassformer.api.trace import Trace
from glassformer.page.page import page, write_document
from glassformer.page.sections.sections import sections_of
from tests.page.judged import judge_places, long_too, needs_axe
from tests.page.test_browser import check, opened, show, traced  # noqa: F401 (a fixture)
from tests.page.test_page import record_of
from tests.page.watched import place_of, reach, turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SENTENCE = "The animal didn't cross the street because it was too tired."
Numbers = NDArray[np.float64]


@pytest.fixture(scope="module")
def animal(english: Model, tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Path]:
    found = english.trace(SENTENCE, keep="*")
    file = tmp_path_factory.mktemp("english") / "page.html"
    found.to_html(file, megabytes=64)
    return found, file


def weights_of(found: Trace, attention: str) -> Numbers:
    """[sentence, head, query, key]"""
    return found[f"{attention}.weights"].detach().numpy().astype(np.float64)


def cosine(one: Numbers, two: Numbers) -> float:
    return float(one @ two / np.sqrt((one @ one) * (two @ two)))


def test_the_heads_that_tie_it_are_those_of_the_trace(
    animal: tuple[Trace, Path],
    opened: Page,  # noqa: F811
) -> None:
    found, file = animal
    words = [word.lstrip("▁") for word in found.words.inputs[0]]
    it, *targets = (words.index(word) for word in ("it", "animal", "street", "tired"))
    blocks = sum(name.endswith("self_attention.weights") for name in found)
    all_heads = np.stack([weights_of(found, f"encoder.blocks.{block}.self_attention")[0] for block in range(blocks)])
    shares = all_heads[:, :, it][..., targets]  # [block, head, target]
    lead = shares[..., 0] - shares[..., 1:].max(-1)
    reach(opened, file, "level=ties")
    answer = opened.locator("p.answer[data-answer]")
    answer.wait_for()
    assert answer.get_attribute("data-leading") == str((lead > 0).sum())
    wanted = "Yes" if lead.max() >= 0.1 else "Hardly" if lead.max() > 0 else "No"
    assert answer.get_attribute("data-answer") == wanted
    block, head = np.unravel_index(lead.argmax(), lead.shape)
    assert f"block {block}, head {head}" in answer.inner_text()
    rows = opened.locator("tr[data-tie]").evaluate_all(
        "rows => rows.map(row => [row.dataset.tie,"
        " [...row.querySelectorAll('a')].map(({dataset}) => Number(dataset.share))])"
    )
    assert len(rows) == lead.size
    for place, (name, shown) in enumerate(rows):
        at = np.unravel_index(place, lead.shape)
        assert name == f"encoder.blocks.{at[0]}.self_attention.weights {at[1]}"
        np.testing.assert_allclose(shown, shares[at], atol=1e-12)
    streams = opened.locator("tr[data-stream]").evaluate_all(
        "rows => rows.map(({dataset}) => [dataset.stream, dataset.cosines.split(',').map(Number)])"
    )
    assert [name for name, _ in streams] == [
        *("encoder.embed.word", "encoder.embed.norm"),
        *(f"encoder.blocks.{block}.feed_forward.residual" for block in range(blocks - 1)),
    ]
    for name, cosines in streams:
        vectors = found[name][0].detach().numpy().astype(np.float64)
        np.testing.assert_allclose(cosines, [cosine(vectors[it], vectors[key]) for key in targets], atol=1e-6)
    answer.locator("a").first.click()
    check(
        opened,
        found,
        f"encoder.blocks.{block}.self_attention.weights",
        {"sentence": 0, "head": int(head), "query": it, "key": targets[0]},
    )


def test_other_words_are_asked_about_and_stay_in_the_address(
    animal: tuple[Trace, Path],
    opened: Page,  # noqa: F811
) -> None:
    found, file = animal
    reach(opened, file, "level=ties&at=13,5,6")
    answer = opened.locator("p.answer[data-answer]")
    answer.wait_for()
    words = found.words.inputs[0]
    assert f"“{words[13]}”" in answer.inner_text()
    opened.locator(".controls select").nth(1).select_option(label=words[10])
    until(opened, "location.hash.includes('at=13,10,6')")
    until(opened, "word => document.querySelector('p.answer').innerText.includes(word)", words[10])
    # A head opens with the pair that was asked about.
    opened.locator("canvas").first.focus()
    opened.keyboard.press("End")
    opened.keyboard.press("Home")
    opened.keyboard.press("Enter")
    until(opened, "location.hash.includes('level=head&')")
    assert "cell=0,0,13,10" in place_of(opened)


def rolled_out(found: Trace, stack: str, sentence: int) -> list[Numbers]:
    """After each block [token, source], straight from the paper: 0.5 W + 0.5 I, multiplied from the left."""
    names = list(found)
    blocks = sum(name.startswith(f"{stack}.blocks.") and name.endswith(".self_attention.weights") for name in names)
    cross = f"{stack}.blocks.0.cross_attention.weights" in names
    memory = rolled_out(found, "encoder", sentence)[-1] if cross else np.zeros((0, 0))
    after: list[Numbers] = []
    for block in range(blocks):
        attention = f"{stack}.blocks.{block}.self_attention"
        mean = weights_of(found, attention)[sentence].mean(0)
        tokens = len(mean)
        before = after[-1] if after else np.eye(tokens, tokens + len(memory))
        step = mean / np.maximum(mean.sum(-1, keepdims=True), 1e-300)
        if f"{attention}.residual" in names:
            step = mean + np.eye(tokens)
            step /= step.sum(-1, keepdims=True)
        made = step @ before
        if cross:
            read = weights_of(found, f"{stack}.blocks.{block}.cross_attention")[sentence].mean(0)
            read /= read.sum(-1, keepdims=True)
            made = 0.5 * made + 0.5 * np.concatenate([np.zeros((tokens, tokens)), read @ memory], 1)
        after.append(made)
    return after


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("family", "stack"),
    [
        *(pytest.param(each, "encoder", marks=pytest.mark.long) for each in ("slides", "bert", "t5")),
        ("llama", "decoder"),
        ("t5", "decoder"),
    ],
)
def test_attention_is_rolled_out_as_numpy_does_it(family: str, stack: str, opened: Page, tmp_path: Path) -> None:  # noqa: F811
    found = traced(family)
    found.to_html(tmp_path / "page.html", megabytes=64)
    sentence = 0 if family == "slides" else 1
    after = rolled_out(found, stack, sentence)
    for query in range(2):
        reach(opened, tmp_path / "page.html", f"level=rollout&options={stack}-self&sentence={sentence}&at=1,{query},0")
        opened.wait_for_selector("[data-shares]", state="attached")
        rows = opened.locator("[data-shares]").evaluate_all("all => all.map(({dataset}) => dataset.shares)")
        shown = np.array([[float(share) for share in row.split(",")] for row in rows])  # [source, block]
        np.testing.assert_allclose(shown.T, np.stack([made[query] for made in after]), atol=1e-6)
        np.testing.assert_allclose(shown.sum(0), 1, atol=1e-6)
    made = opened.locator("[data-rollout]")
    block, query, key = map(int, (made.get_attribute("data-rollout") or "").split(","))
    share = float(made.get_attribute("data-value") or "nan")
    assert share == pytest.approx(after[block][query, key], abs=1e-6)


def test_a_word_is_followed_by_keys_and_its_weights_are_opened(
    animal: tuple[Trace, Path],
    opened: Page,  # noqa: F811
) -> None:
    found, file = animal
    reach(opened, file, "level=rollout&at=2,10,3")
    canvas = opened.locator("main canvas")
    canvas.wait_for()
    canvas.focus()
    opened.keyboard.press("ArrowRight")
    until(opened, "location.hash.includes('at=3,10,3')")
    opened.keyboard.press("ArrowUp")
    until(opened, "location.hash.includes('at=3,10,2')")
    link = opened.locator(".numbers a").nth(1)
    link.wait_for()
    link.click()
    article = opened.locator("article[data-tensor]")
    article.wait_for()
    name = article.get_attribute("data-tensor") or ""
    cell = dict(zip(found.axes(name), map(int, (article.get_attribute("data-cell") or "").split(",")), strict=True))
    assert name == "encoder.blocks.3.self_attention.weights"
    assert (cell["head"], cell["query"]) == (1, 10)
    check(opened, found, name, cell)
    opened.keyboard.press("Escape")


def test_a_part_of_the_text_is_measured_by_what_goes_there(
    animal: tuple[Trace, Path],
    opened: Page,  # noqa: F811
) -> None:
    found, file = animal
    words = [place for place, word in enumerate(found.words.inputs[0]) if not word.startswith("[")]
    reach(opened, file, "level=heads&show=bare")
    opened.wait_for_selector("[data-shown]", state="attached")
    rows = opened.locator("tr[data-head]").evaluate_all(
        "rows => rows.map(row => [row.dataset.head, Number(row.querySelector('[data-shown]').dataset.shown),"
        " ...['previous', 'entropy', 'distance', 'even'].map(name =>"
        " Number(row.querySelector(`[data-measure=${name}]`).dataset.value))])"
    )
    assert len(rows) == 18
    for name, *each in rows:
        attention, head = name.split(" ")
        part = weights_of(found, attention)[0, int(head)][np.ix_(words, words)]
        mass = part.sum(-1)
        inside = part / mass[:, None]
        apart = np.abs(np.subtract.outer(words, words))
        expected = [
            mass.mean(),
            (part * np.eye(len(words), k=-1)).sum() / mass.sum(),
            -(part * np.log(np.maximum(inside, 1e-300))).sum() / mass.sum(),
            (part * apart).sum() / mass.sum(),
            1 / len(words),
        ]
        np.testing.assert_allclose(each, expected, atol=2e-6)
    # The same choice holds at the head's own level.
    opened.locator("canvas").first.focus()
    opened.keyboard.press("Home")
    opened.keyboard.press("Enter")
    until(opened, "location.hash.includes('level=head&')")
    assert "show=bare" in place_of(opened)


def test_of_a_pair_only_what_one_sentence_gives_the_other_is_measured(opened: Page, tmp_path: Path) -> None:  # noqa: F811
    found = traced("bert")
    segments = found.facts["inputs.segments"][0].numpy()
    assert set(segments) == {0, 1}
    found.to_html(tmp_path / "page.html", megabytes=64)
    reach(opened, tmp_path / "page.html", "level=heads&show=from-0,to-1")
    opened.wait_for_selector("[data-shown]", state="attached")
    rows = opened.locator("tr[data-head]").evaluate_all(
        "rows => rows.map(row => [row.dataset.head, Number(row.querySelector('[data-shown]').dataset.shown)])"
    )
    for name, each in rows:
        attention, head = name.split(" ")
        square = weights_of(found, attention)[0, int(head)]
        assert each == pytest.approx(square[np.ix_(segments == 0, segments == 1)].sum(-1).mean(), abs=1e-6)


def test_the_lens_and_the_gradients_are_shown_as_they_were_sent(
    animal: tuple[Trace, Path],
    opened: Page,  # noqa: F811
) -> None:
    found, file = animal
    stated = sections_of(found)
    reach(opened, file, "level=lens&at=2,3")
    opened.wait_for_selector("[data-rank]")
    cells = opened.locator("tr[data-place]").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('[data-rank]')].map(({dataset}) =>"
        " [Number(dataset.rank), Number(dataset.probability)]))"
    )
    places = stated["lens"]["places"]
    assert cells == [[[layer["rank"], layer["top"][0]["probability"]] for layer in place["layers"]] for place in places]
    guesses = opened.locator("[data-guess]").evaluate_all("all => all.map(({dataset}) => Number(dataset.guess))")
    assert guesses == [guess["probability"] for guess in places[2]["layers"][3]["top"]]
    # The last column is the run's own answer.
    turn(opened, "level=lens&at=2", anew=False)
    link = opened.locator("[data-guess] a").first
    link.wait_for()
    link.click()
    article = opened.locator("article[data-tensor='head.probabilities']")
    article.wait_for()
    place, token = map(int, (article.get_attribute("data-cell") or "").split(","))
    assert token == places[2]["answer"]["id"]
    assert float(found["head.probabilities"][place, token]) == pytest.approx(
        places[2]["answer"]["probability"], abs=1e-5
    )
    reach(opened, file, "level=gradients&at=1,5")
    opened.wait_for_selector("tr[data-token]")
    rows = opened.locator("tr[data-token]").evaluate_all(
        "rows => rows.map(({dataset}) => [Number(dataset.gradient), Number(dataset.product)])"
    )
    owed = stated["attributions"]["goals"][1]["of"][0]
    assert rows == [list(pair) for pair in zip(owed["gradient"], owed["product"], strict=True)]
    goal = stated["attributions"]["goals"][1]
    places_of = [token for _, token in record_of(file.read_text(encoding="utf-8"))["places"]]
    query = places_of[goal["cell"][0]]
    mean = weights_of(found, "encoder.blocks.5.self_attention")[0].mean(0)[query]
    sizes = np.abs(owed["product"])
    one, two = (np.argsort(np.argsort(values)) for values in (mean, sizes))
    alike = float(opened.locator("[data-alike]").get_attribute("data-alike") or "nan")
    assert alike == pytest.approx(np.corrcoef(one, two)[0, 1], abs=1e-9)


def test_a_page_says_what_it_lacks_and_how_to_get_it(opened: Page, tmp_path: Path) -> None:  # noqa: F811
    found = traced("bert")
    write_document(tmp_path / "page.html", lambda: page(found, megabytes=64))
    for level in ("lens", "gradients"):
        reach(opened, tmp_path / "page.html", f"level={level}")
        opened.locator(".wrong").wait_for()
    reach(opened, tmp_path / "page.html", "level=heads")
    assert "--held-out FILE" in opened.locator(".rule-of-heads").inner_text()


def test_the_rail_says_what_a_model_cannot_answer(opened: Page, tmp_path: Path) -> None:  # noqa: F811
    found = traced("modernbert, tags")
    write_document(tmp_path / "page.html", lambda: page(found, megabytes=64, sections=sections_of(found)))
    reach(opened, tmp_path / "page.html", "level=heads")
    entries = opened.locator("nav a.choice[data-lacks=true] small")
    stated = [": no decoder", ": no output layer over words", ": not in this page", ": the slides’ model"]
    assert sorted(entries.all_inner_texts()) == stated


def test_the_first_number_is_a_weight_between_two_words(
    animal: tuple[Trace, Path],
    demo_page: Path,
    opened: Page,  # noqa: F811
) -> None:
    found, file = animal
    reach(opened, file, "level=number")
    cell = [int(index) for index in (opened.locator("article").get_attribute("data-cell") or "").split(",")]
    value = float(opened.locator("article").get_attribute("data-value") or "nan")
    assert value == pytest.approx(float(weights_of(found, "encoder.blocks.0.self_attention")[tuple(cell)]), abs=1e-6)
    assert 1 / len(found.words.inputs[0]) <= value < 0.95
    assert all(found.words.inputs[0][token].strip("▁").isalpha() for token in cell[2:])
    sizes = "all => all.filter(e => e.children.length === 0).map(e => parseFloat(getComputedStyle(e).fontSize))"
    assert min(opened.locator("math *").evaluate_all(sizes)) >= 11
    # Two hidden words of one sentence are distinguished by what they are taken for.
    reach(opened, demo_page, "level=lens")
    assert opened.locator("tr[data-place] .hidden").all_inner_texts()[:2] == ["likes", "likes"]
    places = opened.locator("tr[data-place] > :first-child").all_inner_texts()
    assert places == ["likes, hidden after She", "the, hidden after likes"]


@pytest.mark.long
@needs_axe
@long_too
def test_the_levels_fit_and_can_be_read(browser: Browser, animal: tuple[Trace, Path], long: bool) -> None:
    with watched(browser, bypass_csp=True) as page:
        show(page, animal[1])
        levels = ("ties", "rollout", "lens", "gradients")
        judge_places(page, [f"level={level}" for level in levels], "main .answer", long=long)
