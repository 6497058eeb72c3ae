"""How likely a text is to a decoder, token by token, and how likely a given translation is to an encoder–decoder: the
verb `score`.

B rows · S tokens of a row · T tokens of the target, its end among them · n scored tokens ·
V vocabulary
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from glassformer.base.errors import DataError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.readers.parallel import TARGET
from glassformer.decode.settings import SpecialIds
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import compared_in_parts
from glassformer.tasks.predictor import TOKEN_BY_TOKEN, Context, Predictor
from glassformer.tasks.rows import Axis, Row, located, text_of
from glassformer.tasks.writing.next_token_scores import NEXT
from glassformer.tasks.writing.pair_source import TextPair
from glassformer.tasks.writing.scored import ScoredPair, ScoredText, ScoredToken
from glassformer.tasks.writing.writers import check_translates, check_writes, opening_of, room_of, special_ids
from glassformer.text.tokenizer import Encoding, Tokenizer
from glassformer.text.windows import Window, windows
from glassformer.text.words import ids_of

# Target tokens that go through the decoder together, padding included.
_TOGETHER = 8192


class Read(NamedTuple):
    """A text, its tokens, and the windows in which it is read."""

    text: str
    encoding: Encoding
    cut: tuple[Window, ...]


class Likelihood(Predictor[Read, ScoredText]):
    """The probability of each token of a text after those before it: after as many as the model reads at once."""

    longest = TOKEN_BY_TOKEN

    axes: ClassVar[Mapping[str, Axis]] = {NEXT: "token"}

    def __init__(self, tokenizer: Tokenizer, *, opening: tuple[int, ...], room: int | None) -> None:
        self.tokenizer, self.opening, self.room = tokenizer, opening, room

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        check_writes(model.config)
        return cls(tokenizer, opening=opening_of(tokenizer, context), room=room_of(model, context))

    def example(self, values: Mapping[str, object], where: str) -> Read:
        text = text_of(values["text"], where)
        encoding = self.tokenizer.encode(text, special=False)
        if len(encoding) + len(self.opening) < 2:
            got = f"{len(encoding)} from the tokenizer for {text[:40]!r}"
            raise DataError(located(where, "a text to score needs two tokens"), got=got)
        room = None if self.room is None else max(2, self.room - len(self.opening) + 1)
        return Read(text, encoding, windows(len(encoding), room, causal=True))

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
        for batch in batches:
            labels = batch.labels[NEXT]  # [B, S]
            asked = labels != IGNORED
            states = model(batch.inputs, heads=()).states[asked]  # [n, W]
            found: list[float] = (-compared_in_parts(model, states, labels[asked])[0]).tolist()
            start = 0
            for row, count in zip(batch.row_ids.tolist(), asked.sum(dim=1).tolist(), strict=True):
                yield row, found[start : start + count]
                start += count

    def merge(self, example: Read, found: Sequence[list[float]]) -> ScoredText:
        encoding, logarithms = example.encoding, [each for row in found for each in row]
        first = len(encoding) - len(logarithms)
        tokens = tuple(
            ScoredToken(encoding.tokens[place], self.tokenizer.text(id_), *encoding.offsets[place], logarithm)
            for place, (id_, logarithm) in enumerate(zip(encoding.ids[first:], logarithms, strict=True), start=first)
        )
        counts = self.tokenizer.byte_counts
        # The first token of some tokenizers has a blank that the text does not have.
        if counts is None:
            size = None
        elif first:
            size = int(counts[encoding.ids[first:]].sum())
        else:
            size = len(example.text.encode("utf-8", "surrogatepass"))
        return ScoredText(example.text, tokens, len(example.cut), size)


class PairLikelihood(Predictor[TextPair, ScoredPair]):
    """The source goes through the encoder, the given target through the decoder (forced decoding)."""

    longest = TOKEN_BY_TOKEN

    axes: ClassVar[Mapping[str, Axis]] = {TARGET: "set"}

    def __init__(self, tokenizer: Tokenizer, *, ids: SpecialIds, most: int | None) -> None:
        self.tokenizer, self.ids, self.most = tokenizer, ids, most

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        check_translates(model.config)
        return cls(tokenizer, ids=special_ids(tokenizer.target, context.search), most=model.output_stack.max_length)

    def example(self, values: Mapping[str, object], where: str) -> TextPair:
        if values.get(TARGET) is None:
            raise DataError(
                located(where, "a translator scores a text together with its translation"),
                got="no translation",
                do="give it with --target or --target-column, in Python and over HTTP as target",
            )
        pair = TextPair(text_of(values["text"], where, "source"), text_of(values[TARGET], where, "target"))
        if marks := {*ids_of(self.tokenizer.target, pair.target or "")} & {*self.ids.end, *self.ids.never}:
            raise DataError(
                located(where, "the target must have no special tokens"),
                got=repr(self.tokenizer.target.token(min(marks))),
            )
        if not self.fits(pair):
            raise DataError(
                located(where, f"a source and a target of at most {self.most} tokens are needed"),
                got=f"{len(self._source(pair)):,} and {len(self._target(pair)):,}",
                do="score it sentence by sentence",
            )
        return pair

    def fits(self, pair: TextPair) -> bool:
        return self.most is None or max(len(self._source(pair)), len(self._target(pair))) <= self.most

    def rows(self, example: TextPair) -> Iterator[Row]:
        yield Row(ids=self._source(example), labels={TARGET: self._target(example)})

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[float]]]:
        for batch in batches:
            targets = batch.labels[TARGET]  # [B, T]
            together = max(1, _TOGETHER // targets.shape[1])
            for start in range(0, len(targets), together):
                some = slice(start, start + together)
                found = target_log_probabilities(model, _some(batch.inputs, some), targets[some], self.ids)  # [B, T]
                lengths = (targets[some] != IGNORED).sum(dim=1).tolist()
                for row, logarithms, length in zip(batch.row_ids[some].tolist(), found.tolist(), lengths, strict=True):
                    yield row, logarithms[:length]

    def merge(self, example: TextPair, found: Sequence[list[float]]) -> ScoredPair:
        target = example.target or ""
        tokenizer = self.tokenizer.target
        before, after = tokenizer.frame_ids
        encoding = tokenizer.encode(target, special=False)
        ids = [*before, *encoding.ids, *after]
        spans = [*[(0, 0)] * len(before), *encoding.offsets, *[(len(target), len(target))] * len(after)]
        scored = tuple(
            ScoredToken(tokenizer.token(id_), tokenizer.text(id_), *span, logarithm)
            for id_, span, logarithm in zip(ids, spans, found[0], strict=True)
        )
        return ScoredPair(example.text, target, scored)

    def _source(self, pair: TextPair) -> array[int]:
        return _framed(self.tokenizer, pair.text)

    def _target(self, pair: TextPair) -> array[int]:
        return _framed(self.tokenizer.target, pair.target or "")


def _framed(tokenizer: Tokenizer, text: str) -> array[int]:
    before, after = tokenizer.frame_ids
    return array("i", before) + ids_of(tokenizer, text) + array("i", after)


def target_log_probabilities(model: Transformer, inputs: Inputs, targets: Tensor, ids: SpecialIds) -> Tensor:
    """The log-probability of each target token [B, T] after those before it, at least in float32; 0 for IGNORED. As in
    decoding, tokens that no answer has have a probability of 0.
    """
    begin = torch.full_like(targets[:, :1], ids.begin)  # [B, 1]
    given = torch.cat([begin, targets[:, :-1].where(targets[:, :-1] != IGNORED, ids.begin)], dim=1)  # [B, T]
    states = model(inputs, Inputs(ids=given), heads=()).states.flatten(0, 1)  # [B * T, W]
    asked = (targets != IGNORED).flatten()  # [B * T]
    losses, _ = compared_in_parts(model, states[asked], targets.flatten()[asked], never=ids.never)  # [n]
    found = torch.zeros(asked.shape, dtype=losses.dtype, device=asked.device)  # [B * T]
    found[asked] = -losses
    return found.view(targets.shape)  # [B, T]


def _some(inputs: Inputs, rows: slice) -> Inputs:
    assert inputs.ids is not None
    return Inputs(ids=inputs.ids[rows], real=None if inputs.real is None else inputs.real[rows])
