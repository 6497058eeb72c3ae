"""A translation that is streamed: its parts make the translation, and come before it is whole."""

from collections.abc import Generator
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.base.errors import ConfigError, DataError
from glassformer.saved import artefact
from glassformer.tasks.writing.translation import Translation
from tests.refusals import refused
from tests.translators import ENGLISH, translating

PARAGRAPHS = f" {ENGLISH[0]}  {ENGLISH[1]}\n\n{ENGLISH[0]}\n"
SAMPLE = gf.DecodeSettings(method="sample", max_tokens=9, seed=3)
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"beams": 1, "max_tokens": 9},
    "beams": {"beams": 3, "max_tokens": 9},
    "sample": {"search": SAMPLE},
    "prefix": {"prefix": "Elle aime l'été", "max_tokens": 20},
}


@pytest.fixture(scope="module")
def model() -> gf.Model:
    return translating()


def read(words: Generator[str, None, Translation]) -> tuple[list[str], Translation]:
    """The parts, and what the generator returns."""
    parts = []
    while True:
        try:
            parts.append(next(words))
        except StopIteration as end:
            return parts, end.value


@pytest.mark.sampled(4)
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("paragraphs", [False, True])
def test_the_parts_make_the_translation(model: gf.Model, search: str, paragraphs: bool) -> None:
    options = {**SEARCHES[search], "paragraphs": paragraphs}
    for text in (ENGLISH[1], PARAGRAPHS):
        expected = model.translate(text, **options)
        parts, found = read(model.stream_translation(text, **options))
        assert "".join(parts) == found.translation == expected.translation
        assert all(parts)
        assert [each.token for each in found.tokens] == [each.token for each in expected.tokens]
        assert found.score == pytest.approx(expected.score, abs=1e-12)


def test_words_come_before_the_translation_is_whole(model: gf.Model) -> None:
    parts, found = read(model.stream_translation(ENGLISH[1], beams=1, max_tokens=9))
    assert len(parts) > len(found.tokens) // 2 > 3


def test_blanks_have_no_parts(model: gf.Model) -> None:
    for text in ("", " \t\n"):
        parts, found = read(model.stream_translation(text))
        assert (parts, found.text, found.translation) == ([], text, "")


@pytest.mark.parametrize("blank", ["before", "after"])
def test_a_stop_string_may_begin_or_end_with_a_blank(model: gf.Model, blank: str) -> None:
    """Nothing of it is written, though the blanks around a translation are trimmed."""
    free = model.translate(ENGLISH[1], search=gf.DecodeSettings(max_tokens=9, min_tokens=9)).translation
    at = free.index(" ")
    stop = free[at : at + 3] if blank == "before" else free[at - 1 : at + 1]
    search = gf.DecodeSettings(max_tokens=9, min_tokens=9, stop=(stop,))
    parts, found = read(model.stream_translation(ENGLISH[1], search=search))
    expected = free[: free.index(stop)].rstrip()
    assert "".join(parts) == found.translation == model.translate(ENGLISH[1], search=search).translation == expected


def test_who_reads_computes_as_before_between_two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither inference mode nor bfloat16 arithmetic is left on."""
    monkeypatch.setattr(artefact, "has_fast_bfloat16", lambda device: True)
    slow = translating(double=False)
    fast = gf.Model(slow.module, slow.tokenizer, length=24, fast=True)
    parts = []
    for words in fast.stream_translation(ENGLISH[0], beams=1, max_tokens=4):
        assert not torch.is_inference_mode_enabled()
        assert not torch.is_autocast_enabled("cpu")
        parts.append(words)
    assert "".join(parts) == fast.translate(ENGLISH[0], beams=1, max_tokens=4).translation


def test_what_cannot_be_streamed_is_refused(model: gf.Model) -> None:
    with refused(ConfigError, got="n_best = 2", do="n_best"):
        model.stream_translation("He", search=gf.DecodeSettings(method="beam", beams=2, n_best=2))
    with refused(DataError, got="3"):
        model.stream_translation(3)  # type: ignore[arg-type]  # what is refused
    with refused(ConfigError):
        gf.load("english").stream_translation("He")
