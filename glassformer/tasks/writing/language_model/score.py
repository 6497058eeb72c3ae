"""How likely a text is to a language model, token by token: the verb `score` of decoders.

B rows · S tokens of a row · n scored tokens · V vocabulary
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple, Self

from glassformer.base.errors import DataError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.scoring.score import compared
from glassformer.tasks.predictor import Context, Predictor
from glassformer.tasks.rows import Axis, Row
from glassformer.tasks.values import located, text_of
from glassformer.tasks.writing.language_model.task import LanguageModelSection, check_writes
from glassformer.tasks.writing.next_tokens import NEXT
from glassformer.tasks.writing.scored import ScoredText, ScoredToken
from glassformer.text.tokenizer import Encoding, Tokenizer
from glassformer.text.windows import Window, windows

# Tokens of which all vocabulary scores are in memory together.
_TOGETHER = 512


class Read(NamedTuple):
    """A text, its tokens, and the windows in which it is read."""

    text: str
    encoding: Encoding
    cut: tuple[Window, ...]


class Likelihood(Predictor[Read, ScoredText]):
    """The probability of each token of a text after those before it: after as many as the model reads at once."""

    axes: ClassVar[Mapping[str, Axis]] = {NEXT: "token"}

    def __init__(self, tokenizer: Tokenizer, *, opening: tuple[int, ...], room: int | None) -> None:
        self.tokenizer, self.opening, self.room = tokenizer, opening, room

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For a decoder with a vocabulary head; raises ConfigError for another model."""
        check_writes(model.config)
        return cls(tokenizer, opening=opening_of(tokenizer, context), room=room_of(model, context))

    def example(self, values: Mapping[str, object], where: str) -> Read:
        """The text of a record; raises DataError for one of which no token can be scored."""
        text = text_of(values["text"], where)
        encoding = self.tokenizer.encode(text, special=False)
        if len(encoding) + len(self.opening) < 2:
            raise DataError(located(where, "a text to score needs two tokens"), got=repr(text[:40]))
        room = None if self.room is None else max(2, self.room - len(self.opening) + 1)
        return Read(text, encoding, windows(len(encoding), room))

    def rows(self, example: Read) -> Iterator[Row]:
        """The windows of the text, the token that each of theirs is followed by as its label."""
        ids = example.encoding.ids
        for window in example.cut:
            before = self.opening if window.start == 0 else ()
            given = [*before, *ids[window.start : window.end - 1]]
            first = window.start if before else window.start + 1
            labels = [IGNORED] * (len(before) - 1) + [
                ids[place] if window.first <= place < window.last else IGNORED for place in range(first, window.end)
            ]
            yield Row(ids=given, labels={NEXT: labels})

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[float]]]:
        """The log-probabilities of the tokens that each row answers for."""
        head = model.head
        assert head is not None
        for batch in batches:
            labels = batch.labels[NEXT]  # [B, S]
            asked = labels != IGNORED
            states = model(batch.inputs, heads=()).states[asked]  # [n, W]
            found: list[float] = []
            for some, right in zip(states.split(_TOGETHER), labels[asked].split(_TOGETHER), strict=True):
                found += (-compared(head(some, model.word_table), right)[0]).tolist()
            start = 0
            for row, count in zip(batch.row_ids.tolist(), asked.sum(dim=1).tolist(), strict=True):
                yield row, found[start : start + count]
                start += count

    def merge(self, example: Read, found: Sequence[list[float]]) -> ScoredText:
        """The tokens of the text with their log-probabilities; without an opening all but the first."""
        encoding, logarithms = example.encoding, [each for row in found for each in row]
        first = len(encoding) - len(logarithms)
        tokens = tuple(
            ScoredToken(encoding.tokens[place], self.tokenizer.text(id_), *encoding.offsets[place], logarithm)
            for place, (id_, logarithm) in enumerate(zip(encoding.ids[first:], logarithms, strict=True), start=first)
        )
        counts = self.tokenizer.byte_counts
        size = None if counts is None else int(counts[encoding.ids[first:]].sum())
        return ScoredText(example.text, tokens, len(example.cut), size)


def opening_of(tokenizer: Tokenizer, context: Context) -> tuple[int, ...]:
    """What stands before a text: the tokens that the tokenizer puts there; for a model that has learned texts one after
    another, the token between them.
    """
    before, _ = tokenizer.frame_ids
    if before or tokenizer.begin_id is None or not isinstance(context.section, LanguageModelSection):
        return before
    return (tokenizer.begin_id,)


def room_of(model: Transformer, context: Context) -> int | None:
    """The most tokens that the model reads at once; None for any number."""
    limits = [limit for limit in (model.output_stack.max_length, context.length) if limit is not None]
    return min(limits, default=None)
