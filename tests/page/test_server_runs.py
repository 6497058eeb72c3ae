"""What a page may ask for, and what becomes of runs: made once, kept in few, changed by hand, stopped, refused."""

import asyncio
import json
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.api.model import Model
from glassformer.base.errors import UnknownNameError
from glassformer.bundled.texts import slides_model
from glassformer.look.trace.interventions import allow, forbid, patch, zero_head
from glassformer.page.server.asked import Asked
from glassformer.page.server.desk import begin
from glassformer.page.server.numbers import Numbers
from glassformer.page.server.offers import Models, Offer
from glassformer.page.tour import tour_texts
from glassformer.run.serving.refusals import BusyError, MissingError
from glassformer.run.serving.stopping import Stoppable, Unwanted, in_thread
from tests.page.serving import ATTENTION, SENTENCES, TEXTS, Page, desk_of, run, served, small_model
from tests.refusals import refused

SLIDES = Asked(model="slides", texts=SENTENCES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Page]:
    with served(desk_of(folder)) as page:
        yield page


def test_the_page_gets_what_it_can_choose_and_where_it_starts(page: Page, folder: Path) -> None:
    answer = page.get("api/models")
    found = answer.json()
    assert [offer["name"] for offer in found["models"]] == ["slides", "small"]
    assert found["start"] == json.loads(SLIDES.model_dump_json())
    assert str(folder.parent) not in answer.text
    assert page.post(found["start"]).status_code == 200


def test_a_run_is_sent_without_what_it_has_in_common_with_the_one_that_is_known(page: Page) -> None:
    def asked(like: str, model: str, *texts: str) -> dict[str, Any]:
        body = json.dumps({"model": model, "texts": texts})
        return dict(page.client.post(f"/a-token/api/runs?like={like}", content=body, headers=page.headers).json())

    known, whole = page.overview("slides", SENTENCES[:1]), page.overview("slides", SENTENCES[1:2])
    found = asked(known["run"], "slides", SENTENCES[1])
    assert found.pop("like") == known["run"]
    assert "formulas" not in found
    assert known | found == whole
    # Other formulas hold without a masked word, another model has others, and a run that is gone is known to nobody.
    assert asked(known["run"], "slides", "She likes the summer better")["formulas"]
    assert asked(known["run"], "small", TEXTS[0])["formulas"]
    assert asked("0" * 32, "slides", SENTENCES[1]) == whole


def test_a_run_has_the_same_key_each_time_and_is_kept_by_browsers(page: Page) -> None:
    one, two = page.overview(), page.overview()
    other = page.overview(steps=[{"kind": "replace", "where": f"{ATTENTION}.mixed", "by": 0.0, "cell": [None, 1]}])
    assert one["run"] == two["run"] == SLIDES.key != other["run"]
    for what in ("/honesty", "/numbers", f"/tensor?name={ATTENTION}.weights", f"/heads?attention={ATTENTION}"):
        answer = page.client.get(f"/a-token/api/runs/{one['run']}{what}")
        assert "immutable" in answer.headers["cache-control"]
    plain = page.client.get(f"/a-token/api/runs/{one['run']}/honesty", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.json() == page.get(f"api/runs/{one['run']}/honesty").json()
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
    found = page.overview("slides", SENTENCES[:1], steps=[step])
    expected = Model.of(page.desk.models["slides"]).trace([SENTENCES[0]], interventions=[intervention])
    assert found["changes"] == expected.python
    sent = page.tensors(f"api/runs/{found['run']}/numbers")
    for name, tensor in expected.items():
        assert torch.equal(sent[name].to(tensor.dtype), tensor), name
    assert page.get(f"api/runs/{found['run']}/honesty").json()["before_changes"] is False


def test_words_are_changed_and_masked(page: Page) -> None:
    steps = [{"kind": "change_word", "token": "summer", "id": "cook"}, {"kind": "mask_word", "token": 4}]
    found = page.overview("slides", SENTENCES[:1], steps=steps)
    assert found["words"]["inputs"] == [["She", "[MASK]", "[MASK]", "cook", "[MASK]"]]
    assert [0, 4, "better"] in found["words"]["answers"]


def test_numbers_of_another_run_are_put_in(page: Page) -> None:
    other = page.overview("slides", SENTENCES[1:2])
    name = f"{ATTENTION}.weights"
    found = page.overview("slides", SENTENCES[:1], steps=[{"kind": "patch", "where": name, "run": other["run"]}])
    weights = page.tensors(f"api/runs/{found['run']}/tensor", name=name)["numbers"]
    assert torch.equal(weights, page.desk.run(other["run"]).trace[name])
    python = Model.of(page.desk.models["slides"]).trace(
        [SENTENCES[0]], interventions=[patch(page.desk.run(other["run"]).trace, name)]
    )
    assert torch.equal(page.desk.run(found["run"]).trace["head.logits"], python["head.logits"])


# --------------------------------------------------------------------------- few are kept


def test_few_runs_are_kept_those_used_last() -> None:
    with served(desk_of(most_runs=2)) as page:
        one, two = (page.overview("slides", (text,))["run"] for text in SENTENCES[:2])
        page.get(f"api/runs/{one}/honesty")
        three = page.overview("slides", SENTENCES[2:])["run"]
        assert list(page.desk.runs) == [one, three]
        assert page.error(page.get(f"api/runs/{two}/numbers"), 404)["do"]
        assert page.overview("slides", SENTENCES[1:2])["run"] == two
        page.desk.forget(two)
        assert list(page.desk.runs) == [three]
        page.error(page.get(f"api/runs/{two}/honesty"), 404)


def test_runs_are_kept_as_far_as_there_is_room() -> None:
    with served(desk_of(most_bytes=1)) as page:
        for text in SENTENCES:
            key = page.overview("slides", (text,))["run"]
            assert list(page.desk.runs) == [key]
            assert page.desk.nbytes > 1


def test_numbers_computed_again_are_kept_as_far_as_there_is_room(page: Page) -> None:
    found = Model.of(page.desk.models["small"]).trace([TEXTS[0]], keep=())
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
        monkeypatch.setattr(
            "glassformer.page.server.desk.begin",
            lambda *given: runs.append(given) or begin(*given),  # type: ignore[func-returns-value]
        )
        found = await asyncio.gather(*(desk.ask(SLIDES) for _ in range(20)))
        assert len(runs) == 1
        assert all(run is found[0] for run in found)
        assert desk.waiting == {}
        desk.close()

    run(scene())


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
        return begin(*given)  # type: ignore[arg-type]


def test_a_run_nobody_waits_for_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    monkeypatch.setattr("glassformer.page.server.desk.begin", held)

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

    run(scene())


def test_so_many_runs_are_waited_for_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    monkeypatch.setattr("glassformer.page.server.desk.begin", held)

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

    run(scene())


def test_closing_stops_what_is_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    monkeypatch.setattr("glassformer.page.server.desk.begin", held)

    async def scene() -> None:
        desk = desk_of()
        waiting = asyncio.ensure_future(desk.ask(SLIDES))
        while not held.begun.is_set():
            await asyncio.sleep(0.01)
        desk.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await asyncio.to_thread(held.stopped.wait, 10)

    run(scene())


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
        run(in_thread(executor, wrong))


def test_the_texts_of_the_tour_are_those_of_the_package(page: Page) -> None:
    assert page.get("api/tour").json() == tour_texts()
