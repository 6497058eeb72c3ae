"""What scikit-learn gives to an estimator: texts, pairs of texts, sentences of words, and labels."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from glassformer.answering.answers import check_text, several
from glassformer.base.errors import DataError
from glassformer.base.plain import is_missing, plain

_NEEDED = "a list or an array of {} is needed"


def texts_of(given: object) -> list[str]:
    """Texts in a list, an array or a column [N], also as the only column of a table [N, 1]. Raises DataError."""
    found = [_only(each) for each in several(given, _NEEDED.format("texts"))]
    do = "give a list or an array of strings"
    return [check_text(each, f"text {number} of {len(found):,}", do=do) for number, each in enumerate(found)]


def texts_or_pairs(given: object) -> tuple[list[str], list[str] | None]:
    """Texts, or the first and the second ones of pairs [N, 2]. Raises DataError."""
    rows = several(given, _NEEDED.format("texts"))
    if not rows or isinstance(_only(rows[0]), str):
        return texts_of(rows), None
    pairs = [list(row) if isinstance(row, Iterable) else [row] for row in rows]
    for number, pair in enumerate(pairs):
        if len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise DataError(f"row {number} of {len(pairs):,} must be a text or two texts", got=repr(rows[number])[:60])
    for number, pair in enumerate(pairs):
        for text in pair:
            check_text(text, f"row {number} of {len(pairs):,}")
    return [str(one) for one, _ in pairs], [str(two) for _, two in pairs]


def sentences_of(given: object, what: str = "words") -> list[list[str]]:
    """Sentences, each a list of words (or of tags). Raises DataError."""
    rows = several(given, _NEEDED.format(f"sentences, each a list of {what},"))
    for number, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise DataError(
                f"sentence {number} of {len(rows):,} must be a list of {what}", got=repr(row)[:60], do="cut it first"
            )
    found = [list(row) for row in rows]
    for number, words in enumerate(found):
        for place, word in enumerate(words):
            if is_missing(word) or not str(word).strip():
                raise DataError(
                    f"sentence {number} of {len(found):,} must hold {what} alone: place {place} has none",
                    got=repr(word)[:60],
                )
    count = len(found)
    return [
        [check_text(str(word), f"sentence {number} of {count:,}") for word in words]
        for number, words in enumerate(found)
    ]


def labels_of(given: object, count: int) -> list[Any]:
    """One label for each row. Raises DataError."""
    if given is None:
        raise DataError("to fit there must be labels", got="None for y")
    found = [_only(each) for each in several(given, _NEEDED.format("labels"))]
    if len(found) != count:
        raise DataError("each row needs one label", got=f"{len(found):,} labels for {count:,} rows")
    labels = [plain(each) for each in found]
    for number, label in enumerate(labels):
        if is_missing(label) or not isinstance(label, str | int | float):
            raise DataError(f"the label of row {number} must be a word or a number", got=repr(label)[:60])
    kinds = {str if isinstance(label, str) else bool if isinstance(label, bool) else float for label in labels}
    if len(kinds) > 1:
        of_each = {type(label).__name__: repr(label)[:30] for label in labels}
        raise DataError(
            "labels must be of one kind: words, numbers, or True and False",
            got=", ".join(f"{label} ({kind})" for kind, label in of_each.items()),
        )
    return labels


def labelled(texts: Sequence[str], pairs: Sequence[str] | None, labels: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """The records of a table with these texts, or pairs of texts, and their labels."""
    for row, (text, label) in enumerate(zip(texts, labels, strict=True)):
        yield {"text": text, "label": label, **({} if pairs is None else {"pair": pairs[row]})}


def check_words(texts: Sequence[str], pairs: Sequence[str] | None = None) -> None:
    """Raise DataError, with its row, for a text of only blanks."""
    for number, text in enumerate(texts):
        for each in (text, *(() if pairs is None else (pairs[number],))):
            if not each.strip():
                raise DataError(f"text {number} of {len(texts):,} must hold words", got=repr(each)[:60])


def _only(each: Any) -> Any:
    """A cell that stands alone in its row as itself."""
    if isinstance(each, str):
        return str(each)  # numpy's strings too
    if isinstance(each, list | tuple):
        return each[0] if len(each) == 1 else each
    return each[0] if getattr(each, "shape", None) == (1,) else each
