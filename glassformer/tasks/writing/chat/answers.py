"""The reply to a conversation: its text, its tokens with their probabilities, other replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from glassformer.base.shown import Part, Written
from glassformer.tasks.answered import Answered
from glassformer.tasks.writing.generation import GeneratedToken


@dataclass(frozen=True)
class OtherReply:
    """One of several replies. `score` is what they are ranked by; samples are in the order of drawing."""

    reply: str
    score: float
    log_probability: float


@dataclass(frozen=True)
class Reply(Answered):
    """The turns so far, the last of them the one that is answered, and the reply.

    `read`: so many of the last turns were read; `left_out`: so many tokens of the first of these were not, as the model
    reads no more at once. `ended`: the model has ended the reply by itself, or a stop string has.
    """

    turns: tuple[str, ...]
    reply: str
    score: float = 0.0
    log_probability: float = 0.0
    tokens: tuple[GeneratedToken, ...] = ()
    n_best: tuple[OtherReply, ...] = ()
    ended: bool = True
    read: int = 1
    left_out: int = 0
    windows: int = 1

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.left_out:
            return ()
        return (f"the model reads no more at once: {self.left_out:,} tokens at the beginning are left out",)

    @property
    def says(self) -> str:
        return self.reply

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        for each in self.n_best or (self,):
            yield Written(each.reply)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
