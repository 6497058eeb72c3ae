"""What a decoder has written behind a prompt: the text, its tokens with their probabilities, and other samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from glassformer.base.shown import Part, Written
from glassformer.tasks.answered import Answered
from glassformer.text.tokenizer import Tokenizer

# Characters of a prompt that a note shows.
_SHOWN = 40


@dataclass(frozen=True)
class GeneratedToken:
    """A token as the vocabulary writes it, its text, and the logarithm of its probability after those before it, as the
    model gives it: neither a temperature nor a choice among few tokens changes it. The end of a text has no characters.
    """

    token: str
    text: str
    log_probability: float


@dataclass(frozen=True)
class Sample:
    """One of several texts behind a prompt. `score` is what they are ranked by; samples are in the order of drawing."""

    generated: str
    score: float
    log_probability: float


@dataclass(frozen=True)
class Generation(Answered):
    """A prompt and the text that a model writes behind it, blanks included: prompt + generated is the whole text.

    `ended`: the model has ended it by itself, or a stop string has; else it stops at the largest number of tokens.
    `left_out`: so many tokens at the beginning of the prompt were not read, as the model reads no more at once.
    """

    prompt: str
    generated: str
    score: float = 0.0
    log_probability: float = 0.0
    tokens: tuple[GeneratedToken, ...] = ()
    n_best: tuple[Sample, ...] = ()
    ended: bool = True
    left_out: int = 0
    windows: int = 1

    @property
    def text(self) -> str:
        return self.prompt + self.generated

    @property
    def notes(self) -> tuple[str, ...]:
        shown = self.prompt if len(self.prompt) <= _SHOWN else f"{self.prompt[:_SHOWN]}…"
        if not self.left_out:
            return ()
        return (f"the model reads no more at once: the first {self.left_out:,} tokens are left out of: {shown}",)

    @property
    def says(self) -> str:
        return self.text

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        if not self.n_best:
            yield Written(self.text, lines=True)
        for number, each in enumerate(self.n_best, start=1):
            yield Written(self.prompt + each.generated, True, f"{number}\t")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def text_behind(tokenizer: Tokenizer, prompt: Sequence[int], ids: Sequence[int]) -> str:
    """The text of tokens after a prompt, with the blank between the two, which decoding them alone would lose."""
    before = tokenizer.decode(prompt)
    whole = tokenizer.decode([*prompt, *ids])
    if whole.startswith(before):
        return whole[len(before) :]
    # The prompt ends within a letter of several bytes.
    complete = before.rstrip("\ufffd")
    return whole[len(complete) :] if whole.startswith(complete) else tokenizer.decode(ids)
