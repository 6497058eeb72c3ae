"""A published site: cards have the numbers of their runs, every link leads somewhere, and nothing is overwritten."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

import glassformer as gf
from glassformer.api.trace import Trace
from glassformer.base.errors import CheckpointError, ConfigError, DataError
from glassformer.bundled.texts import slides_model
from glassformer.page.server.offers import Offer
from glassformer.page.site.cards import Lines, card_of, window
from glassformer.page.site.examples import Example, examples_of, rows_of_table
from glassformer.page.site.folder import LIST, files_of
from glassformer.page.site.publish import planned, publish
from tests.page.serving import SENTENCES, TEXTS, small_model
from tests.page.watched import turn, until, watched
from tests.refusals import refused

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WORDS = ("wrote", "letter", "brother")


class Links(HTMLParser):
    """The addresses of a page: what it loads, and what it leads to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.pictures: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a":
            self.leads.append(given.get("href", ""))
        elif "src" in given or "href" in given:
            self.loads.append(given.get("src") or given.get("href", ""))
        if given.get("property") == "og:image":
            self.pictures.append(given["content"])


@pytest.fixture(scope="module")
def offers(tmp_path_factory: pytest.TempPathFactory) -> list[Offer]:
    """The slides' model and a small encoder of the visitor's own."""
    small = small_model(tmp_path_factory.mktemp("own"))
    return [Offer("slides", slides_model(), SENTENCES), Offer("small", small, (TEXTS[0],))]


@pytest.fixture(scope="module")
def site(offers: list[Offer], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of two models."""
    return publish(tmp_path_factory.mktemp("new") / "site", offers, address="https://example.org/docs").parent


def test_every_link_of_a_site_leads_to_a_file_of_it(site: Path) -> None:
    pages = sorted(site.glob("*.html"))
    assert [page.name for page in pages] == ["index.html", "slides.html", "small.html"]
    for page in pages:
        links = Links(page.read_text())
        assert all((site / address.partition("#")[0]).is_file() for address in links.leads)
        # A picture without data keeps a browser from asking the server for an icon.
        assert {*links.loads} - {"data:,"} == (set() if page.name == "index.html" else {"shared.js"})
        (picture,) = links.pictures
        assert (site / picture.removeprefix("https://example.org/docs/")).is_file()
    assert len(Links((site / "index.html").read_text()).leads) == 4
    listed = json.loads((site / LIST).read_text())["files"]
    assert {*listed, LIST} == {file.name for file in site.iterdir()}


def test_pages_of_a_site_share_their_script(site: Path) -> None:
    shared = (site / "shared.js").read_text()
    for name in ("part-core", "page-style", "tour", "pictures", "quiz"):
        assert f'"{name}"' in shared
        assert all(f'id="{name}"' not in page.read_text() for page in site.glob("*.html"))
    assert (site / "slides.html").stat().st_size < 60_000


def test_the_place_of_a_card_is_a_cell_of_its_run(demo: Trace) -> None:
    card = card_of(demo, Example(SENTENCES, view="hidden"))
    place = parse_qs(card.place)
    cell = [int(index) for index in place["cell"][0].split(",")]
    weights = demo[place["tensor"][0]]
    sentence, _, query, key = cell
    assert demo.words.answers is not None
    assert (sentence, query) in demo.words.answers
    others = [other for other in range(weights.shape[-1]) if other != query]
    assert weights[tuple(cell)] == weights[sentence, :, query][:, others].max()
    assert key != query


def test_the_lines_of_a_card_are_the_weights_of_the_head_that_ties_most(english: gf.Model) -> None:
    (example, _) = examples_of("english", Example())
    assert example.words == WORDS
    trace = english.trace(list(example.texts))
    card = card_of(trace, example)
    words = list(trace.words.inputs[0])
    query, one, other = (words.index(word) for word in WORDS)
    assert card.place == f"level=ties&at={query},{one},{other}"
    names = [name for name in trace if name.endswith("self_attention.weights")]
    lead, name, head = max(
        (float(trace[name][0, head, query, one] - trace[name][0, head, query, other]), name, head)
        for name in names
        for head in range(trace[name].shape[1])
    )
    assert lead > 0.5
    assert isinstance(card.picture, Lines)
    meant = {card.picture.right[line[1]]: line[2] for line in card.picture.lines if line[3]}
    expected = dict(zip(words, trace[name][0, head, query].double().tolist(), strict=True))
    assert meant == {word: expected[word] for word in meant}
    assert "letter" in meant


def test_the_bars_of_a_card_are_the_logit_lens(english: gf.Model) -> None:
    (_, example) = examples_of("english", Example())
    trace = english.trace(list(example.texts))
    card = card_of(trace, example)
    lens = gf.logit_lens(trace, top=1)
    assert not isinstance(card.picture, Lines)
    assert [bar.share for bar in card.picture] == lens.probabilities[:, 0, 0].tolist()
    assert [bar.meant for bar in card.picture] == (lens.rank[:, 0] == 1).tolist()


def test_the_flow_of_a_card_is_a_cross_attention(student: Trace) -> None:
    card = card_of(student, Example(view="cross"))
    place = parse_qs(card.place)
    _, head, query, key = (int(index) for index in place["cell"][0].split(","))
    weights = student[place["tensor"][0]][0, head]
    assert weights[query].argmax() == key
    assert student.words.inputs[0][key] in card.answer.replace("“", "“▁")


@pytest.mark.parametrize("name", ["next-sentence", "sentences", "en-fr", "chat", "writer"])
def test_each_example_has_its_view(name: str) -> None:
    model = gf.load(name)
    for example in examples_of(name, Example()):
        trace = model.trace(list(example.texts), None if example.seconds is None else list(example.seconds))
        # Where its view cannot be had the question of another view stands there.
        assert card_of(trace, example).question == example.question


def test_the_table_names_models_and_views_that_there_are() -> None:
    from glassformer.bundled.travelling import travelling
    from glassformer.page.site.cards import MADE

    for name, rows in rows_of_table().items():
        assert name[1:] in MADE if name.startswith(".") else name in travelling()
        assert all(row["view"] in MADE for row in rows)


def test_a_long_text_has_the_words_in_question_in_its_picture() -> None:
    assert window(4, 2) == [0, 1, 2, 3]
    assert 50 in window(100, 50)
    assert window(100, 99)[-1] == 99


def test_names_of_files_are_plain_and_differ() -> None:
    offers = [Offer(name, name, ("a",)) for name in ("index", "a b/ü", "x", "X", "..", "con")]
    stems = [each.stem for each in planned(offers)]
    assert stems == ["index-2", "model", "x", "X-2", "model-2", "con"]


# --------------------------------------------------------------------- the folder


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, offers: list[Offer]) -> list[Offer]:
    """Offers whose pages are not made: which files are written is the same."""
    from glassformer.page.site import publish as module

    monkeypatch.setattr(module, "page", lambda *given, **options: "<!doctype html>")
    monkeypatch.setattr(module, "shared_script", lambda language: "")
    monkeypatch.setattr(module, "sections_of", lambda trace: {})
    return offers


def test_a_site_replaces_its_own_files_and_no_others(quick: list[Offer], tmp_path: Path) -> None:
    folder = tmp_path / "site"
    publish(folder, quick)
    (folder / "mine.txt").write_text("mine")
    publish(folder, quick[:1])
    assert not (folder / "small.html").exists()
    assert (folder / "mine.txt").read_text() == "mine"
    (folder / "small.html").write_text("mine too")
    before = content(folder)
    with pytest.raises(DataError):
        publish(folder, quick)
    assert content(folder) == before
    publish(folder, quick, overwrite=True)
    assert (folder / "small.html").read_text() != "mine too"
    assert (folder / "mine.txt").read_text() == "mine"


def test_no_folder_of_others_is_written_into(quick: list[Offer], tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("mine")
    with pytest.raises(DataError):
        publish(tmp_path, quick)
    with pytest.raises(DataError):
        publish(tmp_path / "own.txt", quick, overwrite=True)
    model = Path(quick[1].place)
    before = content(model)
    for folder in (model, model / "site", slides_model(), slides_model() / "site"):
        with pytest.raises(DataError):
            publish(folder, quick, overwrite=True)
    assert content(model) == before
    assert not (slides_model() / "site").exists()


def test_two_models_of_one_name_are_refused(quick: list[Offer], tmp_path: Path) -> None:
    with refused(ConfigError, got=quick[1].name):
        publish(tmp_path / "site", [*quick, quick[1]])


def test_what_goes_wrong_leaves_no_folder(quick: list[Offer], tmp_path: Path) -> None:
    deep = tmp_path / "deep" / "site"
    for address in ("ftp://x", "nowhere"):
        with pytest.raises(ConfigError):
            publish(deep, quick, address=address)
    with pytest.raises(CheckpointError):
        publish(deep, [Offer("none", tmp_path / "none", ("a",))])
    assert list(tmp_path.iterdir()) == []


def test_a_list_that_was_changed_by_hand_deletes_nothing_elsewhere(quick: list[Offer], tmp_path: Path) -> None:
    folder = tmp_path / "site"
    publish(folder, quick[:1])
    (tmp_path / "kept.txt").write_text("kept")
    record = json.loads((folder / LIST).read_text())
    record["files"] += ["../kept.txt", "/etc/hostname", "", 3]
    (folder / LIST).write_text(json.dumps(record))
    assert all("/" not in name for name in files_of(folder) or ())
    publish(folder, quick[:1])
    assert (tmp_path / "kept.txt").read_text() == "kept"


# --------------------------------------------------------------------- in a browser


def test_a_site_opens_from_disk_and_asks_for_nothing_elsewhere(browser: Browser, site: Path, demo: Trace) -> None:
    host = site.parent / "host.html"
    host.write_text(
        "<!doctype html><title>host</title><body>"
        f'<script src="{site.name}/embed.js" data-page="slides.html" data-place="level=number"></script>'
    )
    with watched(browser, offline=True, idles=True) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('.card') !== null")
        page.keyboard.press("Enter")
        page.wait_for_selector(".frame")
        assert page.locator("main").get_attribute("data-level") == "head"
        until(page, "document.querySelector('.foot').textContent.includes('recomputed')")
        # The whole model begins with what each block adds to the answer.
        turn(page, "level=model", anew=False)
        until(page, "document.querySelectorAll('.steps a').length > 0")
        found = page.evaluate("[...document.querySelectorAll('.steps a')].map((step) => +step.dataset.probability)")
        lens = gf.logit_lens(demo)
        assert lens.places[0][0] == 0
        assert found == pytest.approx(lens.answer_probability[:, 0].tolist(), rel=1e-5)  # six digits are sent
        page.goto(host.as_uri())
        frame = page.frame_locator("iframe")
        frame.locator("main[data-level=number]").wait_for()
        assert frame.locator(".rail").is_hidden()
        # The frame is as high as what it shows: what there is of it needs no bar to scroll by.
        until(page, "(([frame]) => frame.clientHeight > 320)(document.querySelectorAll('iframe'))")
        until(page, lambda: page.frames[1].evaluate("innerHeight === document.documentElement.scrollHeight"))
        assert {url.partition("#")[0] for url in asked if not url.startswith("data:")} <= {
            host.as_uri(),
            *(file.as_uri() for file in site.iterdir()),
        }
