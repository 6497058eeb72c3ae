"""What a page may ask for, and what becomes of runs: made once, kept in few, changed by hand, stopped, refused."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.demo.texts import slides_model
from glassformer.errors import UnknownNameError
from glassformer.explorer.server import answers
from glassformer.explorer.server.asked import MOST_CHARACTERS, MOST_STEPS, MOST_TEXTS, Asked
from glassformer.explorer.server.numbers import Numbers
from glassformer.explorer.server.offers import Models, Offer
from glassformer.explorer.server.refusals import BusyError, MissingError
from glassformer.explorer.server.stopping import Stoppable, Unwanted, in_thread
from glassformer.look.interventions import allow, forbid, patch, zero_head
from tests.explorer.serving import ATTENTION, SENTENCES, TEXTS, Page, desk_of, served, small_model
from tests.refusals import refused

SLIDES = Asked(model="slides", texts=SENTENCES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Page]:
    with served(desk_of(folder)) as page:
        yield page


def test_the_page_is_told_what_it_can_choose_and_where_it_starts(page: Page, folder: Path) -> None:
    answer = page.get("api/models")
    told = answer.json()
    assert [offer["name"] for offer in told["models"]] == ["slides", "small"]
    assert told["start"] == json.loads(SLIDES.model_dump_json())
    assert str(folder.parent) not in answer.text
    assert page.post(told["start"]).status_code == 200


def test_a_run_has_the_same_key_each_time_and_is_kept_by_browsers(page: Page) -> None:
    one, two = page.overview(), page.overview()
    other = page.overview(steps=[{"kind": "replace", "where": f"{ATTENTION}.mixed", "by": 0.0, "cell": [None, 1]}])
    assert one["run"] == two["run"] == SLIDES.key != other["run"]
    for what in ("", "/honesty", "/numbers", f"/tensor?name={ATTENTION}.weights", f"/heads?attention={ATTENTION}"):
        answer = page.client.get(f"/a-token/api/runs/{one['run']}{what}")
        assert "immutable" in answer.headers["cache-control"]
    assert page.get(f"api/runs/{one['run']}").json() == one
    plain = page.client.get(f"/a-token/api/runs/{one['run']}", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.json() == one
    assert (
        page.client.post("/a-token/api/runs", content=SLIDES.model_dump_json()).headers["cache-control"] == "no-store"
    )


# --------------------------------------------------------------------------- changes by hand

STEPS: list[tuple[dict[str, Any], Any]] = [
    ({"kind": "replace", "where": f"{ATTENTION}.mixed", "by": 0, "cell": [None, 1]}, zero_head(ATTENTION, 1)),
    ({"kind": "forbid", "attention": ATTENTION, "query": "better", "key": "She"}, forbid(ATTENTION, "better", "She")),
    ({"kind": "allow", "attention": ATTENTION, "query": 0, "key": 1, "head": 1}, allow(ATTENTION, 0, 1, 1)),
]


@pytest.mark.parametrize(("step", "intervention"), STEPS, ids=str)
def test_changes_by_hand_are_those_of_python(page: Page, step: dict[str, Any], intervention: Any) -> None:
    told = page.overview("slides", SENTENCES[:1], steps=[step])
    expected = page.desk.models["slides"].trace([SENTENCES[0]], interventions=[intervention])
    assert told["changes"] == expected.python
    sent = page.tensors(f"api/runs/{told['run']}/numbers")
    for name, tensor in expected.items():
        assert torch.equal(sent[name].to(tensor.dtype), tensor), name
    assert page.get(f"api/runs/{told['run']}/honesty").json()["before_changes"] is False


def test_words_are_changed_and_masked(page: Page) -> None:
    steps = [{"kind": "change_word", "token": "summer", "id": "cook"}, {"kind": "mask_word", "token": 4}]
    told = page.overview("slides", SENTENCES[:1], steps=steps)
    assert told["words"]["inputs"] == [["She", "[MASK]", "[MASK]", "cook", "[MASK]"]]
    assert [0, 4, "better"] in told["words"]["answers"]


def test_numbers_of_another_run_are_put_in(page: Page) -> None:
    other = page.overview("slides", SENTENCES[1:2])
    name = f"{ATTENTION}.weights"
    told = page.overview("slides", SENTENCES[:1], steps=[{"kind": "patch", "where": name, "run": other["run"]}])
    weights = page.tensors(f"api/runs/{told['run']}/tensor", name=name)["numbers"]
    assert torch.equal(weights, page.desk.trace(other["run"])[name])
    python = page.desk.models["slides"].trace(
        [SENTENCES[0]], interventions=[patch(page.desk.trace(other["run"]), name)]
    )
    assert torch.equal(page.desk.trace(told["run"])["head.logits"], python["head.logits"])


# --------------------------------------------------------------------------- what is refused

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
    monkeypatch.setattr(answers, "MOST_TOKENS", 4)
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
    what=st.sampled_from(["tensor", "picture", "heads", "explain", "numbers", "honesty", "nothing"]),
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
            "scale": WORDS | st.sampled_from(["log", "linear"]),
            "sentence": WORDS,
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


# --------------------------------------------------------------------------- few are kept


def test_few_runs_are_kept_those_used_last() -> None:
    with served(desk_of(most_runs=2)) as page:
        one, two = (page.overview("slides", (text,))["run"] for text in SENTENCES[:2])
        page.get(f"api/runs/{one}")
        three = page.overview("slides", SENTENCES[2:])["run"]
        assert list(page.desk.runs) == [one, three]
        assert "ask" in page.error(page.get(f"api/runs/{two}/numbers"), 404)["do"]
        assert page.overview("slides", SENTENCES[1:2])["run"] == two
        assert page.client.delete(f"/a-token/api/runs/{two}").status_code == 204
        assert list(page.desk.runs) == [three]
        page.error(page.get(f"api/runs/{two}"), 404)


def test_runs_are_kept_as_far_as_there_is_room() -> None:
    with served(desk_of(most_bytes=1)) as page:
        for text in SENTENCES:
            key = page.overview("slides", (text,))["run"]
            assert list(page.desk.runs) == [key]
            assert page.desk.nbytes > 1


def test_numbers_computed_again_are_kept_as_far_as_there_is_room(page: Page) -> None:
    found = page.desk.models["small"].trace([TEXTS[0]], keep=())
    names = [name for name in found if not found.kept(name)][:6]
    numbers = Numbers(most_bytes=sum(found[name].nbytes for name in names[:3]))
    for name in names:
        assert torch.equal(numbers.fetch("run", found, [name])[name], found[name])
        assert numbers.nbytes == sum(tensor.nbytes for tensor in numbers.kept.values()) <= numbers.most_bytes
    kept = list(numbers.kept)
    assert kept[-1] == ("run", names[-1])
    again = numbers.fetch("run", found, [kept[0][1]])[kept[0][1]]
    assert again is numbers.fetch("run", found, [kept[0][1]])[kept[0][1]]
    assert next(reversed(numbers.kept)) == kept[0]
    numbers.forget("run")
    assert (numbers.kept, numbers.nbytes) == ({}, 0)


def test_few_models_stay_open(folder: Path) -> None:
    models = Models([Offer(name, slides_model(), SENTENCES) for name in "abc"], device="cpu", most_open=2)
    first = models["a"]
    assert models["a"] is first
    for name in "bc":
        assert models[name] is not first
    assert list(models.open) == ["b", "c"]
    with refused(UnknownNameError, wanted="'d'"):
        models["d"]


# --------------------------------------------------------------------------- at once, and stopped


def test_the_same_wish_is_run_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    async def scene() -> None:
        desk = desk_of()
        begin = answers.begin
        monkeypatch.setattr(
            "glassformer.explorer.server.desk.begin",
            lambda *given: runs.append(given) or begin(*given),  # type: ignore[func-returns-value]
        )
        found = await asyncio.gather(*(desk.ask(SLIDES) for _ in range(20)))
        assert len(runs) == 1
        assert all(run is found[0] for run in found)
        assert desk.waiting == {}
        desk.close()

    asyncio.run(scene())


class Held:
    """A run that takes until it is let go, or stopped; calls torch all the time, as a run does."""

    def __init__(self) -> None:
        self.begun, self.let, self.stopped = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, *given: object) -> Any:
        self.begun.set()
        try:
            while not self.let.wait(0.01):
                torch.ones(2).sum()
        except Unwanted:
            self.stopped.set()
            raise
        return answers.begin(*given)  # type: ignore[arg-type]


def test_a_run_nobody_waits_for_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    monkeypatch.setattr("glassformer.explorer.server.desk.begin", held)

    async def scene() -> None:
        desk = desk_of()
        one, two = (asyncio.ensure_future(desk.ask(SLIDES)) for _ in range(2))
        queued = asyncio.ensure_future(desk.ask(Asked(model="slides", texts=SENTENCES[:1])))
        while not held.begun.is_set():
            await asyncio.sleep(0.01)
        assert len(desk.waiting) == 2
        one.cancel()
        queued.cancel()
        await asyncio.sleep(0.05)
        assert not held.stopped.is_set()  # the other one still waits
        assert list(desk.waiting) == [SLIDES.key]
        two.cancel()
        await asyncio.gather(one, two, queued, return_exceptions=True)
        assert await asyncio.to_thread(held.stopped.wait, 10)
        assert (desk.waiting, len(desk.runs)) == ({}, 0)
        held.let.set()
        assert (await desk.ask(SLIDES)).key == SLIDES.key
        desk.close()

    asyncio.run(scene())


def test_so_many_runs_are_waited_for_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    monkeypatch.setattr("glassformer.explorer.server.desk.begin", held)

    async def scene() -> None:
        desk = desk_of(most_waiting=2)
        waiting = [asyncio.ensure_future(desk.ask(Asked(model="slides", texts=(text,)))) for text in SENTENCES[:2]]
        await asyncio.sleep(0.01)
        with refused(BusyError, wanted="2"):
            await desk.ask(SLIDES)
        held.let.set()
        assert len(await asyncio.gather(*waiting)) == 2
        with refused(MissingError):
            desk.run("0" * 32)
        desk.close()

    asyncio.run(scene())


def test_closing_stops_what_is_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    monkeypatch.setattr("glassformer.explorer.server.desk.begin", held)

    async def scene() -> None:
        desk = desk_of()
        waiting = asyncio.ensure_future(desk.ask(SLIDES))
        while not held.begun.is_set():
            await asyncio.sleep(0.01)
        desk.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await asyncio.to_thread(held.stopped.wait, 10)

    asyncio.run(scene())


def test_work_that_is_unwanted_stops_at_the_next_call_of_torch() -> None:
    stop = threading.Event()
    with Stoppable(stop):
        assert float(torch.ones(3).sum()) == 3.0
        stop.set()
        with pytest.raises(Unwanted):
            torch.ones(3).sum()
    assert math.isclose(float(torch.ones(3).sum()), 3.0)


def test_what_goes_wrong_in_a_thread_comes_back() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def wrong() -> None:
        raise MissingError("x")

    with ThreadPoolExecutor(1) as executor, refused(MissingError, wanted="x"):
        asyncio.run(in_thread(executor, wrong))
