"""What replies are like, without a right answer to compare them with: how different, how long, how repetitive.

R replies · n words of a reply
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from glassformer.data.batches.order import Order
from glassformer.scoring.score import THIS_MODEL, Scores
from glassformer.text.words import find_words

WRITTEN = 200
"""Replies that are written to measure how different and long they are."""

REPEATED = 4
"""Sequences of so many words that stand more than once in a reply are counted."""


def reply_scores(replies: Sequence[str]) -> dict[str, float]:
    """`distinct_1` and `distinct_2`: different words, and pairs of neighbours, as shares of all in all replies (Li et
    al. 2016); `reply_words`: the mean number of words; `repeated_4`: of the sequences of four words within a reply, the
    share that stood there before; `empty`: the share of replies without a word.
    """
    words = [[reply[start:end].lower() for start, end in find_words(reply)] for reply in replies]
    fours = [_sequences(each, REPEATED) for each in words]
    count = sum(map(len, fours))
    return {
        "distinct_1": _distinct(words, 1),
        "distinct_2": _distinct(words, 2),
        "reply_words": sum(map(len, words)) / max(1, len(words)),
        "repeated_4": sum(len(each) - len(set(each)) for each in fours) / count if count else 0.0,
        "empty": sum(not each for each in words) / max(1, len(words)),
    }


class Replies(Protocol):
    """A source of dialogues."""

    fingerprint: str

    @property
    def examples(self) -> Sequence[Any]:
        """The replies, each with the turns before it."""
        ...


def replies_to_write(source: Replies, limit: int | None) -> list[int]:
    """Which replies of a source are written to measure them, always the same ones."""
    count = min(WRITTEN, len(source.examples), limit or WRITTEN)
    return Order(len(source.examples), count, source.fingerprint, 0).of_epoch(0, 0).tolist()


def with_replies(scores: Scores, written: Sequence[str], right: Sequence[str]) -> Scores:
    """Scores with those of replies that a model has written, beside those of the right ones."""
    own = {**scores.of[THIS_MODEL], **reply_scores(written)}
    of = {**scores.of, THIS_MODEL: own, "right replies": reply_scores(right)}
    return replace(scores, of=of, report={"written": len(written)})


def _sequences(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]


def _distinct(words: Sequence[Sequence[str]], size: int) -> float:
    found = [sequence for each in words for sequence in _sequences(each, size)]
    return len(set(found)) / len(found) if found else 0.0
