"""What is asked of the decoding loop, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

Ids = Sequence[int]


@dataclass(frozen=True)
class SpecialIds:
    """The token that a decoder begins with, and those that end an answer."""

    begin: int
    end: tuple[int, ...]


@dataclass(frozen=True)
class Request:
    """One answer that is wanted. `number` names it, and its samples depend on it.

    `source` is what the encoder reads; None for a decoder alone. The decoder is given `prompt` (default: the token
    that it begins with), then `prefix`, with which the answer must begin. `max_tokens` counts the prefix; None = the
    settings'. The answer contains each of `forced` and none of `forbidden`, as sequences of tokens.
    """

    number: int
    source: Ids | None = None
    prompt: Ids | None = None
    prefix: Ids = ()
    max_tokens: int | None = None
    forced: tuple[tuple[int, ...], ...] = ()
    forbidden: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Hypothesis:
    """One answer. `ids` are its tokens, the prefix among them, without the end.

    `score` is what hypotheses of the search were ranked by. `log_probability` is the sum of `token_log_probabilities`,
    the model's own, with the end's where `ended`; else the answer was cut at its largest length or before a stop string.
    `attention` [T, M]: how much each token looked at each of the source when it was chosen, where that was asked for.
    """

    ids: tuple[int, ...]
    score: float
    log_probability: float
    token_log_probabilities: tuple[float, ...]
    ended: bool
    attention: Tensor | None = None


@dataclass(frozen=True)
class Finished:
    """The answers to one request, best first; samples in their own order."""

    number: int
    hypotheses: list[Hypothesis]


@dataclass(frozen=True)
class Step:
    """One step of the loop: the requests that it answered, and on demand the newest token of each other's best
    hypothesis.
    """

    finished: list[Finished]
    numbers: tuple[int | None, ...] = ()
    tokens: Tensor | None = None  # [R, B, T]: prompt and answer
    begin: Tensor | None = None  # [R]: where the answer begins
    length: Tensor | None = None  # [R]

    def unfinished(self) -> Iterator[tuple[int, list[list[int]]]]:
        """Number and hypotheses so far of each request that is not yet answered."""
        if self.tokens is None or self.begin is None or self.length is None:
            return
        for row, number in enumerate(self.numbers):
            if number is not None:
                yield number, self.tokens[row, :, int(self.begin[row]) : int(self.length[row])].tolist()
