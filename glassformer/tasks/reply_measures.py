"""How likely the right replies are: to the model, by the frequency of their tokens, and to somebody who knows the two
tokens before the next one. Measured reply by reply, so that each score has its interval.

E measured replies · N tokens of the training replies · n tokens of the measured ones · V vocabulary
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glassformer.data.batch import Integers
from glassformer.data.flat import Flat
from glassformer.tasks.measure import Measure, Reals, losses_and_shares
from glassformer.tasks.pair_source import PairSource
from glassformer.tasks.score import THIS_MODEL, Scores
from glassformer.tasks.translation_evaluation import TargetLosses, measured_pairs
from glassformer.tasks.trigram import Trigram

# Trigrams are counted in memory, about 60 bytes each at most.
_MOST_COUNTED = 20_000_000


def scores_of_replies(of: TargetLosses, baseline: str) -> Scores:
    """Loss, perplexity and accuracy of the tokens, beside those of their frequencies, with what intervals over replies
    are computed from.
    """
    own = Measure(
        np.stack([of.losses, of.right, of.tokens], axis=1),  # [E, 3]
        losses_and_shares([], []).scores,
    )
    by_frequency = _of_losses(of.unigram, of.tokens)
    measures = {THIS_MODEL: own, baseline: by_frequency}
    values = {name: measure.values() for name, measure in measures.items()}
    return Scores(round(float(of.tokens.sum())), "tokens", values, measures=measures)


def by_trigram(train: PairSource, source: PairSource, *, start: int, vocabulary: int, limit: int | None) -> Scores:
    """The scores of the same replies by which token followed which two in the training replies; the turns before a
    reply have no part in it. Each reply stands behind the token that it begins with.
    """
    counted = Trigram(_one_after_another(train.targets, start)[:_MOST_COUNTED], vocabulary)
    pairs = measured_pairs(source, limit)
    ids, of, place = source.targets.joined(pairs)  # [n], [n], [n]
    stream = np.insert(ids.astype(np.int64), np.flatnonzero(place == 0), start)  # [n + E]
    at = np.arange(len(ids)) + of + 1  # where each token is now
    last = stream[at - 1]
    before = np.where(at > 1, stream[at - 2], -1)  # behind a beginning: the end of the reply before it
    losses = -np.log(counted.probability(before, last, stream[at]))  # [n]
    sums = np.bincount(of, losses, len(pairs)).astype(np.float64)  # [E]
    tokens = np.bincount(of, minlength=len(pairs)).astype(np.float64)  # [E]
    measure = _of_losses(sums, tokens)
    return Scores(len(ids), "tokens", {THIS_MODEL: measure.values()}, measures={THIS_MODEL: measure})


def _of_losses(losses: Reals, tokens: Reals) -> Measure:
    """Loss and perplexity of replies whose losses [E] and numbers of tokens [E] are known."""

    def scores(sums: Reals) -> Mapping[str, Reals]:
        loss = sums[..., 0] / sums[..., 1]
        return {"loss": loss, "perplexity": np.exp(np.minimum(loss, 700.0))}

    return Measure(np.stack([losses, tokens], axis=1), scores)  # [E, 2]


def _one_after_another(replies: Flat, start: int) -> Integers:
    """All tokens, each reply behind the token that it begins with. [N]"""
    return np.insert(replies.values.astype(np.int64), replies.offsets[:-1], start)
