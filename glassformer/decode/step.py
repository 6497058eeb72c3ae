"""A step of the decoding loop, and what it is asked for.

R rows, one for each sentence · B hypotheses of a row · T tokens
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from glassformer.decode.beam_search import TextOf
from glassformer.decode.hypotheses import Hypotheses, Sentence
from glassformer.decode.record import Recorder
from glassformer.decode.request import Finished, SpecialIds
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.words import IdsOf


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
    """What `decode` is asked for: as its own arguments of these names."""

    settings: DecodeSettings
    ids: SpecialIds
    attention: Collection[int] = ()
    head: int | None = None
    slots: int = field(default=64, repr=False)
    text_of: TextOf | None = field(default=None, repr=False)
    ids_of: IdsOf | None = field(default=None, repr=False)
    forced: bool = field(default=False, repr=False)
    recorder: Recorder | None = field(default=None, repr=False)
