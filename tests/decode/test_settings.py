"""Combinations that make no sense are refused."""

from __future__ import annotations

from typing import Any

import pytest

from glassformer.decode.settings import DecodeSettings
from glassformer.errors import ConfigError
from glassformer.settings import read_settings
from tests.refusals import refused

REFUSED: dict[str, dict[str, Any]] = {
    "beams": {"beams": 4},
    "n_best": {"n_best": 2},
    "at least as many beams": {"method": "beam", "beams": 2, "n_best": 3},
    "temperature": {"temperature": 0.5},
    "top_k": {"method": "beam", "top_k": 5},
    "top_p": {"top_p": 0.9},
    "min_p": {"min_p": 0.1},
    "length_penalty": {"length_penalty": 1.0},
    "coverage_penalty": {"method": "sample", "coverage_penalty": 0.2},
    "groups": {"method": "beam", "beams": 5, "groups": 2},
    "diversity": {"method": "beam", "beams": 2, "diversity": 0.5},
    "forced": {"forced": ["word"]},
    "'word'": {"method": "beam", "forced": ["word"], "forbidden": ["word"]},
    "min_tokens": {"min_tokens": 9, "max_tokens": 8},
    "decode: beams": {"method": "beam", "beams": 0},
    "max_tokens": {"max_tokens": 0},
    "decode: top_p": {"method": "sample", "top_p": 0.0},
    "decode: stop.0": {"stop": [""]},
}


@pytest.mark.parametrize("wanted", REFUSED)
def test_impossible_settings_are_refused(wanted: str) -> None:
    with refused(ConfigError, wanted=wanted):
        read_settings(DecodeSettings, REFUSED[wanted], where="decode")


def test_settings_come_from_a_recipe() -> None:
    said = {"method": "beam", "beams": 5, "length_penalty": 0.6, "forbidden": ["bad", "worse"], "seed": 3}
    settings = read_settings(DecodeSettings, said, where="decode")
    assert (settings.beams, settings.width, settings.forbidden) == (5, 5, ("bad", "worse"))
    assert DecodeSettings(method="sample", n_best=3).width == 3
