"""Words that an answer must contain: beams are shared out among hypotheses by how much of them they contain
(dynamic beam allocation: Post & Vilar 2018).

B hypotheses of a sentence · V vocabulary
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from torch import Tensor

from glassformer.decode.request import occurs

Sequences = Sequence[tuple[int, ...]]


class Option(NamedTuple):
    """A hypothesis of one more token: its score, the one it goes on from, the token, and how many tokens of the forced
    words it contains.
    """

    score: float
    parent: int
    token: int
    progress: int


def progress(answer: Sequence[int], forced: Sequences) -> int:
    """How many tokens of the forced words an answer contains: those of whole words, and of the one begun at its end."""
    text = tuple(answer)
    unmet = [word for word in forced if not occurs(word, text)]
    begun = max((_begun(text, word) for word in unmet), default=0)
    return sum(map(len, forced)) - sum(map(len, unmet)) + begun


def _begun(text: tuple[int, ...], word: tuple[int, ...]) -> int:
    """How many tokens of the word stand at the end of the text."""
    return next((size for size in range(len(word) - 1, 0, -1) if text[-size:] == word[:size]), 0)


def next_tokens(answer: Sequence[int], forced: Sequences) -> Iterator[int]:
    """The tokens that begin a missing word or go on with one that is begun."""
    text = tuple(answer)
    for word in forced:
        if not occurs(word, text):
            yield word[_begun(text, word)]
            yield word[0]


def options(
    best: Sequence[tuple[float, int, int]], answers: Sequence[Sequence[int]], forced: Sequences, scores: Tensor
) -> list[Option]:
    """The best candidates (score, parent, token), and for each hypothesis its best token and those of missing words.

    `scores` [B, V] of all tokens of a sentence's hypotheses.
    """
    found = {(parent, token): score for score, parent, token in best if score > -inf}
    for parent, answer in enumerate(answers):
        for token in (int(scores[parent].argmax()), *next_tokens(answer, forced)):
            found.setdefault((parent, token), float(scores[parent, token]))
    alive = [(score, parent, token) for (parent, token), score in found.items() if score > -inf]
    return [Option(score, parent, token, progress([*answers[parent], token], forced)) for score, parent, token in alive]


def shared_out(ordered: Sequence[Option], beams: int) -> list[Option]:
    """So many of the options, given best first: those with the most progress first share evenly, and what one share
    leaves over goes to the next. The most progress has at least one, so that all forced words are met in time.
    """
    banks: dict[int, list[Option]] = {}
    for option in ordered:
        banks.setdefault(option.progress, []).append(option)
    chosen: list[Option] = []
    waiting = sorted(banks, reverse=True)
    while waiting and len(chosen) < beams:
        share, more = divmod(beams - len(chosen), len(waiting))
        for place, bank in enumerate(list(waiting)):
            size = share + (place < more)
            chosen += banks[bank][:size]
            del banks[bank][:size]
            if not banks[bank]:
                waiting.remove(bank)
    return sorted(chosen, key=lambda option: -option.score)
