"""Many sentences are decoded in parts, a thread for each: the answers are the same to the bit, however many threads."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.base.errors import ConfigError
from glassformer.decode.step import Step
from glassformer.tasks import passes
from glassformer.tasks.writing import writers

NOUNS = ("dog", "cat", "train", "house", "child")
SENTENCES = [f"A {one} {verb} the {other}." for one, verb, other in itertools.product(NOUNS, ("sees", "is in"), NOUNS)]


@pytest.fixture(scope="module")
def model() -> gf.Model:
    return gf.load("en-fr", engine="torch")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many parts each call was divided into; small ones, so that few sentences are many parts."""
    found: list[int] = []

    def counted(work: Any, parts: Any, threads: int) -> Any:
        found.append(len(parts))
        return passes.in_threads(work, parts, threads)

    monkeypatch.setattr(writers, "_LEAST", 16)
    monkeypatch.setattr(writers, "_PART", 8)
    monkeypatch.setattr(writers, "in_threads", counted)
    monkeypatch.setattr(writers, "own_threads_are_faster", lambda width: True)
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("beams", [1, 3])
def test_answers_do_not_depend_on_the_number_of_threads(
    model: gf.Model, ran: list[int], beams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers(threads: int) -> list[tuple[Any, ...]]:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            found = model.translate(SENTENCES, beams=beams, max_tokens=8)
            assert torch.get_num_threads() == threads
        finally:
            torch.set_num_threads(before)
        return [(each.translation, each.score, tuple(each.tokens)) for each in found]

    one = answers(1)
    assert ran == [7]
    assert answers(2) == one
    assert answers(3) == one
    assert ran == [7, 7, 7]
    monkeypatch.setattr(writers, "own_threads_are_faster", lambda width: False)
    whole = answers(1)
    assert len(ran) == 3
    assert [text for text, *_ in whole] == [text for text, *_ in one]
    # Sums of float32 in batches of other sizes, over eight tokens.
    assert [score for _, score, _ in whole] == pytest.approx([score for _, score, _ in one], abs=1e-4)


def test_few_sentences_and_watched_ones_are_not_divided(model: gf.Model, ran: list[int]) -> None:
    model.translate(SENTENCES[:15], beams=1, max_tokens=3)
    model.translate(SENTENCES[:40], beams=1, max_tokens=3, alignment=True)
    assert ran == []


def test_an_error_of_a_thread_is_that_of_the_call(
    model: gf.Model, ran: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> Iterator[Step]:
        yield Step([])
        raise ConfigError("a thread must be able to fail", got="nothing")

    monkeypatch.setattr(writers, "decode", failing)
    with pytest.raises(ConfigError, match="a thread must"):
        model.translate(SENTENCES, beams=1)
    assert ran == [7]


def test_which_way_is_faster_is_known_for_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    assert passes.own_threads_are_faster(16)  # of one thread: it is the only one
    asked: list[str] = []

    def fastest(what: str, ways: dict[str, Any]) -> str:
        asked.append(what)
        for way in ways.values():
            way()
        return next(iter(ways))

    monkeypatch.setattr(passes, "fastest", fastest)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    before = torch.get_num_threads
    assert not passes.own_threads_are_faster(16)
    assert len(asked) == 1
    assert torch.get_num_threads is before
    torch.set_num_threads(1)
