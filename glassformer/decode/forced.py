"""Words that an answer must contain: beams are shared out among hypotheses by how much of them they contain
(dynamic beam allocation: Post & Vilar 2018).

B hypotheses of a sentence · V vocabulary
"""

from collections.abc import Collection, Iterator, Sequence
from math import inf
from typing import NamedTuple

from torch import Tensor

from glassformer.decode.request import ForcedWord


class Option(NamedTuple):
    """A hypothesis with one more token: score, parent, token, and how many forced tokens it contains."""

    score: float
    parent: int
    token: int
    progress: int


def progress(answer: Sequence[int], forced: Sequence[ForcedWord]) -> int:
    """How many tokens of the forced words an answer contains: those of whole words, and of the one begun at its end."""
    unmet = [word for word in forced if not word.stands_in(answer)]
    begun = max((word.begun(answer)[0] for word in unmet), default=0)
    return whole(forced) - whole(unmet) + begun


def whole(forced: Sequence[ForcedWord]) -> int:
    """How many tokens the forced words have."""
    return sum(len(word.inside) for word in forced)


def next_tokens(answer: Sequence[int], forced: Sequence[ForcedWord]) -> Iterator[int]:
    """The tokens that begin a missing word or go on with one that is begun."""
    for word in forced:
        if not word.stands_in(answer):
            yield word.begun(answer)[1]
            yield word.inside[0]


def options(
    best: Sequence[tuple[float, int, int]],
    answers: Sequence[Sequence[int]],
    forced: Sequence[ForcedWord],
    scores: Tensor,
    besides: Collection[tuple[int, int]] = (),
) -> list[Option]:
    """The best candidates (score, parent, token), and for each hypothesis its best token and those of missing words;
    without `besides`, (parent, token). `scores` [B, V] of all tokens of a sentence's hypotheses.
    """
    found = {(parent, token): score for score, parent, token in best if score > -inf}
    for parent, answer in enumerate(answers):
        for token in (int(scores[parent].argmax()), *next_tokens(answer, forced)):
            found.setdefault((parent, token), float(scores[parent, token]))
    return [
        Option(score, parent, token, progress([*answers[parent], token], forced))
        for (parent, token), score in found.items()
        if score > -inf and (parent, token) not in besides
    ]


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
