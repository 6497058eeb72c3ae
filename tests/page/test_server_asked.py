"""Wishes and questions that cannot be met: by hand, and by chance. Each ends in an answer or in a sentence."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.page.server.asked import MOST_CHARACTERS, MOST_STEPS, MOST_TEXTS, Asked
from tests.page.serving import ATTENTION, SENTENCES, Page, desk_of, served

SLIDES = Asked(model="slides", texts=SENTENCES)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with served(desk_of()) as page:
        yield page


TEXT = {"model": "slides", "texts": [SENTENCES[0]]}
DEEP = '{"model":' + "[" * 30_000
WRONG: list[tuple[Any, int]] = [
    (b"", 400),
    (b"{", 400),
    (b"\xff\xfe", 400),
    (DEEP.encode(), 400),
    (b"[" * 50 + b"]" * 50, 400),
    (b'{"model": "slides", "texts": ["a"], "steps": ' + b"9" * 5000 + b"}", 400),
    (b"null", 400),
    (b"3", 400),
    ([], 400),
    ({}, 400),
    ({"model": "slides"}, 400),
    ({"texts": ["a"]}, 400),
    ({**TEXT, "model": 3}, 400),
    ({**TEXT, "model": ""}, 400),
    ({**TEXT, "model": "../../etc"}, 404),
    ({**TEXT, "model": "/etc/passwd"}, 404),
    ({**TEXT, "model": "english"}, 404),
    ({**TEXT, "texts": "She"}, 400),
    ({**TEXT, "texts": []}, 400),
    ({**TEXT, "texts": [3]}, 400),
    ({**TEXT, "texts": [None]}, 400),
    ({**TEXT, "texts": [""]}, 400),
    ({**TEXT, "texts": ["  "]}, 400),
    ({**TEXT, "texts": ["an unknown word"]}, 400),
    ({**TEXT, "texts": ["<img onerror=alert(1)>"]}, 400),
    ({**TEXT, "texts": ["She"] * (MOST_TEXTS + 1)}, 400),
    ({**TEXT, "texts": ["x" * (MOST_CHARACTERS + 1)]}, 400),
    ({**TEXT, "texts": ["She " * (MOST_CHARACTERS // 8)] * 3}, 413),
    ({**TEXT, "texts": ["\ud800"]}, 400),
    ({**TEXT, "seconds": ["a", "b"]}, 400),
    ({**TEXT, "seconds": []}, 400),
    ({**TEXT, "choices": ["She", "He"]}, 400),
    ({**TEXT, "choices": "She"}, 400),
    ({**TEXT, "unknown": 1}, 400),
    ({**TEXT, "text": ["She"]}, 400),
    ({**TEXT, "steps": {}}, 400),
    ({**TEXT, "steps": [{}]}, 400),
    ({**TEXT, "steps": [{"kind": "explode"}]}, 400),
    ({**TEXT, "steps": [{"kind": "replace", "where": f"{ATTENTION}.mixed", "by": 0.0}] * (MOST_STEPS + 1)}, 400),
    ({**TEXT, "steps": [{"kind": "replace", "where": "nothing", "by": 0.0}]}, 404),
    ({**TEXT, "steps": [{"kind": "replace", "where": f"{ATTENTION}.mixed", "by": "median"}]}, 400),
    ({**TEXT, "steps": [{"kind": "replace", "where": f"{ATTENTION}.mixed", "by": 1e308}]}, 400),
    ({**TEXT, "steps": [{"kind": "replace", "where": f"{ATTENTION}.mixed", "by": 1.0, "cell": [0] * 9}]}, 400),
    ({**TEXT, "steps": [{"kind": "replace", "where": f"{ATTENTION}.mixed", "by": 1.0, "cell": [0, 2]}]}, 400),
    ({**TEXT, "steps": [{"kind": "replace", "where": f"{ATTENTION}.mixed", "by": 1.0, "cell": [10**18]}]}, 400),
    ({**TEXT, "steps": [{"kind": "forbid", "attention": ATTENTION, "query": 9, "key": 0}]}, 400),
    ({**TEXT, "steps": [{"kind": "forbid", "attention": ATTENTION, "query": "winter", "key": 0}]}, 404),
    ({**TEXT, "steps": [{"kind": "forbid", "attention": ATTENTION, "query": True, "key": 0}]}, 400),
    ({**TEXT, "steps": [{"kind": "change_word", "token": 0, "id": 10**9}]}, 400),
    ({**TEXT, "steps": [{"kind": "change_word", "token": 0, "id": 1, "sentence": 9}]}, 400),
    ({**TEXT, "steps": [{"kind": "mask_word", "token": 0, "where": "outputs"}]}, 400),
    ({**TEXT, "steps": [{"kind": "patch", "where": f"{ATTENTION}.mixed", "run": "x"}]}, 400),
    ({**TEXT, "steps": [{"kind": "patch", "where": f"{ATTENTION}.mixed", "run": "0" * 32}]}, 404),
]


@pytest.mark.parametrize(("body", "status"), WRONG, ids=range(len(WRONG)))
def test_wishes_that_cannot_be_met_are_refused(page: Page, body: Any, status: int) -> None:
    page.error(page.post(body), status)
    assert page.desk.waiting == {}


def test_a_text_of_too_many_tokens_is_refused(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.page.server.desk.MOST_TOKENS", 4)
    assert "5 in the longest" in page.error(page.post(TEXT), 413)["got"]
    page.error(page.post({**TEXT, "texts": ["She likes the"] * 3}), 413)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(["change_word", "mask_word", "allow", "forbid", "replace", "patch"])
PLACE = st.integers() | st.sampled_from(["She", "summer", "better@4", "", "\x00"]) | JSON
STEP = st.fixed_dictionaries(
    {"kind": KINDS},
    optional={
        "token": PLACE,
        "id": PLACE,
        "mask_id": PLACE,
        "query": PLACE,
        "key": PLACE,
        "head": PLACE,
        "sentence": PLACE,
        "attention": st.sampled_from([ATTENTION, "encoder", "*"]) | JSON,
        "where": st.sampled_from(["inputs", "decoder_inputs", "*", "loss", f"{ATTENTION}.*", "head.logits"]) | JSON,
        "by": st.floats() | st.just("mean") | JSON,
        "cell": st.lists(st.integers(-6, 6) | st.none(), max_size=5) | JSON,
        "run": st.sampled_from(["0" * 32, SLIDES.key]) | JSON,
    },
)
WISH = st.fixed_dictionaries(
    {"model": st.just("slides") | JSON, "texts": st.just([SENTENCES[0]]) | JSON},
    optional={"seconds": JSON, "choices": JSON, "steps": st.lists(STEP, max_size=3) | JSON},
)
FUZZ = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@FUZZ
@given(body=JSON | WISH | st.binary(max_size=40) | st.just({**TEXT, "texts": ["She likes", "He"]}))
def test_any_wish_is_met_or_refused_in_a_sentence(page: Page, body: Any) -> None:
    answer = page.post(body if isinstance(body, bytes) else json.dumps(body))
    assert answer.status_code in (200, 400, 404, 413), answer.text
    if answer.status_code != 200:
        page.error(answer, answer.status_code)
    assert page.desk.waiting == {}


@FUZZ
@given(step=STEP)
def test_any_change_by_hand_is_made_or_refused_in_a_sentence(page: Page, step: Any) -> None:
    answer = page.post({**TEXT, "steps": [step]})
    assert answer.status_code in (200, 400, 404), answer.text
    if answer.status_code != 200:
        page.error(answer, answer.status_code)


WORDS = st.text(max_size=12) | st.sampled_from(["0", "-1", "1e9", "9" * 40, "0,0,0,0", ":", "1:2", "\x00", "..", "%00"])
NAMES = st.sampled_from([f"{ATTENTION}.weights", ATTENTION, "inputs.ids", "parameters.head.weight", "loss"]) | WORDS


@FUZZ
@given(
    what=st.sampled_from(["tensor", "picture", "heads", "explain", "largest", "numbers", "honesty", "nothing"]),
    key=st.just(SLIDES.key) | WORDS,
    query=st.fixed_dictionaries(
        {},
        optional={
            "name": NAMES,
            "attention": NAMES,
            "part": WORDS,
            "cell": WORDS,
            "rows": WORDS,
            "columns": WORDS,
            "sentence": WORDS,
            "count": WORDS,
            "unknown": WORDS,
        },
    ),
)
def test_any_question_is_answered_or_refused_in_a_sentence(
    page: Page, what: str, key: str, query: dict[str, str]
) -> None:
    if SLIDES.key not in page.desk.runs:
        page.overview()
    answer = page.get(f"api/runs/{quote(key, safe='') or 'x'}/{what}", **query)
    assert answer.status_code in (200, 400, 403, 404, 413), answer.text
    if answer.status_code != 200:
        page.error(answer, answer.status_code)
