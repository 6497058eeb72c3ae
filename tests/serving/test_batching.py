"""What waits is answered together by length, in bounded numbers and several threads; what nobody waits for is not."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import DataError
from glassformer.run.serving.batching import Item
from glassformer.run.serving.refusals import BrokenError, BusyError, OverloadedError
from glassformer.run.serving.served import Models, Served
from glassformer.runtime.threads import own_threads
from tests.page.serving import run
from tests.serving.servers import close, models_of

TEXTS = [f"It {'rained and ' * (number % 7)}stopped [MASK] {number}." for number in range(40)]


async def items_of(
    models: Models, served: Served, texts: Sequence[str], verb: str = "fill", **options: Any
) -> list[Item]:
    form = served.form(verb)
    asked = form.body(texts=tuple(texts), **options)
    records, _, options = form.asked(asked)
    return await models.read(served, form, records, options)


def one(bundled: dict[str, Model], name: str = "english", **limits: Any) -> tuple[Models, Served]:
    models = models_of({name: bundled[name]}, **limits)
    return models, models[name]


def met_in_threads(served: Served, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, set[int]]]:
    """Has each thread of a model wait with its first batch until the other has one; returns what will be in work: the
    thread, its number of threads in torch, and the items.
    """
    compute, both, met = served.worker._compute, threading.Barrier(2), list[tuple[int, int, set[int]]]()

    def computed(batch: Sequence[Item]) -> None:
        if all(thread != threading.get_ident() for thread, *_ in met):
            met.append((threading.get_ident(), torch.get_num_threads(), set(map(id, batch))))
            both.wait(60)
        compute(batch)

    monkeypatch.setattr(served.worker, "_compute", computed)
    return met


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["english", "own engine"])
def test_two_batches_are_in_work_at_once_and_each_answer_is_that_of_its_text_alone(
    bundled: dict[str, Model], two_threads: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    model = bundled["english"] if name == "english" else gf.load("english", device="cpu")
    models = models_of({"english": model})
    served = models["english"]
    if name != "english":
        served.warm()
    met = met_in_threads(served, monkeypatch)

    async def scene() -> list[Any]:
        items = [await items_of(models, served, [text]) for text in TEXTS]
        asked = [asyncio.ensure_future(served.worker.answer(each)) for each in items]
        await asyncio.sleep(0)
        served.worker.start()
        found = await asyncio.gather(*asked)
        await asyncio.to_thread(models.end)
        return [answer.to_dict() for (answer,) in found]

    found = run(scene())
    (one_thread, one_number, first), (other_thread, other_number, second) = met
    assert one_thread != other_thread
    assert (one_number, other_number, torch.get_num_threads()) == (1, 1, 2)
    assert not first & second
    with own_threads(1):
        alone = [bundled["english"].fill(text).to_dict() for text in TEXTS]
    assert all(close(answer, each, 1e-4) for answer, each in zip(found, alone, strict=True))


def test_what_writes_has_one_thread_that_divides(bundled: dict[str, Model], two_threads: None) -> None:
    threads = {name: one(bundled, name)[1].worker for name in ("english", "next-sentence", "writer", "en-fr")}
    assert {name: (len(worker.threads), worker.of_each) for name, worker in threads.items()} == {
        "english": (2, 1), "next-sentence": (2, 1), "writer": (1, 2), "en-fr": (1, 2)
    }  # fmt: skip


def test_each_thread_takes_its_share_of_few(bundled: dict[str, Model], two_threads: None) -> None:
    models, served = one(bundled)

    async def scene() -> list[int]:
        served.worker._take_on(await items_of(models, served, ["It [MASK]."] * 16))
        return [len(served.worker._next()) for _ in range(5)]

    assert run(scene()) == [8, 4, 2, 1, 1]


def test_one_short_text_is_read_without_a_thread(bundled: dict[str, Model], monkeypatch: pytest.MonkeyPatch) -> None:
    models, served = one(bundled)
    begun: list[object] = []
    submit = models.readers.submit

    def counted(*work: Any) -> Any:
        begun.append(work)
        return submit(*work)

    monkeypatch.setattr(models.readers, "submit", counted)
    counts = []
    for texts in (["One [MASK]."], ["A [MASK] " * 200], ["Two [MASK].", "Two [MASK]."]):
        run(items_of(models, served, texts))
        counts.append(len(begun))
    assert counts == [0, 1, 2]


def test_answers_of_many_at_once_are_those_of_each_alone(bundled: dict[str, Model]) -> None:
    models, served = one(bundled)

    async def scene() -> list[Any]:
        served.worker.start()
        found = await asyncio.gather(*(ask(text) for text in TEXTS))
        await asyncio.to_thread(models.end)
        return found

    async def ask(text: str) -> Any:
        (item,) = await items_of(models, served, [text])
        (answer,) = await served.worker.answer([item])
        return answer.to_dict()

    found = run(scene())
    for text, answer in zip(TEXTS, found, strict=True):
        assert close(answer, bundled["english"].fill(text).to_dict())


def test_the_one_that_waits_longest_goes_first_with_those_nearest_in_length(bundled: dict[str, Model]) -> None:
    models, served = one(bundled)
    worker = served.worker
    worker.most_tokens = 60

    async def scene() -> tuple[list[Item], list[list[Item]]]:
        items = await items_of(models, served, TEXTS[:12])
        others = await items_of(models, served, TEXTS[:3], top=2)
        worker._take_on([*items, *others])
        batches = []
        while batch := worker._next():
            batches.append(batch)
        return [*items, *others], batches

    items, batches = run(scene())
    assert sorted(map(id, (item for batch in batches for item in batch))) == sorted(map(id, items))
    left = list(items)
    for batch in batches:
        assert batch[0] is left[0]
        assert len({item.key for item in batch}) == 1
        assert len(batch) == 1 or sum(item.tokens for item in batch) <= 60
        near = [abs(item.longest - batch[0].longest) for item in batch]
        others = [
            abs(item.longest - batch[0].longest) for item in left if item.key == batch[0].key and item not in batch
        ]
        assert max(near) <= min(others, default=99)
        left = [item for item in left if item not in batch]
    assert (len(worker.waiting), worker.tokens) == (0, 0)


def test_what_does_not_fit_into_the_queue_is_refused_with_a_time(bundled: dict[str, Model]) -> None:
    models, served = one(bundled, waiting=5, waiting_tokens=60)
    worker = served.worker
    worker.read, worker.busy = 10.0, 1.0

    async def scene() -> list[OverloadedError]:
        refusals = []
        first = await items_of(models, served, TEXTS[:2])
        worker._take_on(first)
        for texts in (TEXTS[:4], [TEXTS[6]] * 3):
            with pytest.raises(OverloadedError) as refused:
                worker._take_on(await items_of(models, served, texts))
            refusals.append(refused.value)
        assert len(worker.waiting) == 2
        first[0].future.cancel()  # what is given up makes room
        first[1].future.cancel()
        worker._take_on(await items_of(models, served, TEXTS[:4]))
        return refusals

    for refusal in run(scene()):
        assert refusal.seconds == 2  # 17 tokens wait, 10 a second
    assert len(worker.waiting) == 4


def test_what_would_wait_longer_than_its_time_limit_is_refused_at_once(bundled: dict[str, Model]) -> None:
    models, served = one(bundled, seconds=20.0)
    worker = served.worker

    async def scene() -> None:
        worker._take_on(await items_of(models, served, TEXTS[6:7]))
        worker.read, worker.busy = 10.0, 10.0  # a token a second
        with pytest.raises(OverloadedError):
            worker._take_on(await items_of(models, served, TEXTS[6:7]))
        worker.busy = 2.0
        worker._take_on(await items_of(models, served, TEXTS[6:7]))

    run(scene())
    assert (len(worker.waiting), 40 < worker.tokens < 100) == (2, True)


def test_a_request_of_more_tokens_than_may_wait_is_taken_when_nothing_waits(bundled: dict[str, Model]) -> None:
    models, served = one(bundled, waiting=5, waiting_tokens=10)

    async def scene() -> int:
        items = await items_of(models, served, [TEXTS[6]])
        served.worker._take_on(items)
        return items[0].tokens

    assert run(scene()) > 10


def test_what_nobody_waits_for_is_not_computed(bundled: dict[str, Model]) -> None:
    models, served = one(bundled)

    async def scene() -> tuple[list[Item], Any]:
        left = await items_of(models, served, TEXTS[:5])
        (kept,) = await items_of(models, served, TEXTS[5:6])
        asking = asyncio.ensure_future(served.worker.answer(left))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        served.worker.start()
        (answer,) = await served.worker.answer([kept])
        await asyncio.to_thread(models.end)
        return left, answer

    left, answer = run(scene())
    assert all(item.future.cancelled() and not item.found for item in left)
    assert answer.to_dict()["text"] == TEXTS[5]


def test_a_long_text_that_nobody_waits_for_any_more_stops_between_steps(bundled: dict[str, Model]) -> None:
    """A writer is stopped within a text; the next one does not wait for all of its tokens."""
    models, served = one(bundled, "writer")

    async def scene() -> tuple[float, float]:
        served.worker.start()
        (warm,) = await items_of(models, served, ["It was"], "generate", max_tokens=2, beams=1)
        await served.worker.answer([warm])
        (long,) = await items_of(models, served, ["It was"], "generate", max_tokens=200, min_tokens=199, beams=8)
        started = time.perf_counter()
        asking = asyncio.ensure_future(served.worker.answer([long]))
        await asyncio.sleep(0.2)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        (short,) = await items_of(models, served, ["It was"], "generate", max_tokens=2, beams=1)
        await served.worker.answer([short])
        stopped = time.perf_counter() - started
        (again,) = await items_of(models, served, ["It was"], "generate", max_tokens=200, min_tokens=199, beams=8)
        started = time.perf_counter()
        await served.worker.answer([again])
        whole = time.perf_counter() - started
        await asyncio.to_thread(models.end)
        return stopped, whole

    stopped, whole = run(scene())
    assert stopped < whole


def test_an_error_of_one_record_spoils_no_other(bundled: dict[str, Model], monkeypatch: pytest.MonkeyPatch) -> None:
    models, served = one(bundled)

    async def scene() -> list[Any]:
        items = await items_of(models, served, TEXTS[:4])
        predictor, merge = items[0].predictor, items[0].predictor.merge
        compute = served.worker._compute

        def merged(example: Any, found: Any) -> Any:
            if example is items[1].example:
                raise DataError("this one is bad")
            return merge(example, found)

        def computed(batch: Sequence[Item]) -> None:
            if items[2] in batch:
                raise RuntimeError("memory")
            compute(batch)

        monkeypatch.setattr(predictor, "merge", merged)
        monkeypatch.setattr(served.worker, "_compute", computed)
        served.worker.start()
        asked = [served.worker.answer([item]) for item in items]
        found = await asyncio.gather(*asked, return_exceptions=True)
        await asyncio.to_thread(models.end)
        return found

    first, bad, broken, last = run(scene())
    assert isinstance(bad, DataError)
    assert isinstance(broken, BrokenError)
    assert "memory" not in str(broken)
    assert [each.to_dict()["text"] for (each,) in (first, last)] == [TEXTS[0], TEXTS[3]]


def test_the_end_answers_all_that_was_taken_and_takes_no_more(bundled: dict[str, Model]) -> None:
    models, served = one(bundled)

    async def scene() -> list[Any]:
        items = await items_of(models, served, TEXTS)
        more = await items_of(models, served, TEXTS[:1])
        asking = asyncio.ensure_future(served.worker.answer(items))
        await asyncio.sleep(0)
        served.worker.start()
        await asyncio.to_thread(models.end)
        assert not any(thread.is_alive() for thread in served.worker.threads)
        with pytest.raises(BusyError):
            await served.worker.answer(more)
        return await asking

    assert len(run(scene())) == len(TEXTS)


def test_the_end_answers_what_both_threads_have_taken(
    bundled: dict[str, Model], two_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, served = one(bundled)
    met = met_in_threads(served, monkeypatch)

    async def scene() -> list[Any]:
        items = await items_of(models, served, TEXTS)
        served.worker._take_on(items)
        served.worker.end()  # before a thread has begun: both take a batch all the same
        served.worker.start()
        await asyncio.to_thread(models.end)
        assert not any(thread.is_alive() for thread in served.worker.threads)
        return await asyncio.gather(*(item.future for item in items))

    assert [answer.to_dict()["text"] for answer in run(scene())] == TEXTS
    assert len(met) == 2
