"""Combinations that make no sense are refused."""

import math
from typing import Any

import pytest

from glassformer.base.errors import ConfigError
from glassformer.base.settings import read_settings
from glassformer.decode.settings import DecodeSettings
from tests.refusals import refused

# What is refused, with what the error names as wanted, as found, and to do.
REFUSED: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "beams": ({"beams": 4}, "beams = 4", "method = 'greedy'", "method = 'beam'"),
    "answers": ({"n_best": 2}, "n_best = 2", "method = 'greedy'", "method = 'beam'"),
    "few beams": ({"method": "beam", "beams": 2, "n_best": 3}, "n_best = 3", "beams = 2", "beams"),
    "temperature": ({"temperature": 0.5}, "temperature = 0.5", "method = 'greedy'", "method = 'sample'"),
    "top_k": ({"method": "beam", "top_k": 5}, "top_k = 5", "method = 'beam'", "leave top_k out"),
    "top_p": ({"top_p": 0.9}, "top_p = 0.9", "method = 'greedy'", "method = 'sample'"),
    "min_p": ({"min_p": 0.1}, "min_p = 0.1", "method = 'greedy'", "method = 'sample'"),
    "length_penalty": ({"length_penalty": 1.0}, "length_penalty = 1.0", "method = 'greedy'", "method = 'beam'"),
    "coverage": ({"method": "sample", "coverage_penalty": 0.2}, "coverage_penalty = 0.2", "'sample'", "'beam'"),
    "groups": ({"method": "beam", "beams": 5, "groups": 2}, "groups = 2", "beams = 5", "groups"),
    "diversity": ({"method": "beam", "beams": 2, "diversity": 0.5}, "diversity = 0.5", "one group", "groups"),
    "forced": ({"forced": ["word"]}, "forced = ('word',)", "method = 'greedy'", "method = 'beam'"),
    "one beam": ({"method": "beam", "forced": ["word"]}, "forced = ('word',)", "beams = 1", "beams"),
    "mark": (
        {"method": "beam", "beams": 2, "forced": ["a.b"], "forbidden": ["."]},
        "forbidden",
        "'a.b'",
        "leave one of",
    ),
    "both": ({"method": "beam", "beams": 2, "forced": ["b"], "forbidden": ["b"]}, "forbidden", "'b'", "leave it out"),
    "forced in groups": (
        {"method": "beam", "beams": 4, "groups": 2, "forced": ["a"]},
        "forced = ('a',)",
        "groups = 2",
        "leave",
    ),
    "forced and stopped": (
        {"method": "beam", "beams": 2, "forced": ["U.S."], "stop": ["."]},
        "stop",
        "'U.S.'",
        "leave",
    ),
    "lengths": ({"min_tokens": 9, "max_tokens": 8}, "min_tokens = 9", "max_tokens = 8", "change"),
    "no beams": ({"method": "beam", "beams": 0}, "beams", "0", ""),
    "no tokens": ({"max_tokens": 0}, "max_tokens", "0", ""),
    "no probability": ({"method": "sample", "top_p": 0.0}, "top_p", "0.0", ""),
    "a large penalty": ({"method": "beam", "length_penalty": 1e9}, "length_penalty", "1000000000.0", ""),
    "a low penalty": ({"method": "beam", "length_penalty": -6.0}, "length_penalty", "-6.0", ""),
    "no penalty": ({"method": "beam", "length_penalty": math.nan}, "length_penalty", "nan", ""),
    "an endless penalty": ({"method": "beam", "length_penalty": math.inf}, "length_penalty", "inf", ""),
    "no heat": ({"method": "sample", "temperature": 1e-30}, "temperature", "1e-30", ""),
    "an endless answer": ({"max_tokens": 10**9}, "max_tokens", str(10**9), ""),
    "no words": ({"stop": [""]}, "stop.0", "''", ""),
    "unknown": ({"beems": 2}, "'beems'", "", "'beams'"),
    "no number": ({"beams": "2"}, "beams", "'2'", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_impossible_settings_are_refused(name: str) -> None:
    settings, wanted, got, do = REFUSED[name]
    with refused(ConfigError, wanted=wanted, got=got, do=do):
        read_settings(DecodeSettings, settings, where="decode")
    with refused(ConfigError, wanted=wanted, got=got, do=do):
        DecodeSettings(**settings)


def test_a_range_is_reported_with_its_place() -> None:
    with refused(ConfigError, wanted="decode: beams", got="0"):
        read_settings(DecodeSettings, {"beams": 0}, where="decode")
    with refused(ConfigError, wanted="DecodeSettings: beams", got="0"):
        DecodeSettings(beams=0)
    with refused(ConfigError, wanted="--beams", got="0"):
        read_settings(DecodeSettings, {"beams": 0}, where="decode", called={"beams": "--beams"})


def test_words_may_be_a_list() -> None:
    assert DecodeSettings(stop=["."]).stop == (".",)  # type: ignore[arg-type]  # a list, as people write it


def test_a_fewest_number_of_tokens_may_be_above_the_usual_most() -> None:
    assert DecodeSettings(min_tokens=300).min_tokens == 300
    with refused(ConfigError, wanted="min_tokens = 300", got="max_tokens = 256"):
        DecodeSettings(min_tokens=300, max_tokens=256)


def test_settings_come_from_a_recipe() -> None:
    said = {"method": "beam", "beams": 5, "length_penalty": 0.6, "forbidden": ["bad", "worse"], "seed": 3}
    settings = read_settings(DecodeSettings, said, where="decode")
    assert (settings.beams, settings.width, settings.forbidden) == (5, 5, ("bad", "worse"))
    assert DecodeSettings(method="sample", n_best=3).width == 3
