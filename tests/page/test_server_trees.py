"""Searches that a page asks for: answered as Python searches, or refused in a sentence."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import glassformer as gf
from glassformer.bundled.travelling import travelling
from glassformer.page.server import trees
from glassformer.page.server.desk import Desk
from glassformer.page.server.offers import Models, Offer
from tests.page.serving import TOKEN, Page, desk_of, limited, run, served
from tests.page.test_server_asked import FUZZ, JSON

TEXT = "Two dogs run."


def translating(**limits: Any) -> Desk:
    """A desk that offers the translator and the slides' model."""
    offers = desk_of().models.offers.values()
    desk = Desk(Models([Offer("en-fr", travelling()["en-fr"], (TEXT,)), *offers], device="cpu"))
    return limited(desk, **limits)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with served(translating()) as page:
        yield page


def grow(page: Page, wish: object) -> Any:
    """What comes back for a wish."""
    content = wish if isinstance(wish, bytes | str) else json.dumps(wish)
    return page.client.post(f"/{TOKEN}/api/trees", content=content, headers=page.headers)


ASKED = {"model": "en-fr", "text": TEXT}


def test_a_page_gets_the_tree_of_python(page: Page) -> None:
    model = gf.load("en-fr")
    for more in ({}, {"beams": 2}, {"beams": 3, "length_penalty": 2.0}, {"sample": True, "seed": 4, "top_p": 0.9}):
        answer = grow(page, {**ASKED, **more})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        if not more:
            expected = model.search_tree(TEXT).to_dict()
            assert found == json.loads(json.dumps(expected))
        assert found["settings"]["method"] == ("sample" if "sample" in more else "beam")
        assert found["settings"]["beams"] == more.get("beams", 1 if "sample" in more else 5)
        assert grow(page, {**ASKED, **more}).content == answer.content


def test_a_node_of_a_tree_is_run_by_its_tokens(page: Page) -> None:
    tree = gf.load("en-fr").search_tree(TEXT)
    lost = next(node for node in tree.nodes if node.fate == "below" and node.step == 2)
    ids = tree.decoder_ids(lost)
    found = page.overview("en-fr", (TEXT,), target_ids=[list(ids)])
    assert page.desk.run(found["run"]).trace.facts["decoder_inputs.ids"].tolist() == [list(ids)]
    assert found["editing"]["target_ids"] == [list(ids)]
    assert found["run"] != page.overview("en-fr", (TEXT,))["run"]


@pytest.mark.long
def test_a_text_is_rewritten_from_one_of_its_words(page: Page) -> None:
    model, drawn = gf.load("en-fr"), {"sample": True, "seed": 4, "temperature": 1.5}
    whole = grow(page, {**ASKED, **drawn}).json()
    tree = model.search_tree(TEXT, seed=4, temperature=1.5)
    assert tree.best is not None
    tokens = [node.token for node in tree.path(tree.best)]
    # Rewritten as it was, it is what it was: the numbers that draw its words depend on their places alone.
    again = grow(page, {**ASKED, **drawn, "begins": tokens[:2]}).json()
    assert again["answer"] == whole["answer"]
    assert again["prompt"] == [*whole["prompt"], *tokens[:2]]
    assert [node["token"] for node in again["nodes"] if node["draw"]] == tokens[2:]
    # Another word there is another text, which begins so.
    other = next(node.token for node in tree.steps[1] if node.fate == "undrawn")
    fork = grow(page, {**ASKED, **drawn, "begins": [tokens[0], other]}).json()
    assert fork["answer"] != whole["answer"]
    assert fork["prompt"] == [*whole["prompt"], tokens[0], other]


WRONG: list[tuple[Any, int]] = [
    (b"", 400),
    ([], 400),
    ({"model": "en-fr"}, 400),
    ({**ASKED, "text": 3}, 400),
    ({**ASKED, "text": " "}, 400),
    ({**ASKED, "text": "dogs " * (trees.MOST_TOKENS + 1)}, 413),
    ({**ASKED, "model": "slides"}, 400),
    ({**ASKED, "model": "../en-fr"}, 404),
    ({**ASKED, "beams": 0}, 400),
    ({**ASKED, "beams": trees.MOST_BEAMS + 1}, 400),
    ({**ASKED, "beams": 2.5}, 400),
    ({**ASKED, "length_penalty": 9}, 400),
    ({**ASKED, "sample": True, "beams": 3}, 400),
    ({**ASKED, "temperature": 0}, 400),
    ({**ASKED, "groups": 2}, 400),
    ({**ASKED, "begins": 3}, 400),
    ({**ASKED, "begins": [-1]}, 400),
    ({**ASKED, "begins": [8000]}, 400),
    ({**ASKED, "begins": [2**40]}, 400),
    ({**ASKED, "begins": [5] * 400}, 400),
]


@pytest.mark.parametrize(("wish", "status"), WRONG, ids=range(len(WRONG)))
def test_searches_that_cannot_be_made_are_refused(page: Page, wish: Any, status: int) -> None:
    page.error(grow(page, wish), status)
    assert page.desk.waiting == {}


@pytest.mark.parametrize("ids", [[], [[]], [[-1]], [[8000]], [[0], [0]], [["a"]], [[0] * 3000], "7", [[True]]])
def test_tokens_of_a_target_that_are_none_are_refused(page: Page, ids: Any) -> None:
    page.error(page.post({"model": "en-fr", "texts": [TEXT], "target_ids": ids}), 400)


NUMBER = st.integers(-2, 20) | st.floats(-1, 3) | JSON


@FUZZ
@given(
    wish=JSON
    | st.binary(max_size=40)
    | st.fixed_dictionaries(
        {"model": st.sampled_from(["en-fr", "slides", "none"]), "text": st.just("Dogs.") | st.text(max_size=9)},
        optional={
            "beams": NUMBER,
            "length_penalty": NUMBER,
            "sample": st.booleans() | JSON,
            "temperature": NUMBER,
            "top_k": NUMBER,
            "top_p": NUMBER,
            "seed": NUMBER,
            "max_tokens": st.just(3) | NUMBER,
        },
    )
)
def test_any_wish_for_a_search_is_met_or_refused_in_a_sentence(page: Page, wish: Any) -> None:
    answer = grow(page, wish if isinstance(wish, bytes) else json.dumps(wish))
    assert answer.status_code in (200, 400, 404, 413), answer.text
    if answer.status_code != 200:
        page.error(answer, answer.status_code)
    assert page.desk.waiting == {}


def test_few_trees_are_kept_and_the_same_wish_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.page.server.desk.MOST_TREES", 2)
    made: list[str] = []

    def grown(model: object, asked: trees.AskedTree) -> bytes:
        made.append(asked.text)
        return asked.text.encode()

    monkeypatch.setattr("glassformer.page.server.desk.grow", grown)
    desk = translating()

    async def scene() -> None:
        wish = [trees.AskedTree(model="en-fr", text=text) for text in ("a", "b", "c")]
        assert set(await asyncio.gather(desk.tree(wish[0]), desk.tree(wish[0]))) == {b"a"}
        await desk.tree(wish[1])
        await desk.tree(wish[0])
        await desk.tree(wish[2])

    run(scene())
    desk.close()
    assert made == ["a", "b", "c"]
    assert len(desk.trees) == 2
