"""How likely a model finds a given translation of a text, token by token: the verb `score` of models that translate.

B rows · T tokens of the target, its end among them · N tokens that are scored together · V vocabulary
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Self

import torch
from torch import Tensor

from glassformer.base.errors import DataError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.decode.request import SpecialIds
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer
from glassformer.scoring.score import compared
from glassformer.tasks.predictor import Context, Predictor
from glassformer.tasks.rows import Axis, Row
from glassformer.tasks.values import located, text_of
from glassformer.tasks.writing.pair_source import TextPair
from glassformer.tasks.writing.scored import ScoredPair, ScoredToken
from glassformer.tasks.writing.translator import check_translates, special_ids
from glassformer.text.parts import ids_of
from glassformer.text.tokenizer import Tokenizer

TARGET = "target"
# Target tokens that go through the decoder together, padding included, and those of which all vocabulary scores are in
# memory.
_TOGETHER, _SCORES = 8192, 512


class PairLikelihood(Predictor[TextPair, ScoredPair]):
    """The source goes through the encoder, the given target through the decoder (forced decoding)."""

    axes: ClassVar[Mapping[str, Axis]] = {TARGET: "set"}

    def __init__(self, tokenizer: Tokenizer, *, ids: SpecialIds, most: int | None) -> None:
        self.tokenizer, self.ids, self.most = tokenizer, ids, most

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For an encoder–decoder with a vocabulary head; raises ConfigError for another model."""
        check_translates(model.config)
        ids = None if context.search is None else context.search.ids
        return cls(tokenizer, ids=ids or special_ids(tokenizer.target), most=model.output_stack.max_length)

    def example(self, values: Mapping[str, object], where: str) -> TextPair:
        """A source and its target. Raises DataError where one of them has no words, or more than the model reads."""
        if values.get(TARGET) is None:
            raise DataError(
                located(where, "a text and its translation are scored together"),
                got="no target",
                do="--target TARGET, or a table with a column of targets",
            )
        pair = TextPair(text_of(values["text"], where, "source"), text_of(values[TARGET], where, "target"))
        if marks := {*ids_of(self.tokenizer.target, pair.target or "")} & {*self.ids.end, *self.ids.never}:
            raise DataError(
                located(where, "the target must hold words alone"),
                got=f"{self.tokenizer.target.token(min(marks))!r}, which the model has in no sentence",
            )
        if not self.fits(pair):
            raise DataError(
                located(where, f"a source and a target of at most {self.most} tokens are needed"),
                got=f"{len(self._source(pair)):,} and {len(self._target(pair)):,}",
                do="score it sentence by sentence",
            )
        return pair

    def fits(self, pair: TextPair) -> bool:
        """Whether the model can read both sides at once."""
        return self.most is None or max(len(self._source(pair)), len(self._target(pair))) <= self.most

    def rows(self, example: TextPair) -> Iterator[Row]:
        """One row: the source, with the target as its labels."""
        yield Row(ids=self._source(example), labels={TARGET: self._target(example)})

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[float]]]:
        """The log-probabilities of the tokens of each target."""
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
        """The tokens of the target with their log-probabilities."""
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
    """The log-probability of each target token [B, T] after those before it, at least in float32; 0 for IGNORED.

    As in decoding, tokens that no answer has have a probability of 0.
    """
    begin = torch.full_like(targets[:, :1], ids.begin)  # [B, 1]
    given = torch.cat([begin, targets[:, :-1].where(targets[:, :-1] != IGNORED, ids.begin)], dim=1)  # [B, T]
    never = torch.tensor(ids.never, dtype=torch.int64, device=targets.device)
    states = model(inputs, Inputs(ids=given), heads=()).states.flatten(0, 1)  # [B * T, W]
    assert model.head is not None
    asked = (targets != IGNORED).flatten()  # [B * T]
    losses = [
        compared(model.head(some, model.word_table).index_fill(-1, never, -torch.inf), labels)[0]
        for some, labels in zip(states[asked].split(_SCORES), targets.flatten()[asked].split(_SCORES), strict=True)
    ]  # each [N]
    found = torch.zeros(asked.shape, dtype=losses[0].dtype, device=asked.device)  # [B * T]
    found[asked] = -torch.cat(losses)
    return found.view(targets.shape)  # [B, T]


def _some(inputs: Inputs, rows: slice) -> Inputs:
    assert inputs.ids is not None
    return Inputs(ids=inputs.ids[rows], real=None if inputs.real is None else inputs.real[rows])
