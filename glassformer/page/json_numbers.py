"""Numbers that JSON lacks, as words that JavaScript reads."""

from typing import Any


def json_number(value: float) -> float | str:
    """A number as JSON has it: what is not finite is a word, which JavaScript's Number reads."""
    if value != value:
        return "NaN"
    return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"


def as_json(values: Any) -> Any:
    """The same with numbers that JSON has."""
    if isinstance(values, float):
        return json_number(values)
    if isinstance(values, dict):
        return {key: as_json(value) for key, value in values.items()}
    return [as_json(value) for value in values] if isinstance(values, list | tuple) else values
