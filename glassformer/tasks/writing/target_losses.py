"""How likely the right targets are to an encoder–decoder, token by token.

E measured pairs · B rows of a batch · T tokens of the target · n measured tokens
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassformer.data.batches.batch import Integers
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.batches.order import Order
from glassformer.data.readers.parallel import TARGET
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.scoring.measure import Reals
from glassformer.scoring.score import THIS_MODEL, Scores, Unigram, compared, perplexity
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.writing.pair_source import PairSource

# Rows that are measured together, and tokens whose vocabulary scores are in memory together.
_ROWS, _TOGETHER = 32, 512


@dataclass(frozen=True)
class TargetLosses:
    """Of each measured pair [E]: its number in the source, its tokens, the sum of their losses in nats, how many of
    them were the likeliest, and the sum of their losses by their frequencies alone.
    """

    pairs: Integers
    tokens: Reals
    losses: Reals
    right: Reals
    unigram: Reals


def target_losses(model: Transformer, source: PairSource, unigram: Unigram, limit: int | None) -> TargetLosses:
    """The losses after the right tokens, without smoothing; of all pairs, or always the same ones, about `limit`."""
    device = next(model.parameters()).device
    sums = np.zeros((4, len(source.examples)))  # tokens, losses, right, unigram
    head = model.head
    assert head is not None
    none = np.zeros(0, np.int64)
    with evaluating(model):
        for batch, pairs in _rows(source, limit):
            labels = batch.labels[TARGET].flatten()  # [B·T]
            asked = labels != IGNORED
            moved = batch.to(device)
            states = model(moved.inputs, moved.decoder_inputs, heads=()).states.flatten(0, 1)[asked.to(device)]
            its = pairs.reshape(-1)[asked.numpy()]  # [n]
            for start in range(0, len(its), _TOGETHER):
                some = slice(start, start + _TOGETHER)
                right = labels[asked][some]
                found = compared(head(states[some], model.word_table), right.to(device))
                frequent, _ = unigram.guess(none, none, right.numpy())
                each = [np.ones(len(right)), *(one.double().cpu().numpy() for one in found), frequent]
                for row, values in zip(sums, each, strict=True):
                    np.add.at(row, its[some], values)
    measured = np.flatnonzero(sums[0])
    return TargetLosses(measured, *sums[:, measured])


def token_scores(of: TargetLosses, unigram: Unigram) -> Scores:
    """Loss, perplexity and accuracy of the tokens, beside those of their frequencies."""
    count = float(of.tokens.sum())
    own, other = (float(losses.sum() / count) for losses in (of.losses, of.unigram))
    mine = {"loss": own, "perplexity": perplexity(own), "accuracy": float(of.right.sum() / count)}
    return Scores(
        round(count), "tokens", {THIS_MODEL: mine, unigram.name: {"loss": other, "perplexity": perplexity(other)}}
    )


def measured_pairs(source: PairSource, limit: int | None) -> Integers:
    """The numbers of the pairs that `target_losses` measures, in its order. [E]"""
    found = [
        np.unique(pairs[(batch.labels[TARGET] != IGNORED).view(pairs.shape).numpy()])
        for batch, pairs in _rows(source, limit)
    ]
    return np.unique(np.concatenate(found))


def _rows(source: PairSource, limit: int | None) -> Iterator[tuple[Batch, Any]]:
    """The rows to measure, shape after shape, and the number of the pair of each token of the target [B, T]."""
    count = len(source)
    if limit is not None:
        count = min(count, -(-limit * count // len(source.examples)))
    order = Order(len(source), count, source.fingerprint, 0).of_epoch(0, 0)
    lengths = source.lengths[order]  # [R, 2]
    members = source.packed.members
    for shape in np.unique(lengths, axis=0):
        rows = order[np.all(lengths == shape, axis=1)]
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            batch = source.batch(some, np.zeros_like(some), shape=(len(some), *shape.tolist()))
            assert batch.decoder_inputs is not None
            assert batch.decoder_inputs.documents is not None
            yield batch, members.values[members.offsets[some][:, None] + batch.decoder_inputs.documents.numpy()]
