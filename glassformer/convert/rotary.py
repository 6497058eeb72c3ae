"""What Hugging Face says about rotary positions: `rope_parameters` of today, `rope_scaling` and `rope_theta` of old."""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from glassformer.base.errors import CheckpointError, did_you_mean
from glassformer.config import RotaryConfig
from glassformer.config.parts import DynamicStretch, LinearStretch, Llama3Stretch, Stretch, YarnStretch

Table = Mapping[str, Any]

# Settings that may come with any kind of rotation.
_GENERAL = {"rope_type", "type", "rope_theta", "partial_rotary_factor"}
# Other words of each kind; the first set must be there. transformers fills in original_max_position_embeddings.
_WORDS: dict[str, tuple[set[str], set[str]]] = {
    "default": (set(), set()),
    "linear": ({"factor"}, set()),
    "dynamic": ({"factor"}, set()),
    "llama3": ({"factor", "low_freq_factor", "high_freq_factor"}, {"original_max_position_embeddings"}),
    "yarn": (
        {"factor"},
        {"original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim",
         "truncate"},
    ),
}  # fmt: skip


def read_rotary(table: Table | None, *, base: object, longest: object) -> RotaryConfig:
    """Rotary positions as a table says them; `base` is used where it says none, `longest` is max_position_embeddings.
    Raises CheckpointError for a kind that is not built here, and for a table that lacks a word or holds a strange one.
    """
    table = {} if table is None else table
    if not isinstance(table, Mapping):
        raise CheckpointError("rope_parameters must be a table of words and numbers", got=repr(table)[:80])
    kind = table.get("rope_type", table.get("type", "default"))
    if not isinstance(kind, str) or kind not in _WORDS:
        raise CheckpointError(
            f"rope_type must be one of {', '.join(_WORDS)}: rotary positions of other kinds are not built here",
            got=_shown(table), do=did_you_mean(str(kind), _WORDS),
        )  # fmt: skip
    needed, more = _WORDS[kind]
    missing = sorted(needed - table.keys())
    strange = sorted(key for key in table.keys() - _GENERAL - needed - more if table[key] not in (None, 1.0))
    if missing or strange:
        what = f"to have {missing[0]}" if missing else f"not to have {strange[0]}"
        raise CheckpointError(f"rotary positions of the rope_type {kind} need {what}", got=_shown(table))
    if table.get("partial_rotary_factor") not in (None, 1.0):
        raise CheckpointError(
            "partial_rotary_factor must be 1.0: all of a query is turned here", got=repr(table["partial_rotary_factor"])
        )
    try:
        stretch = None if kind == "default" else _stretch(kind, table, longest)
        return RotaryConfig(base=_number(table.get("rope_theta", base), "rope_theta"), stretch=stretch)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise CheckpointError(f"rotary positions must be possible: {reason}", got=_shown(table)) from None


def write_rotary(config: RotaryConfig) -> dict[str, Any]:
    """The same as today's table; for a dynamic stretch, max_position_embeddings next to it must give the length."""
    table: dict[str, Any] = {"rope_type": "default", "rope_theta": config.base}
    stretch = config.stretch
    if stretch is None:
        return table
    table |= {"rope_type": stretch.kind, "factor": stretch.factor}
    if isinstance(stretch, Llama3Stretch | YarnStretch):
        table["original_max_position_embeddings"] = stretch.original_length
    if isinstance(stretch, Llama3Stretch):
        table |= {"low_freq_factor": stretch.low_frequency_factor, "high_freq_factor": stretch.high_frequency_factor}
    if isinstance(stretch, YarnStretch):
        table |= {name: getattr(stretch, name) for name in ("attention_factor", "beta_fast", "beta_slow", "truncate")}
    return table


def dynamic_length(*found: RotaryConfig | None) -> int | None:
    """The number of tokens from which a dynamic stretch begins, None where there is none."""
    stretches = [one.stretch for one in found if one is not None]
    return next((one.original_length for one in stretches if isinstance(one, DynamicStretch)), None)


def _stretch(kind: str, table: Table, longest: object) -> Stretch:
    if kind == "yarn":
        return _yarn(table, longest)
    factor = _number(table["factor"], "factor")
    if kind == "linear":
        return LinearStretch(factor=factor)
    if kind == "dynamic":
        return DynamicStretch(factor=factor, original_length=_count(longest, "max_position_embeddings"))
    return Llama3Stretch(
        factor=factor,
        low_frequency_factor=_number(table["low_freq_factor"], "low_freq_factor"),
        high_frequency_factor=_number(table["high_freq_factor"], "high_freq_factor"),
        original_length=_original(table, longest),
    )


def _yarn(table: Table, longest: object) -> Stretch:
    original = _original(table, longest)
    factor = table["factor"]
    factor = _count(longest, "max_position_embeddings") / original if factor is None else _number(factor, "factor")
    attention = table.get("attention_factor")
    if attention is None:
        inside, outside = table.get("mscale"), table.get("mscale_all_dim")
        if inside and outside:
            attention = _growth(factor, _number(inside, "mscale")) / _growth(factor, _number(outside, "mscale_all_dim"))
        else:
            attention = _growth(factor, 1.0)
    return YarnStretch(
        factor=factor,
        original_length=original,
        attention_factor=_number(attention, "attention_factor"),
        beta_fast=_number(table.get("beta_fast") or 32, "beta_fast"),
        beta_slow=_number(table.get("beta_slow") or 1, "beta_slow"),
        truncate=table.get("truncate", True),
    )


def _growth(factor: float, by: float) -> float:
    """0.1 m ln(factor) + 1 (Peng et al. 2023, eq. 22), 1 where nothing is stretched."""
    return 1.0 if factor <= 1 else 0.1 * by * math.log(factor) + 1.0


def _original(table: Table, longest: object) -> int:
    name = "original_max_position_embeddings"
    return _count(table[name], name) if name in table else _count(longest, "max_position_embeddings")


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise CheckpointError(f"{name} of rotary positions must be a number greater than 0", got=repr(value)[:80])
    return float(value)


def _count(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise CheckpointError(f"{name} must be a whole number greater than 0", got=repr(value)[:80])
    return value


def _shown(table: Table) -> str:
    return ", ".join(f"{key} = {value!r}" for key, value in table.items())[:300] or "an empty table"
