"""Passages as tokens with their characters, each encoded once for all questions about it.

T tokens of a passage
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import DataError
from glassformer.data.readers.squad import StatedAnswer, placed
from glassformer.tasks.rows import located
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.words import encoded_parts


@dataclass(frozen=True, eq=False)
class Passage:
    """A text, the ids of its tokens [T], and the characters [start, end) of each [T]."""

    text: str
    ids: array[int]
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ids)

    def tokens_of(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last token with some of the characters [start, end), None where there is none."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, end, side="left")) - 1
        return (first, last) if first <= last else None

    def characters_of(self, first: int, last: int) -> tuple[int, int]:
        """The characters [start, end) from one token to another, without blanks at their ends."""
        start, end = int(self.starts[first]), int(self.ends[last])
        written = self.text[start:end]
        if not written.strip():
            return start, start
        return end - len(written.lstrip()), start + len(written.rstrip())


class Passages:
    """Encodes passages, and keeps each as long as someone has it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: WeakValueDictionary[str, Passage] = WeakValueDictionary()

    def encoded(self, text: str) -> Passage:
        passage = self._known.get(text)
        if passage is None:
            passage = self._known[text] = encode(self._tokenizer, text)
        return passage


def encode(tokenizer: Tokenizer, text: str) -> Passage:
    """A text of any length as tokens, in memory of a few times its own."""
    ids, offsets = array("i"), []
    for begin, raw in encoded_parts(tokenizer, text):
        ids.extend(tokenizer.unalias(raw.ids))
        offsets.append(np.array(raw.offsets, np.int32).reshape(-1, 2) + np.int32(begin))
    both = np.concatenate(offsets)  # [T, 2]
    return Passage(text, ids, np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1]))


def right_answers(
    passage: Passage, stated: Sequence[StatedAnswer], where: str
) -> tuple[tuple[str, ...], tuple[int, int] | None, bool]:
    """All right answers of a question, the first and the last token of the most frequent one (None without answers),
    and whether some answer is not where it says. Raises DataError when none is there or near.
    """
    starts = [placed(passage.text, each) for each in stated]
    at = Counter((start, each.text) for start, each in zip(starts, stated, strict=True) if start is not None)
    if stated and not at:
        text, start = stated[0]
        said = "without its position" if start is None else f"stated to start at character {start:,}"
        raise DataError(located(where, "an answer must be in its passage"), got=f"{text[:60]!r}, {said}")
    if not at:
        return (), None, False
    ((begin, text), _), *_ = at.most_common(1)
    begin += len(text) - len(text.lstrip())
    span = passage.tokens_of(begin, begin + len(text.strip()))
    if span is None:
        raise DataError(located(where, "an answer needs at least one token"), got=repr(text[:40]))
    return tuple(each.text for each in stated), span, [each.start for each in stated] != starts
