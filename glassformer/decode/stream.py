"""Answers as text while they are being written."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from glassformer.decode.beam_search import TextOf
from glassformer.decode.request import Finished
from glassformer.decode.step import Step
from glassformer.decode.words import before_stop

# What a tokenizer gives for bytes that are no whole character yet.
INCOMPLETE = "\N{REPLACEMENT CHARACTER}"
Item = TypeVar("Item")


@dataclass(frozen=True)
class StreamedText:
    """The next characters of the answer to a request; with the last of them come its answers."""

    number: int
    text: str
    finished: Finished | None = None


def stream(steps: Iterable[Step], text_of: TextOf, *, stop: Sequence[str] = ()) -> Iterator[StreamedText]:
    """The text of each request's best answer as soon as no later token can change it.

    That is what all hypotheses that may still be the best have in common, up to a character that is not yet whole and
    to what may be the beginning of a stop string. The text of the last token is held back too: the next one may change
    a blank before it. A stop string and what follows it are left out. Joined, the texts of a request are its answer.
    """
    sent: dict[int, str] = {}
    for step in steps:
        for number, hypotheses in step.contenders():
            tokens = shared(hypotheses)
            text = settled("".join(shared([text_of(tokens[:-1]), text_of(tokens)])), stop)
            before = sent.get(number, "")
            if len(text) > len(before):
                sent[number] = text
                yield StreamedText(number, text[len(before) :])
        for finished in step.finished:
            whole = before_stop(text_of(finished.hypotheses[0].ids), stop) if finished.hypotheses else ""
            yield StreamedText(finished.number, whole[len(sent.pop(finished.number, "")) :], finished)


def shared(sequences: Sequence[Sequence[Item]]) -> list[Item]:
    items: list[Item] = []
    for same in zip(*sequences, strict=False):
        if len(set(same)) > 1:
            break
        items.append(same[0])
    return items


def settled(text: str, stop: Sequence[str]) -> str:
    """The text without what a later token may still change: an incomplete character, the beginning of a stop string."""
    text = before_stop(text, stop).rstrip(INCOMPLETE)
    begun = (size for each in stop for size in range(1, len(each)) if text.endswith(each[:size]))
    return text[: len(text) - max(begun, default=0)]
