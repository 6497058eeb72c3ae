"""Passes in several threads: the same vectors, each pass once, and nothing left behind when one fails."""

import threading
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.api.model import Model
from glassformer.runtime.threads import own_threads
from glassformer.tasks import passes as cut
from glassformer.tasks import predictor as module
from glassformer.tasks.passes import in_threads
from tests.features.test_fast import texts

MARK: ContextVar[str] = ContextVar("mark", default="")


@pytest.mark.long
def test_many_texts_have_the_same_vectors(model: Model, two_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def counting(work: Any, passes: Any, threads: int) -> Any:
        begun.append(threads)
        return in_threads(work, passes, threads)

    monkeypatch.setattr(module, "in_threads", counting)
    monkeypatch.setattr(cut, "CPU_BATCH_TOKENS", 40)
    given = texts(300, seed=4, most=9)
    together = model.embed(given)
    assert begun == [2]
    monkeypatch.setattr(module, "PASSES_OF_A_THREAD", 10**6)
    # Both are sums in float32, in another order where two threads share a product.
    np.testing.assert_allclose(together, model.embed(given), rtol=1e-5, atol=1e-6)
    assert begun == [2]
    assert torch.get_num_threads() == 2


def test_few_texts_go_through_in_one_thread(model: Model, two_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "in_threads", None)
    assert len(model.embed(texts(3))) == 3


def test_each_pass_is_met_once_in_threads_that_compute_alone(two_threads: None) -> None:
    passes = [range(start, start + 3) for start in range(0, 60, 3)]
    met: list[tuple[int, str, str]] = []
    both = threading.Barrier(2, timeout=300)

    def work(given: Iterable[range]) -> Iterator[tuple[int, Any]]:
        both.wait()  # so that neither has all passes
        for taken in given:
            met.append((torch.get_num_threads(), threading.current_thread().name, MARK.get()))
            yield from ((index, index * index) for index in taken)

    token = MARK.set("the caller's")
    try:
        found = dict(in_threads(work, passes, 2))
    finally:
        MARK.reset(token)
    assert found == {index: index * index for index in range(60)}
    assert len(met) == len(passes)
    assert {threads for threads, _, _ in met} == {1}
    assert {mark for _, _, mark in met} == {"the caller's"}
    assert threading.current_thread().name not in {name for _, name, _ in met}
    assert torch.get_num_threads() == 2


def test_a_thread_keeps_its_number_whatever_others_set(two_threads: None) -> None:
    """torch's number is that of the process until a thread has asked for it; then it is its own."""
    turns, met = threading.Barrier(2, timeout=300), dict[int, int]()

    def work(count: int) -> None:
        for number in (1, 3):
            if count == number:
                with own_threads(count):
                    turns.wait()
                    turns.wait()
                    met[count] = torch.get_num_threads()
            else:
                turns.wait()
                torch.set_num_threads(2)
                turns.wait()

    both = [threading.Thread(target=work, args=(count,)) for count in (1, 3)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(300)
    assert met == {1: 1, 3: 3}
    assert torch.get_num_threads() == 2


def test_what_fails_in_one_thread_is_raised_and_stops_the_others(two_threads: None) -> None:
    met: list[int] = []
    failed = threading.Event()

    def work(given: Iterable[range]) -> Iterator[tuple[int, Any]]:
        for taken in given:
            if taken.start == 1:
                failed.set()
                raise ValueError("the second pass")
            failed.wait(300)
            met.append(taken.start)
            yield taken.start, None

    with pytest.raises(ValueError, match="the second pass"):
        list(in_threads(work, [range(start, start + 1) for start in range(100_000)], 2))
    assert len(met) < 100_000 - 1
    assert torch.get_num_threads() == 2
