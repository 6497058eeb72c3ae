"""What Hugging Face says about rotary positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glassformer.errors import CheckpointError


def plain_base(table: Mapping[str, Any] | None, otherwise: float) -> float:
    """The base of plain rotary positions; raises CheckpointError for any that are stretched."""
    if not table:
        return float(otherwise)
    kind = table.get("rope_type", table.get("type", "default"))
    more = sorted(set(table) - {"rope_type", "type", "rope_theta"})
    if kind != "default" or any(table[key] not in (None, 1.0) for key in more):
        raise CheckpointError(
            "rotary positions must be plain (rope_type default): stretched ones are not built here",
            got=", ".join(f"{key} = {value!r}" for key, value in table.items()),
        )
    return float(table.get("rope_theta", otherwise))
