"""The search that options ask for."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from glassformer.base.errors import ConfigError
from glassformer.base.plain import plain
from glassformer.base.settings import read_settings
from glassformer.decode.options import WritingOptions
from glassformer.decode.settings import METHODS, USUAL, DecodeSettings

# The search, where neither the model's own settings nor options ask for another one.
BEAMS, LENGTH_PENALTY = 5, 0.6
# Options that choose a method, where none is named.
_SAMPLING = ("temperature", "top_k", "top_p", "min_p")
_BEAM = ("length_penalty", "coverage_penalty", "groups", "diversity", "forced")
# What each method means for itself.
_OF_A_METHOD = ("method", "n_best", "penalized", "early_stopping", "length_penalty_form")
# Settings that can be asked for, by options of the same names.
_ASKED = tuple(name for name in DecodeSettings.model_fields if name in WritingOptions.__dataclass_fields__)


def search_settings(
    options: WritingOptions,
    *,
    beams: int = BEAMS,
    length_penalty: float = LENGTH_PENALTY,
    default: DecodeSettings | None = None,
    called: Mapping[str, str] = MappingProxyType({}),
    where: str = "decoding",
) -> DecodeSettings:
    """The search that options ask for: their `search`, all settings at once, else `default` with the settings that are
    asked for, or so many beams with this length penalty; one beam, and nothing that needs beams, is greedy search.
    Where no beams are asked for, there are as many as the other options need. With a temperature of 0 only the most
    likely token has a probability: greedy search, or beam search where beams are asked for. Raises ConfigError for
    options that exclude each other; `called` is what they are called where they are not keywords: `--beams`; `where`
    is the verb.
    """
    search, asked = options.search, _asked(options)
    if search is not None:
        if not isinstance(search, DecodeSettings):
            raise ConfigError("search must be a DecodeSettings", got=repr(search)[:60])
        for name, value in asked.items():
            raise ConfigError(
                "search must hold all search settings", got=f"{name} = {value!r} outside it", do=f"set {name} in search"
            )
        return search
    beams = beams if default is None else default.beams
    likeliest = options.temperature == 0
    if likeliest:  # the other options of sampling change nothing then, but must be right
        drawn = {name: asked.pop(name) for name in _SAMPLING if name in asked}
        read_settings(DecodeSettings, {**drawn, "temperature": 1.0, "method": "sample"}, where=where, called=called)
    if not likeliest and options.sample is not False and (options.sample or any(name in asked for name in _SAMPLING)):
        asked["method"] = "sample"
    else:
        usual = ("greedy" if beams == 1 else "beam") if default is None else default.method
        usual = "greedy" if usual == "sample" and options.sample is False else usual
        draws = usual == "sample" and not likeliest
        several = any(name in asked for name in _BEAM) or (_count(asked, "n_best") > 1 and not draws)
        one = asked.get("beams", 1 if likeliest else None) == 1 and not several
        asked["method"] = "greedy" if one else "beam" if several or "beams" in asked else usual
    if asked["method"] == "beam" and (default is None or default.method != "beam"):
        asked = {"length_penalty": length_penalty, **asked}
    if default is not None:
        asked = {**_kept(default, asked["method"]), **asked}
    if asked["method"] == "beam" and options.beams is None:
        needed = max(beams, _count(asked, "n_best"), BEAMS if beams == 1 and "forced" in asked else 1)
        groups = _count(asked, "groups")
        asked["beams"] = -(-needed // groups) * groups
    return read_settings(DecodeSettings, asked, where=where, called=called)


def reply_search(options: WritingOptions) -> DecodeSettings:
    """The default search for a reply: greedy, or sampling where one of its options is given."""
    sampling = options.sample or any(getattr(options, name) is not None for name in (*_SAMPLING, "seed"))
    return USUAL if sampling else DecodeSettings()


def _kept(chosen: DecodeSettings, method: str) -> dict[str, Any]:
    """The settings that were chosen, but for those that another method does not have or means for itself."""
    found = chosen.model_dump(exclude_unset=True)
    if method == chosen.method:
        return found
    fitting = (name for name in found if method in METHODS.get(name, (method,)) and name not in _OF_A_METHOD)
    return {name: found[name] for name in fitting}


def _asked(options: WritingOptions) -> dict[str, Any]:
    values = ((name, plain(getattr(options, name))) for name in _ASKED)
    return {name: value for name, value in values if value is not None and value != ()}


def _count(asked: Mapping[str, Any], name: str) -> int:
    """A number that is asked for, or 1: what is none is refused with all other settings."""
    value = asked.get(name)
    return value if isinstance(value, int) and value > 0 else 1
