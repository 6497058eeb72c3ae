"""The options of writing: each word once, the same for the command line, for Python and for the search."""

import inspect
from dataclasses import FrozenInstanceError, fields
from typing import Any, get_type_hints

import numpy as np
import pytest

import glassformer as gf
from glassformer.api import writing
from glassformer.base.errors import ConfigError
from glassformer.decode.asked import reply_search, search_settings
from glassformer.decode.options import OPTIONS, WritingOptions
from glassformer.decode.settings import USUAL, DecodeSettings
from tests.refusals import refused
from tests.translators import translating

KINDS = get_type_hints(WritingOptions, localns={"DecodeSettings": gf.DecodeSettings})
DEFAULTS = {each.name: each.default for each in fields(WritingOptions)}
VERBS = {
    "translate": writing._Translating,
    "stream_translation": writing._Translating,
    "generate": writing._Generating,
    "stream_generation": writing._Generating,
    "chat": writing._Chatting,
    "stream_chat": writing._Chatting,
    "search_tree": writing._Searched,
}


@pytest.mark.parametrize("verb", VERBS)
def test_keywords_are_options_with_their_types_and_defaults(verb: str) -> None:
    found: dict[str, Any] = get_type_hints(VERBS[verb], vars(writing), {"DecodeSettings": gf.DecodeSettings})
    assert found == {name: KINDS[name] for name in found}
    shown = inspect.signature(getattr(gf.Model, verb)).parameters
    assert {name: shown[name].default for name in found} == {name: DEFAULTS[name] for name in found}
    assert shown.keys() - found.keys() <= {"self", "text", "prompt", "turns", "attention"}


def test_every_setting_of_a_search_can_be_asked_for() -> None:
    only_in_search = {"method", "penalized", "length_penalty_form", "early_stopping", "forced_end"}
    assert set(gf.DecodeSettings.model_fields) - OPTIONS.keys() == only_in_search
    assert DEFAULTS.keys() - OPTIONS.keys() == {"search"}


def test_a_keyword_of_another_verb_is_refused() -> None:
    model = translating()
    wrong: dict[str, Any] = {"system": "Be short."}
    for verb in (model.translate, model.stream_translation):
        with pytest.raises(TypeError, match=r"translat.*system"):
            verb("He", **wrong)


def test_a_reply_is_greedy_unless_sampling_is_asked_for() -> None:
    drawn: list[dict[str, Any]] = [{"sample": True}, {"seed": 0}, {"temperature": 0.5}, {"top_k": 2}, {"top_p": 0.5}]
    found = [search_settings(o, default=reply_search(o)) for o in (WritingOptions(**each) for each in ({}, *drawn))]
    assert [each.method for each in found] == ["greedy"] + ["sample"] * 5
    assert [each.temperature for each in found[1:]] == [0.8, 0.8, 0.5, 0.8, 0.8]
    several = search_settings(WritingOptions(n_best=3), default=reply_search(WritingOptions(n_best=3)))
    assert (several.method, several.beams) == ("beam", 3)


def test_sampling_that_is_switched_off_is_off() -> None:
    off = search_settings(WritingOptions(sample=False), default=USUAL)
    assert off.method == "greedy"
    assert search_settings(WritingOptions(), default=USUAL).method == "sample"
    assert search_settings(WritingOptions(sample=False)).method == "beam"
    with refused(ConfigError):
        search_settings(WritingOptions(sample=False, temperature=0.5), default=USUAL)


@pytest.mark.parametrize("words", ["the end", ["the end"]])
def test_one_word_is_no_list_of_letters(words: str | list[str]) -> None:
    options = WritingOptions(forced=words, forbidden=words, stop=words)
    assert options.forced == options.forbidden == options.stop == ("the end",)


@pytest.mark.parametrize("beams", [None, 5])
def test_a_temperature_of_0_is_greedy_or_beam_search(beams: int | None) -> None:
    asked = WritingOptions(temperature=0, top_p=0.5, sample=True, beams=beams)
    for default in (None, USUAL, DecodeSettings()):
        found = search_settings(asked, default=default)
        assert found == search_settings(WritingOptions(beams=beams or 1), default=default)
        assert found.method == ("greedy" if beams is None else "beam")
        several = search_settings(WritingOptions(temperature=0, n_best=3), default=default)
        assert (several.method, several.beams >= 3, several.temperature) == ("beam", True, 1.0)
    invalid: list[dict[str, Any]] = [{"top_p": 9}, {"beams": 0}]
    for wrong in invalid:
        with refused(ConfigError):
            search_settings(WritingOptions(temperature=0, **wrong))


def test_options_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        WritingOptions().beams = 3  # type: ignore[misc]
    assert WritingOptions(stop=["a"], forced=["b"]) == WritingOptions(stop=("a",), forced=("b",))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prefix", 3),
        ("system", b"x"),
        ("template", 1),
        ("paragraphs", "no"),
        ("alignment", 1),
        ("history", 0),
        ("history", True),
    ],
)
def test_what_no_search_checks_is_checked_here(name: str, value: object) -> None:
    wrong: dict[str, Any] = {name: value}
    with refused(ConfigError, wanted=name, got=repr(value)):
        WritingOptions(**wrong)


def test_numbers_of_numpy_are_numbers() -> None:
    given: dict[str, Any] = {"temperature": np.float32(0.5), "top_k": np.int64(4), "seed": np.int64(3)}
    assert search_settings(WritingOptions(**given)) == search_settings(WritingOptions(temperature=0.5, top_k=4, seed=3))
    beams: Any = np.int64(3)
    assert search_settings(WritingOptions(beams=beams)).beams == 3


COMMON = {"max_tokens": 12, "no_repeat_ngram": 2, "forbidden": ("a",), "stop": ("the",), "repetition_penalty": 1.5}
OF_BEAMS = {"beams": 4, "length_penalty": 1.0, "early_stopping": "full", "penalized": "log_probabilities"}


@pytest.mark.parametrize(
    ("own", "asked", "found"),
    [
        ({"method": "beam", **OF_BEAMS}, {"beams": 1}, {"method": "greedy"}),
        ({"method": "beam", **OF_BEAMS}, {"temperature": 0.5}, {"method": "sample", "temperature": 0.5}),
        ({"method": "beam", **OF_BEAMS}, {"beams": 2}, {"method": "beam", **OF_BEAMS, "beams": 2}),
        ({"method": "sample", "top_k": 9}, {"temperature": 0}, {"method": "greedy"}),
        ({"method": "sample", "top_k": 9}, {"beams": 2}, {"method": "beam", "beams": 2, "length_penalty": 0.6}),
    ],
    ids=str,
)
def test_another_method_keeps_what_it_has_as_well(
    own: dict[str, Any], asked: dict[str, Any], found: dict[str, Any]
) -> None:
    default = DecodeSettings.model_validate({**COMMON, **own})
    assert search_settings(WritingOptions(**asked), default=default) == DecodeSettings.model_validate(COMMON | found)
