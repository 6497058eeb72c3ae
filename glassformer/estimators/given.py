"""What scikit-learn gives to an estimator: texts, pairs of texts, sentences of words, and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from glassformer.errors import DataError


def texts_of(given: object) -> list[str]:
    """Texts in a list, an array or a column [N], also as the only column of a table [N, 1]. Raises DataError."""
    found = [_only(each) for each in _listed(given, "texts")]
    for number, each in enumerate(found):
        if not isinstance(each, str):
            raise DataError(
                f"text {number} of {len(found):,} must be a text",
                got=repr(each)[:60],
                do="give a list or an array of strings",
            )
    return [str(each) for each in found]


def texts_or_pairs(given: object) -> tuple[list[str], list[str] | None]:
    """Texts, or the first and the second ones of pairs [N, 2]. Raises DataError."""
    rows = _listed(given, "texts")
    if not rows or isinstance(_only(rows[0]), str):
        return texts_of(rows), None
    pairs = [list(row) if isinstance(row, Iterable) else [row] for row in rows]
    for number, pair in enumerate(pairs):
        if len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise DataError(f"row {number} of {len(pairs):,} must be a text or two texts", got=repr(rows[number])[:60])
    return [str(one) for one, _ in pairs], [str(two) for _, two in pairs]


def sentences_of(given: object, what: str = "words") -> list[list[str]]:
    """Sentences, each a list of words (or of tags). Raises DataError."""
    rows = _listed(given, f"sentences, each a list of {what},")
    for number, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise DataError(
                f"sentence {number} of {len(rows):,} must be a list of {what}", got=repr(row)[:60], do="cut it first"
            )
    return [[str(word) for word in row] for row in rows]


def labels_of(given: object, count: int) -> list[Any]:
    """One label for each of so many rows. Raises DataError."""
    if given is None:
        raise DataError("to fit there must be labels", got="None for y")
    found = [_only(each) for each in _listed(given, "labels")]
    if len(found) != count:
        raise DataError("each row needs one label", got=f"{len(found):,} labels for {count:,} rows")
    return [each.item() if hasattr(each, "item") else each for each in found]


def _listed(given: object, what: str) -> list[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise DataError(f"a list or an array of {what} is needed", got=repr(given)[:60])
    return list(given)


def _only(each: Any) -> Any:
    """A cell that stands alone in its row as itself."""
    if isinstance(each, str):
        return str(each)  # numpy's strings too
    if isinstance(each, list | tuple):
        return each[0] if len(each) == 1 else each
    return each[0] if getattr(each, "shape", None) == (1,) else each
