"""What a record may hold in each role: texts, labels, columns; refused with file and line."""

from __future__ import annotations

import math
from collections.abc import Mapping

from glassformer.base.errors import ConfigError, DataError
from glassformer.data.readers.rows import Columns, names_of


def located(where: str, sentence: str) -> str:
    """A sentence about a record, with its file and line where it has any."""
    return f"{where}: {sentence}" if where else sentence


def known_label(value: object, numbers: Mapping[str, int], where: str) -> int:
    """The number of a label; raises DataError for one that was not seen in training."""
    number = numbers.get(label_of(value, where))
    if number is None:
        shown = ", ".join(list(numbers)[:10]) + (" …" if len(numbers) > 10 else "")
        raise DataError(
            located(where, "a label must be one of those of the training records"),
            got=repr(value)[:60],
            do=f"known: {shown}"[:300],
        )
    return number


def label_of(value: object, where: str) -> str:
    """A label as a string. Raises DataError for an empty one, NaN, and a list."""
    if isinstance(value, bool):
        return str(value).lower()  # as JSON writes it, and most tables
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, float) and not math.isfinite(value):  # what pandas writes where there is none
        raise DataError(located(where, "a label must be a word or a number"), got=repr(value))
    if isinstance(value, str | int | float) and str(value).strip():
        return str(value).strip()
    do = "where a text has several labels, set task.several = true" if isinstance(value, list) else ""
    raise DataError(located(where, "a label must be a word or a number"), got=repr(value)[:60], do=do)


def labels_of(value: object, where: str, separator: str) -> list[str]:
    """The labels of a list, or of a string in which they are separated; none in an empty one. Raises DataError."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(separator) if part.strip()]
    if not isinstance(value, list):
        raise DataError(located(where, "labels must be a list, or words in one cell"), got=repr(value)[:60])
    return [label_of(each, where) for each in value]


def text_of(value: object, where: str, role: str = "text") -> str:
    """A text of a record; raises DataError for an empty one and for a value that is no text."""
    if isinstance(value, str) and value.strip():
        return value
    raise DataError(located(where, f"the {role} must hold words"), got=repr(value)[:60])


def check_columns(columns: Mapping[str, str | None]) -> dict[str, str]:
    """The columns that are asked for; raises ConfigError when two roles name the same one."""
    named = {role: column for role, column in columns.items() if column is not None}
    check_different(named)
    return named


def check_different(columns: Mapping[str, Columns]) -> None:
    """Raise ConfigError when a column is named twice."""
    names = names_of(columns)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        roles = [
            role for role, of in columns.items() for name in ([of] if isinstance(of, str) else of) if name == twice
        ]
        raise ConfigError(
            "each column has one role",
            got=f"column {twice!r} as {' and '.join(roles)}",
            do="name different columns",
        )
