"""How likely the right next tokens are to a decoder, to a unigram and to a trigram baseline. Measured row by row, so
that each score has its interval.

B rows · S tokens of a row · N = B·S · V vocabulary · W width · R measured rows · n measured tokens of a batch
"""

import math
from collections.abc import Mapping

import numpy as np
import torch

from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import compared_in_parts, sums_of_rows
from glassformer.scoring.score import THIS_MODEL, Integers, Measure, Reals, Scores, Unigram, numbers_of_rows
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.task import Source, measured_batches

NEXT = "next_tokens"
MOST_COUNTED = 20_000_000
"""Trigrams are counted in memory, about 60 bytes each at most."""


class Trigram:
    """How likely a token is after the two before it, from counts in a text. Two tokens back off to the last of them,
    which backs off to the frequency of the token, with the weights of Witten & Bell (1991): (count(context, token) +
    kinds · lower) / (count(context) + kinds), where `kinds` is how many different tokens the context was seen with. The
    probabilities of all tokens after any two add up to 1.
    """

    name = "trigram"

    def __init__(self, ids: Integers, vocabulary: int) -> None:
        self._base = vocabulary
        # One more of each: a token that was never seen has a probability too, and all together have 1.
        counts = Unigram.count(ids, vocabulary).counts + 1
        self._unigram: Reals = counts / counts.sum()  # [V]
        self._one = _Contexts(ids[:-1], ids[1:], vocabulary)
        self._two = _Contexts(ids[:-2] * vocabulary + ids[1:-1], ids[2:], vocabulary)

    def probability(self, before: Integers, last: Integers, tokens: Integers) -> Reals:
        """How likely each token [N] is after `before` and `last`; `before` -1: there is none."""
        lower = self._one.probability(last, tokens, self._unigram[tokens])
        both: Reals = self._two.probability(before * self._base + last, tokens, lower)
        return np.where(before >= 0, both, lower)


class _Contexts:
    """Which tokens were seen after which context, and how often."""

    def __init__(self, contexts: Integers, tokens: Integers, base: int) -> None:
        self._base = base
        self._keys, self._counts = np.unique(contexts * base + tokens, return_counts=True)
        self._contexts, first = np.unique(self._keys // base, return_index=True)
        self._totals = np.add.reduceat(self._counts, first) if len(first) else self._counts
        self._kinds = np.diff(np.append(first, len(self._keys)))

    def probability(self, contexts: Integers, tokens: Integers, lower: Reals) -> Reals:
        """How likely each token is after its context, mixed with `lower`; [N] each."""
        total, kinds = _of(self._contexts, contexts, self._totals), _of(self._contexts, contexts, self._kinds)
        count = _of(self._keys, contexts * self._base + tokens, self._counts)
        seen = total > 0
        return np.where(seen, (count + kinds * lower) / np.maximum(total + kinds, 1), lower)


def _of(keys: Integers, wanted: Integers, values: Integers) -> Integers:
    if not len(keys):
        return np.zeros_like(wanted)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0)


class NextTokenScores:
    """Loss, perplexity, accuracy and, where `bytes_of` has the bytes of each token, bits per byte."""

    def __init__(self, unigram: Unigram, bytes_of: Integers | None) -> None:
        self.unigram, self.bytes_of = unigram, bytes_of

    def measured(self, model: Transformer, source: Source, limit: int | None) -> Scores:
        """Compared with the tokens' frequencies, on all rows or always the same `limit`; intervals over rows."""
        mine, unigram, asked = [], [], []
        for batch in measured_batches(source, limit):
            asked.append(_asked(batch))
            mine.append(self._sums(batch, *_compared(model, batch)))
            unigram.append(self._sums(batch, *self._by_frequency(batch)))
        known = self.bytes_of is not None
        numbers = np.concatenate(asked)
        own, other = (scores_of_sums(np.concatenate(of), numbers, sizes=known) for of in (mine, unigram))
        return own.with_baseline(self.unigram.name, other)

    def with_trigram(self, scores: Scores, stream: Integers, source: Source, limit: int | None) -> Scores:
        """With those of the same rows by which token followed which two in a stream of training tokens."""
        trigram = Trigram(stream, len(self.unigram.counts))
        rows, asked = [], []
        for batch in measured_batches(source, limit):
            rows.append(self._sums(batch, *_after_two(trigram, batch)))
            asked.append(_asked(batch))
        known = self.bytes_of is not None
        found = scores_of_sums(np.concatenate(rows), np.concatenate(asked), sizes=known, guesses=False)
        return scores.with_baseline(trigram.name, found)

    def _by_frequency(self, batch: Batch) -> tuple[Reals, Reals]:
        labels = batch.labels[NEXT].numpy()
        losses, right = self.unigram.guess(labels[labels != IGNORED])  # [n], [n]
        return losses, right.astype(np.float64)

    def _sums(self, batch: Batch, losses: Reals, right: Reals) -> Reals:
        """For each row the sums of losses [n], right guesses [n], tokens and bytes: [B, 4]."""
        labels = batch.labels[NEXT]
        known = labels[labels != IGNORED].numpy()  # [n]
        sizes = np.zeros(len(known)) if self.bytes_of is None else self.bytes_of[known]
        return sums_of_rows(labels, *map(torch.from_numpy, (losses, right, np.ones(len(known)), sizes)))


def scores_of_sums(rows: Reals, asked: Integers | None = None, *, sizes: bool = True, guesses: bool = True) -> Scores:
    """What follows from the sums of losses, right guesses, tokens and bytes of each row, or reply [R, 4]; without
    `sizes` no bits per byte, without `guesses` no accuracy. `asked`: what each row asks, as a number [R].
    """

    def scores(sums: Reals) -> Mapping[str, Reals]:
        loss = sums[..., 0] / sums[..., 2]
        found = {"loss": loss, "perplexity": np.exp(np.minimum(loss, 700.0))}
        if sizes:  # a sample of rows may hold ends of texts alone, which have no bytes
            bits, size = sums[..., 0] / math.log(2), sums[..., 3]
            found["bits_per_byte"] = np.divide(bits, size, out=np.full(np.shape(size), np.nan), where=size > 0)
        return found | ({"accuracy": sums[..., 1] / sums[..., 2]} if guesses else {})

    measure = Measure.of_questions(rows, scores, asked)
    return Scores.measured("tokens", {THIS_MODEL: measure}, count=int(measure.sums[2]))


def _asked(batch: Batch) -> Integers:
    """What each row asks, as a number [B]."""
    return numbers_of_rows(batch.inputs.ids, batch.labels[NEXT])


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
