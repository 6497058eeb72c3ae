"""Answers as text while they are being written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from glassformer.decode.loop import Step
from glassformer.decode.search import TextOf

# What a tokenizer gives for bytes that are no whole character yet.
INCOMPLETE = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class StreamedText:
    """The next characters of the answer to a request; `last` where it is complete."""

    number: int
    text: str
    last: bool


def stream(steps: Iterable[Step], text_of: TextOf, *, stop: Sequence[str] = ()) -> Iterator[StreamedText]:
    """The text of each request's best answer as soon as no later token can change it.

    That is what all hypotheses have in common, up to a character that is not yet whole and to what may be the beginning
    of a stop string. A stop string and what follows it are left out. Joined, the texts of a request are its answer.
    """
    sent: dict[int, str] = {}
    for step in steps:
        for number, hypotheses in step.unfinished():
            text = settled(text_of(shared(hypotheses)), stop)
            before = sent.get(number, "")
            if len(text) > len(before) and text.startswith(before):
                sent[number] = text
                yield StreamedText(number, text[len(before) :], last=False)
        for finished in step.finished:
            whole = before_stop(text_of(finished.hypotheses[0].ids), stop) if finished.hypotheses else ""
            yield StreamedText(finished.number, whole[len(sent.pop(finished.number, "")) :], last=True)


def shared(hypotheses: Sequence[Sequence[int]]) -> list[int]:
    """The tokens that all hypotheses begin with."""
    tokens: list[int] = []
    for same in zip(*hypotheses, strict=True):
        if len(set(same)) > 1:
            break
        tokens.append(same[0])
    return tokens


def before_stop(text: str, stop: Sequence[str]) -> str:
    """The text up to the first of the stop strings that occurs in it."""
    return text[: min((at for each in stop if (at := text.find(each)) >= 0), default=len(text))]


def settled(text: str, stop: Sequence[str]) -> str:
    """The text without what a later token may still change: an incomplete character, the beginning of a stop string."""
    text = before_stop(text, stop).rstrip(INCOMPLETE)
    begun = (size for each in stop for size in range(1, len(each)) if text.endswith(each[:size]))
    return text[: len(text) - max(begun, default=0)]
