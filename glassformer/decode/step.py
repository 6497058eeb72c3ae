"""A step of the decoding loop, what it is asked for, and answers as text while they are being written.

R rows, one for each sentence · B hypotheses of a row · T tokens
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TypeVar

from glassformer.decode.hypotheses import Hypotheses, Sentence
from glassformer.decode.record import Recorder
from glassformer.decode.request import Finished, IdsOf, Spelled, TextOf, before_stop
from glassformer.decode.settings import DecodeSettings, SpecialIds


@dataclass(frozen=True)
class Step:
    """A step of the loop: the requests it answered, and those in its rows, whose hypotheses change next."""

    finished: list[Finished]
    rows: Sequence[Sentence | None] = ()
    hypotheses: Hypotheses | None = None

    def unfinished(self) -> Iterator[tuple[int, list[list[int]]]]:
        """Number and unfinished hypotheses of each request that is not yet answered."""
        if self.hypotheses is None:
            return
        begin, length = self.hypotheses.begin.tolist(), self.hypotheses.length.tolist()
        for row, sentence in enumerate(self.rows):
            if sentence is not None:
                alive = self.hypotheses.score[row] > -inf  # [B]
                yield sentence.request.number, self.hypotheses.tokens[row, alive, begin[row] : length[row]].tolist()

    def contenders(self) -> Iterator[tuple[int, list[list[int]]]]:
        """The number of each such request, and what may become its best answer: these and its best complete answer."""
        complete = (sentence.best for sentence in self.rows if sentence is not None)
        for (number, hypotheses), best in zip(self.unfinished(), complete, strict=True):
            yield number, hypotheses if best is None else [*hypotheses, list(best.ids)]


@dataclass(frozen=True)
class Wanted:
    """What `decode` is asked for: `slots` requests are answered at a time.

    With `attention`, answers carry how much each token looked at the source in these blocks of the decoder, by one
    `head` or the mean of all. `text_of` makes text of tokens, which stop strings need; `ids_of` makes tokens of text,
    which forced and forbidden words need, and `spelled` all tokens of the same letters. `forced`: requests may have
    such words in addition to the settings'. A `recorder` keeps what the search looked at.
    """

    settings: DecodeSettings
    ids: SpecialIds
    attention: Collection[int] = ()
    head: int | None = None
    slots: int = field(default=64, repr=False)
    text_of: TextOf | None = field(default=None, repr=False)
    ids_of: IdsOf | None = field(default=None, repr=False)
    spelled: Spelled | None = field(default=None, repr=False)
    forced: bool = field(default=False, repr=False)
    recorder: Recorder | None = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        """The same for searches that differ in numbers alone, such as lengths and penalties."""
        usual = DecodeSettings.model_fields
        changed = [(name, value) for name, value in self.settings if value != usual[name].default]
        named = [(name, value if isinstance(value, str) else None) for name, value in changed]
        return repr((named, replace(self, settings=DecodeSettings())))


# What a tokenizer gives for bytes that are no whole character yet.
INCOMPLETE = "\N{REPLACEMENT CHARACTER}"
Item = TypeVar("Item")


@dataclass(frozen=True)
class StreamedText:
    """The next characters of the answer to a request; with the last of them come its answers."""

    number: int
    text: str
    finished: Finished | None = None


def stream(
    steps: Iterable[Step], text_of: TextOf, *, stop: Sequence[str] = (), continuation_byte: int | None = None
) -> Iterator[StreamedText]:
    """The text of each request's best answer as soon as no later token can change it.

    That is what all hypotheses that may still be the best have in common, up to a character that is not yet whole and
    to what may be the beginning of a stop string. The text of the last token is held back too: the next one may change
    a blank before it. So is what `continuation_byte` would change: a decoder of bytes replaces all bytes of a run that
    is no UTF-8. A stop string and what follows it are left out. Joined, the texts of a request are its answer.
    """
    sent: dict[int, str] = {}
    for step in steps:
        for number, hypotheses in step.contenders():
            tokens = shared(hypotheses)
            ways = [tokens[:-1], tokens]
            if continuation_byte is not None:
                ways.append([*tokens, continuation_byte])
            text = settled("".join(shared([text_of(way) for way in ways])), stop)
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
