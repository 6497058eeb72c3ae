"""How likely the right next tokens are to a decoder, to a unigram and to a trigram baseline. Measured row by row, so
that each score has its interval.

B rows · S tokens of a row · N = B·S · V vocabulary · W width · R measured rows · n measured tokens of a batch
"""

import math
from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np

from glassformer.data.batches.batch import Integers, Order
from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import compared_in_parts
from glassformer.scoring.score import THIS_MODEL, Measure, Reals, Scores, Unigram
from glassformer.scoring.trigram import Trigram
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.rows import Shape

NEXT = "next_tokens"
# Rows of one forward pass in evaluation.
_ROWS = 32
MOST_COUNTED = 20_000_000
"""Trigrams are counted in memory, about 60 bytes each at most."""


class NextTokenRows(Protocol):
    """Rows of one length, with the token after each token as its label, where that is learned."""

    fingerprint: str

    @property
    def lengths(self) -> int: ...

    def __len__(self) -> int: ...

    def batch(self, examples: Integers, epochs: Integers, *, shape: Shape) -> Batch: ...


class NextTokenScores:
    """Loss, perplexity, accuracy and, where `bytes_of` has the bytes of each token, bits per byte."""

    def __init__(self, unigram: Unigram, bytes_of: Integers | None) -> None:
        self.unigram, self.bytes_of = unigram, bytes_of

    def measured(self, model: Transformer, source: NextTokenRows, limit: int | None) -> Scores:
        """Compared with the tokens' frequencies, on all rows or always the same `limit`; intervals over rows."""
        mine, unigram = [], []
        for batch in _batches(source, limit):
            mine.append(self._sums(batch, *_compared(model, batch)))
            unigram.append(self._sums(batch, *self._by_frequency(batch)))
        return self.of_sums(np.concatenate(mine)).beside(self.unigram.name, self.of_sums(np.concatenate(unigram)))

    def beside_trigram(self, scores: Scores, stream: Integers, source: NextTokenRows, limit: int | None) -> Scores:
        """With those of the same rows by which token followed which two in a stream of training tokens."""
        trigram = Trigram(stream, len(self.unigram.counts))
        rows = [self._sums(batch, *_after_two(trigram, batch)) for batch in _batches(source, limit)]
        return scores.beside(trigram.name, self.of_sums(np.concatenate(rows), guesses=False))

    def _by_frequency(self, batch: Batch) -> tuple[Reals, Reals]:
        labels = batch.labels[NEXT].numpy()
        labels = labels[labels != IGNORED]  # [n]
        losses = -np.log(self.unigram.probability(labels))
        return losses, (labels == self.unigram.counts.argmax()).astype(np.float64)

    def _sums(self, batch: Batch, losses: Reals, right: Reals) -> Reals:
        """For each row the sums of losses [n], right guesses [n], tokens and bytes: [B, 4]."""
        labels = batch.labels[NEXT].numpy()
        asked = labels != IGNORED  # [B, S]
        rows = np.nonzero(asked)[0]  # [n]
        sizes = np.zeros(len(losses)) if self.bytes_of is None else self.bytes_of[labels[asked]]
        each = (losses, right, np.ones(len(losses)), sizes)
        return np.stack([np.bincount(rows, values, len(labels)) for values in each], axis=1)  # [B, 4]

    def of_sums(self, rows: Reals, *, guesses: bool = True) -> Scores:
        """What follows from the sums of rows [R, 4]; without `guesses` no accuracy."""
        counts_bytes = self.bytes_of is not None

        def scores(sums: Reals) -> Mapping[str, Reals]:
            loss = sums[..., 0] / sums[..., 2]
            found = {"loss": loss, "perplexity": np.exp(np.minimum(loss, 700.0))}
            if counts_bytes:  # a sample of rows may hold ends of texts alone, which have no bytes
                bits, size = sums[..., 0] / math.log(2), sums[..., 3]
                found["bits_per_byte"] = np.divide(bits, size, out=np.full(np.shape(size), np.nan), where=size > 0)
            return found | ({"accuracy": sums[..., 1] / sums[..., 2]} if guesses else {})

        measure = Measure(rows, scores)
        return Scores.measured("tokens", {THIS_MODEL: measure}, count=int(measure.sums[2]))


def _batches(source: NextTokenRows, limit: int | None) -> Iterator[Batch]:
    order, count = Order(len(source), _ROWS, source.fingerprint, 0), min(limit or len(source), len(source))
    for number in range(math.ceil(count / _ROWS)):
        numbers = order.of_epoch(0, number)[: count - number * _ROWS]
        yield source.batch(numbers, np.zeros_like(numbers), shape=(len(numbers), source.lengths))


def _compared(model: Transformer, batch: Batch) -> tuple[Reals, Reals]:
    """The loss of each label of a batch, and whether its logit is the largest: [n], [n]."""
    device = next(model.parameters()).device
    labels = batch.labels[NEXT].flatten().to(device)  # [N]
    asked = labels != IGNORED
    with evaluating(model):
        states = model(batch.to(device).inputs, heads=()).states.flatten(0, 1)[asked]  # [n, W]
        losses, right = compared_in_parts(model, states, labels[asked])
    return losses.cpu().double().numpy(), right.cpu().double().numpy()


def _after_two(trigram: Trigram, batch: Batch) -> tuple[Reals, Reals]:
    """What `_compared` gives, for a trigram; which token it would guess is not worked out."""
    assert batch.inputs.ids is not None
    ids, labels = batch.inputs.ids.numpy(), batch.labels[NEXT].numpy()  # [B, S]
    before = np.concatenate([np.full_like(ids[:, :1], -1), ids[:, :-1]], axis=1)  # [B, S]
    asked = labels != IGNORED
    losses = -np.log(trigram.probability(before[asked], ids[asked], labels[asked]))  # [n]
    return losses, np.zeros(len(losses))
