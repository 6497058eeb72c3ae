"""The pictures of the source documents: every link opened in a browser, and what the pictures show held to the run."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import glassformer as gf
from glassformer.api.model import Model
from glassformer.api.trace import Trace, trace
from glassformer.bundled.texts import notes, slides, slides_model
from glassformer.features.probe import Probe
from glassformer.features.search.index import SearchIndex
from glassformer.page.page import page, write_document
from glassformer.page.sections.gradients import NAME, gradient_section, right_words
from glassformer.page.sections.related import related_makers
from glassformer.page.sections.sections import MAKERS, sections_of
from glassformer.page.server import overview
from glassformer.page.tour import pictures
from manual.document_pictures import PAGES, address
from tests.page.judged import judge_places, needs_axe
from tests.page.serving import desk_of
from tests.page.test_browser import check, more_row, show
from tests.page.test_page import blocks
from tests.page.test_server_browser import serving
from tests.page.together import try_each
from tests.page.watched import click, turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    Opened = Callable[[str], tuple[Trace, Page]]

LISTING = pictures()
ROWS: list[dict[str, Any]] = LISTING["picture"]
TEXTS: dict[str, str | list[str]] = {
    "en-fr": "I am a student.",
    "english": "The animal didn't cross the [MASK] because it was too tired.",
    "padded": ["She likes the [MASK].", "He loves to [MASK] every day of the summer."],
    "gradients": "I am a student.",
    "shuffled": "This course is the best",
    "help": ["Help Prince Mayuko Transfer Huge Inheritance", "The man needs help."],
    "spam": "Help Prince Mayuko Transfer Huge Inheritance",
}
DRAWN = ("two-words", "matrix", "split", "look-up", "stages", "writing", "padding")


def made(name: str, english: Model, translator: Model) -> Trace:
    """The run of one of the examples."""
    if name == "slides":
        return gf.load(str(slides_model())).trace([sentence.masked for sentence in slides().sentences])
    return (translator if name in ("en-fr", "gradients") else english).trace(TEXTS[name])


def related_sections(found: Trace, name: str, model: Model, folder: Path) -> dict[str, Any]:
    """The sections of an example besides its tensors."""
    if name == "gradients":
        return {NAME: gradient_section(found)}
    if name == "shuffled":
        return {name: MAKERS[name](found)}
    if name not in ("help", "spam"):
        return {}
    assert found.original is not None
    if name == "spam":
        return sections_of(found, related_makers(found.original, start=model))
    index = SearchIndex.build(folder / "index", [row["says"] for row in ROWS[:9]], model)
    probe = Probe("last", "first", ("ham", "spam"), np.linspace(-1, 1, index.vector(0).size)[None], np.zeros(1))
    return sections_of(found, related_makers(found.original, probe=probe, index=index))


@pytest.fixture(scope="module")
def runs(
    browser: Browser, english: Model, translator: Model, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Opened]:
    """Each example's run, and its page in a window of its own, in which nothing may go wrong."""
    known: dict[str, tuple[Trace, Page]] = {}

    def opened(name: str) -> tuple[Trace, Page]:
        if name not in known:
            found = made(name, english, translator)
            folder = tmp_path_factory.mktemp("documents")
            file = folder / f"{name}.html"
            sections = related_sections(found, name, english, folder)
            write_document(file, lambda: page(found, sections=sections))
            window = windows.enter_context(watched(browser, offline=True))
            show(window, file)
            known[name] = (found, window)
        return known[name]

    with ExitStack() as windows:
        yield opened


# --------------------------------------------------------------------------- the list


def scenes(repository: Path) -> set[str]:
    """The names of the pictures that the page has."""
    text = (repository / "web" / "src" / "scenes" / "scenes.ts").read_text(encoding="utf-8")
    return set(re.findall(r'^  "?([\w-]+)"?: \{$', text, flags=re.MULTILINE))


def test_the_rows_are_whole() -> None:
    keys = [row["key"] for row in ROWS]
    assert len(keys) == len(set(keys))
    known = {note.number for note in notes()}
    for row in ROWS:
        assert row["document"] in LISTING["documents"]
        assert row["page"] in PAGES
        assert "open" in row, row
        assert row.get("needs", "attention") in LISTING["reasons"]
        assert len(row["says"].split()) <= 24, row
        assert set(re.findall(r"C-\d+", row["says"])) <= known


def test_every_document_is_listed_as_far_as_it_goes() -> None:
    """The moments of the notes at which a picture stands, and the headings of the guide with one."""
    moments = {moment for row in ROWS if row["document"] == "notes" for moment in row["where"].split(", ")}
    message = """05:08 07:04 12:26 13:46 14:28 16:24 19:09 20:38 26:01 31:04 31:52 34:51 40:55 42:35 44:42 46:29 51:28
        55:48 1:01:04 1:03:10 1:10:03 1:11:05 1:27:19 1:30:46 1:35:46 1:35:54 1:37:47 1:42:05 1:44:11 1:44:46 1:47:45
        1:48:27 1:50:07"""
    assert moments == set(message.split())
    counts = {name: sum(row["document"] == name for row in ROWS) for name in LISTING["documents"]}
    assert counts["slides"] >= 24
    assert counts["guide"] >= 24
    assert counts["post"] >= 4


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", PAGES)
def test_each_link_opens_its_picture(name: str, runs: Opened, repository: Path) -> None:
    known = scenes(repository)
    own = [row for row in ROWS if row["page"] == name]
    _, window = runs(name)
    turn(window, "level=pictures")
    window.locator(".gallery li").first.wait_for()
    links: dict[str, str] = window.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.gallery li')].map("
        "(entry) => [entry.dataset.key, entry.querySelector('a')?.getAttribute('href')]))"
    )

    def opens(row: dict[str, Any]) -> None:
        scene = re.search(r"scene=([\w-]+)", row["open"])
        assert scene is None or scene[1] in known
        # By the address of the page on views for some, which leads on to the picture, and by the link in the list.
        leads = address(row) if row in own[:3] else links[row["key"]]
        turn(window, leads.removeprefix("#"), anew=False)
        parts = [part.split(".")[0] for part in row["open"].split("&")]
        until(window, "parts => parts.every((part) => location.hash.includes(part))", parts)
        wanted = re.search(r"level=(\w+)", row["open"])
        assert wanted is not None
        window.locator(f'main[data-level="{wanted[1]}"]').wait_for()
        window.locator("main canvas, main article, main table, main .heads").first.wait_for()
        assert window.locator("main .wrong").all_inner_texts() == []

    try_each(own, opens, name=lambda row: str(row["key"]))


def test_the_list_greys_what_a_run_lacks_and_says_why(runs: Opened) -> None:
    _, window = runs("slides")
    turn(window, "level=pictures", anew=False)
    window.locator(".gallery li").first.wait_for()
    entries = window.locator(".gallery li").evaluate_all(
        "all => all.map(each => [each.dataset.key, each.dataset.here, each.innerText])"
    )
    here = {key: (alive == "true", text) for key, alive, text in entries}
    assert set(here) >= {row["key"] for row in ROWS}
    assert here["batch"][0]
    for lacking in ("look-ahead", "scaling", "padding", "logits-am", "vgg", "distilbert", "search"):
        alive, text = here[lacking]
        assert not alive
        assert "Not here: " in text
    assert 'glassformer explain slides "She [MASK] [MASK]" "She' in here["padding"][1]
    # An address of a picture that this run lacks leads to its entry.
    turn(window, "level=pictures&picture=padding", anew=False)
    window.locator('.gallery li[data-key="padding"][aria-current="true"]').wait_for()
    # By keyboard alone: the first entry, opened.
    window.locator(".gallery a").first.focus()
    window.keyboard.press("Enter")
    window.locator('main[data-level="tensor"]').wait_for()


# --------------------------------------------------------------------------- the pictures


@pytest.mark.sampled(1)
@pytest.mark.parametrize("example", ["slides", "en-fr", "padded"])
def test_a_number_of_each_picture_is_followed_home(example: str, runs: Opened) -> None:
    lacks = {"slides": ("writing", "padding"), "en-fr": ("padding",), "padded": ("writing",)}
    found, window = runs(example)

    def leads_home(scene: str) -> None:
        turn(window, f"level=scene&scene={scene}")
        if scene in lacks[example]:
            stated = window.locator("main .wrong")
            stated.wait_for()
            assert "glassformer explain" in stated.inner_text()
            return
        canvas = window.locator("main canvas")
        canvas.wait_for()
        rng = random.Random(f"{example} {scene}")
        click(window.locator("main details.twin summary"))
        links = window.locator("main details.twin a")
        links.first.wait_for()  # the rows are made when it is opened
        click(links.nth(rng.randrange(links.count())))
        article = window.locator("article[data-tensor]")
        article.wait_for()
        name, at = article.get_attribute("data-tensor"), article.get_attribute("data-cell")
        assert name is not None
        assert at is not None
        index = [int(step) for step in at.split(",")]
        if name in found:
            check(window, found, name, dict(zip(found.axes(name), index, strict=True)))
        else:
            value = float(article.get_attribute("data-value") or "nan")
            assert value == pytest.approx(float(found.tensor(name)[tuple(index)]), abs=1e-12)

    try_each(DRAWN, leads_home)


def test_two_words_are_those_that_are_chosen(runs: Opened) -> None:
    found, window = runs("slides")
    turn(window, "level=scene&scene=two-words&at=4,0,1,0&sentence=0", anew=False)
    window.locator("main canvas").wait_for()
    chosen = window.locator(".controls select").evaluate_all("all => all.map(each => each.selectedOptions[0].text)")
    assert chosen == ["better", "She", "1", "0"]
    window.locator(".controls select").nth(1).select_option(label="summer")
    window.locator("main details.twin summary").click()
    weights = found["encoder.blocks.0.self_attention.weights"][0, 1, 4]
    until(
        window,
        """expected => {
            const rows = [...document.querySelectorAll("main details.twin tbody tr")].map(({ cells }) => cells);
            const shown = rows.filter(([tensor]) => tensor.innerText === "attention weights");
            const numbers = shown.map(([, , number]) => Number(number.innerText));
            return numbers.length === 2 && numbers.every((each, place) => Math.abs(each - expected[place]) < 0.0051);
        }""",
        [float(weights[4]), float(weights[3])],
    )


@pytest.mark.long
def test_writing_shows_the_likeliest_words_of_each_step(runs: Opened) -> None:
    found, window = runs("en-fr")
    turn(window, "level=scene&scene=writing", anew=False)
    window.locator("main canvas").wait_for()
    window.locator("main details.twin summary").click()
    rows = window.locator("main details.twin tbody tr")
    best = found["head.probabilities"].topk(4, dim=-1)
    until(
        window,
        "count => document.querySelectorAll('main details.twin tbody tr').length === count",
        len(best.values),
    )
    for step in range(rows.count()):
        links = rows.nth(step).locator("a").evaluate_all("all => all.map(each => each.getAttribute('href'))")
        ids = [int(str(re.search(r"cell=\d+,(\d+)", link)[1])) for link in links]  # type: ignore[index]
        assert ids == best.indices[step].tolist()


@pytest.mark.long
def test_padding_changes_no_number_of_a_real_word(runs: Opened, english: Model) -> None:
    """What the page claims, and the same claim worked out by the model itself."""
    batch, window = runs("padded")
    alone = english.trace(TEXTS["padded"][0])
    name = "encoder.blocks.5.feed_forward.residual"
    real = batch.facts["inputs.real"][0]
    assert int(real.sum()) < len(real)
    both = batch[name][0, real], alone[name][0]
    assert float((both[0] - both[1]).abs().max() / both[1].abs().max()) < 1e-5
    assert float(batch["encoder.blocks.0.self_attention.weights"][0, :, :, ~real].abs().max()) == 0
    turn(window, "level=scene&scene=padding", anew=False)
    window.locator("main canvas").wait_for()


# --------------------------------------------------------------------------- gradients


def test_gradients_are_those_of_an_independent_backward_pass() -> None:
    """Norms of the weights' gradients by part: the model's own forward, torch's loss, and one backward."""
    model = gf.load(str(slides_model()))
    found = model.trace([sentence.masked for sentence in slides().sentences], dtype=torch.float64)
    section = gradient_section(found)
    assert section is not None
    assert section["right"] == "guess"
    assert found.replay is not None
    own = found.replay.model.double()
    assert own.encoder is not None
    block = own.encoder.blocks[0]
    seen: list[torch.Tensor] = []

    def keep(_: torch.nn.Module, given: object, made: torch.Tensor) -> None:
        made.retain_grad()
        seen.append(made)

    block.register_forward_hook(keep)
    places = torch.tensor([row * 5 + token for row, token, _ in section["labels"]])
    answers = torch.tensor([label for *_, label in section["labels"]])
    own.zero_grad()
    loss = F.cross_entropy(own(found.replay.inputs, scored_at=places).logits, answers)
    loss.backward()
    assert section["loss"] == pytest.approx(float(loss.detach()), rel=1e-9)
    slopes = [weight.grad for weight in block.parameters() if weight.grad is not None]
    size = float(torch.stack([slope.square().sum() for slope in slopes]).sum()) ** 0.5
    assert section["weights"]["encoder.blocks.0"] == pytest.approx(size, rel=1e-9)
    norms = torch.tensor(section["rows"][0]["norms"], dtype=torch.float64)
    assert section["rows"][0]["name"] == "encoder.blocks.0.feed_forward.output"
    assert seen[0].grad is not None
    torch.testing.assert_close(norms, seen[0].grad.norm(dim=-1), rtol=1e-9, atol=1e-15)


def test_right_words_are_the_next_ones_of_a_text(translator: Model) -> None:
    found = translator.trace(["I am a student.", "She likes the summer better."])
    labels, right = right_words(found)
    assert right == "next"
    assert labels is not None
    ids, real = found.facts["decoder_inputs.ids"], found.facts["decoder_inputs.real"]
    for row, given, kept in zip(labels, ids, real, strict=True):
        count = int(kept.sum())
        assert row[: count - 1].tolist() == given[1:count].tolist()
        assert int(row[count - 1]) == found.words.closing["decoder_inputs"]
        assert set(row[count:].tolist()) <= {-100}


def test_a_run_with_gradients_carries_them_and_a_server_works_them_out() -> None:
    model = gf.load(str(slides_model()))
    text = slides().sentences[0]
    asked = model.trace(text.masked, scored_at=[1, 2], labels=torch.tensor([8, 13]), gradients="loss")
    record = json.loads(blocks(page(asked))[f"section-{NAME}"])
    assert record["right"] == "given"
    assert record["loss"] == pytest.approx(float(asked["loss"]))
    first = record["rows"][0]
    assert first["norms"][0] == pytest.approx(asked.gradient(first["name"])[0].norm(dim=-1).tolist(), rel=1e-6)
    assert MAKERS[NAME](model.trace(text.masked))["rows"]


def test_a_head_changed_by_hand_has_no_gradients_of_other_words() -> None:
    """The places of the change count the words of the run, and the next words have others."""
    changed = gf.load("writer").trace(["It was a cold day.", "It was."]).intervene(gf.Replace("head.logits", 0.0, (1,)))
    assert gradient_section(changed) is None


def test_gradients_of_a_model_without_words_are_none() -> None:
    row = more_row("bert, tags")
    assert gradient_section(trace(row.model(dtype=torch.float32), *row.batch(padding="none"))) is None


@pytest.mark.long
def test_the_page_draws_the_gradients_or_says_how_to_get_them(runs: Opened) -> None:
    found, window = runs("gradients")
    section = gradient_section(found)
    assert section is not None
    turn(window, "level=scene&scene=gradients", anew=False)
    table = window.locator(".flow table").first
    table.wait_for()
    units = [row["unit"] for row in section["rows"] if row["unit"].startswith("decoder")]
    assert table.locator("tbody tr").count() == len(dict.fromkeys(units))
    shown = table.locator("tbody tr").first.locator("td a").all_inner_texts()
    expected = section["rows"][0]["norms"][0]
    assert [float(text) for text in shown if "·" not in text] == pytest.approx(
        [norm for norm, text in zip(expected, shown, strict=True) if "·" not in text], abs=5.1e-4
    )
    _, plain = runs("en-fr")
    turn(plain, "level=scene&scene=gradients", anew=False)
    plain.locator("main .wrong").wait_for()
    assert "--gradients" in plain.locator("main .wrong").inner_text()


@pytest.mark.long
@pytest.mark.parametrize("whole", [True, False])
def test_a_live_page_has_the_list_its_pictures_and_gradients(
    whole: bool, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not whole:
        monkeypatch.setattr(overview, "MOST_WHOLE", 100)
    with serving(desk_of()) as address_of_server, watched(browser) as window:
        window.goto(f"{address_of_server}#level=pictures")
        window.locator(".gallery li").first.wait_for()
        assert window.locator(".gallery li").count() >= len(ROWS)
        for scene in ("two-words", "matrix", "split", "look-up", "stages"):
            turn(window, f"level=scene&scene={scene}", anew=False)
            window.locator("main canvas").wait_for()
            assert window.locator("main .wrong").all_inner_texts() == [], scene
        turn(window, "level=scene&scene=gradients", anew=False)
        window.locator(".flow table").wait_for()


@pytest.mark.long
@needs_axe
def test_everyone_can_read_the_list_and_the_pictures(runs: Opened) -> None:
    _, window = runs("gradients")
    places = ("level=pictures", "level=scene&scene=two-words", "level=scene&scene=gradients")
    judge_places(window, places, ".gallery li, main canvas, .flow table")
    window.set_viewport_size({"width": 1280, "height": 720})
