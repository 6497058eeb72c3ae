"""The search that the options of a verb ask for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from glassformer.decode.settings import DecodeSettings, refuse_excluding
from glassformer.settings import read_settings

# The search, where neither the model's own settings nor options ask for another one.
BEAMS, LENGTH_PENALTY = 5, 0.6
# Options that choose a method, where none is named.
_SAMPLING = ("temperature", "top_k", "top_p", "min_p")
_BEAM = ("length_penalty", "coverage_penalty", "groups", "diversity", "forced")


def search_settings(
    options: Mapping[str, Any],
    *,
    beams: int = BEAMS,
    length_penalty: float = LENGTH_PENALTY,
    default: DecodeSettings | None = None,
    called: Mapping[str, str] = MappingProxyType({}),
) -> DecodeSettings:
    """The settings of the search that options ask for, else those of `default`, or so many beams with this length
    penalty; one beam, and nothing that needs beams, is greedy search.

    Where no beams are asked for, there are as many as the other options need. Raises ConfigError for options that
    exclude each other; `called` is what they are called where they are not keywords: `--beams`.
    """
    beams = beams if default is None else default.beams
    asked = {name: options[name] for name in DecodeSettings.model_fields if options.get(name) not in (None, [], ())}
    if "method" not in asked and (options.get("sample") or any(name in asked for name in _SAMPLING)):
        asked["method"] = "sample"
    if "method" not in asked:
        several = asked.get("n_best", 1) > 1 or any(name in asked for name in _BEAM)
        asked["method"] = "greedy" if asked.get("beams", beams) == 1 and not several else "beam"
    if default is not None and asked["method"] == default.method:
        found = {**default.model_dump(exclude_unset=True), **asked}
    else:
        found = {**({"length_penalty": length_penalty} if asked["method"] == "beam" else {}), **asked}
    if asked["method"] == "beam" and "beams" not in asked:
        needed = max(beams, found.get("n_best", 1), BEAMS if beams == 1 and "forced" in found else 1)
        groups = found.get("groups", 1)
        found["beams"] = asked["beams"] = -(-needed // groups) * groups
    refuse_excluding(asked, called)
    return read_settings(DecodeSettings, found, where="translate", called=called)
