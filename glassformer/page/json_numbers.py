"""Numbers that JSON lacks, as words that JavaScript reads."""

import math
from typing import Any


def as_json(values: Any) -> Any:
    """What is not finite as a word, which JavaScript's Number reads."""
    if isinstance(values, float) and not math.isfinite(values):
        return "NaN" if math.isnan(values) else "Infinity" if values > 0 else "-Infinity"
    if isinstance(values, dict):
        return {key: as_json(value) for key, value in values.items()}
    return [as_json(value) for value in values] if isinstance(values, list | tuple) else values
