"""What replies are like, without a right answer to compare them with: how different, how long, how repetitive. And how
likely the right replies are: to the model, by the frequency of their tokens, and by the two tokens before the next one.
Measured reply by reply, so that each score has its interval.

E measured replies · N tokens of the training replies · n tokens of the measured ones
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from glassformer.data.batches.batch import Integers
from glassformer.data.batches.flat import Flat
from glassformer.data.batches.order import Order
from glassformer.scoring.measure import Measure, Reals
from glassformer.scoring.score import THIS_MODEL, Scores
from glassformer.scoring.trigram import Trigram
from glassformer.tasks.writing.next_token_scores import MOST_COUNTED
from glassformer.tasks.writing.pair_source import PairSource
from glassformer.tasks.writing.target_losses import TargetLosses, measured_pairs
from glassformer.text.words import find_words

WRITTEN = 200
"""Replies that are written to measure how different and long they are."""

REPEATED = 4
"""Sequences of so many words that stand more than once in a reply are counted."""


def reply_scores(replies: Sequence[str]) -> dict[str, float]:
    """`distinct_1` and `distinct_2`: different words, and pairs of neighbours, as shares of all in all replies (Li et
    al. 2016); `reply_words`: the mean number of words; `repeated_4`: of the sequences of four words within a reply, the
    share that stood there before; `empty`: the share of replies without a word.
    """
    words = [[reply[start:end].lower() for start, end in find_words(reply)] for reply in replies]
    fours = [_sequences(each, REPEATED) for each in words]
    count = sum(map(len, fours))
    return {
        "distinct_1": _distinct(words, 1),
        "distinct_2": _distinct(words, 2),
        "reply_words": sum(map(len, words)) / max(1, len(words)),
        "repeated_4": sum(len(each) - len(set(each)) for each in fours) / count if count else 0.0,
        "empty": sum(not each for each in words) / max(1, len(words)),
    }


class Replies(Protocol):
    fingerprint: str

    @property
    def examples(self) -> Sequence[Any]: ...


def replies_to_write(source: Replies, limit: int | None) -> list[int]:
    """Which replies of a source are written to measure them, always the same ones."""
    count = min(WRITTEN, len(source.examples), limit or WRITTEN)
    return Order(len(source.examples), count, source.fingerprint, 0).of_epoch(0, 0).tolist()


def with_replies(scores: Scores, written: Sequence[str], right: Sequence[str]) -> Scores:
    """Scores with those of replies that a model has written, beside those of the right ones."""
    own = {**scores.of[THIS_MODEL], **reply_scores(written)}
    of = {**scores.of, THIS_MODEL: own, "right replies": reply_scores(right)}
    return replace(scores, of=of, report={"written": len(written)})


def _sequences(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]


def _distinct(words: Sequence[Sequence[str]], size: int) -> float:
    found = [sequence for each in words for sequence in _sequences(each, size)]
    return len(set(found)) / len(found) if found else 0.0


def scores_of_replies(of: TargetLosses, source: PairSource, baseline: str) -> Scores:
    """Loss, perplexity, accuracy and bits per byte, compared with the tokens' frequencies; intervals over replies."""
    sizes = _bytes(source, of.pairs)
    right = np.stack([of.right, of.tokens], axis=1)  # [E, 2]
    by_losses = _of_losses(of.losses, of.tokens, sizes)
    assert isinstance(by_losses.statistics, np.ndarray)

    def scores(sums: Reals) -> Mapping[str, Reals]:
        return {**by_losses.scores(sums[..., :3]), "accuracy": sums[..., 3] / sums[..., 4]}

    own = Measure(np.concatenate([by_losses.statistics, right], axis=1), scores)  # [E, 5]
    measures = {THIS_MODEL: own, baseline: _of_losses(of.unigram, of.tokens, sizes)}
    values = {name: measure.values() for name, measure in measures.items()}
    return Scores(round(float(of.tokens.sum())), "tokens", values, measures=measures)


def by_trigram(train: PairSource, source: PairSource, *, start: int, vocabulary: int, limit: int | None) -> Scores:
    """The scores of the same replies by trigrams of the training replies, without the turns before them."""
    counted = Trigram(_one_after_another(train.targets, start)[:MOST_COUNTED], vocabulary)
    pairs = measured_pairs(source, limit)
    ids, of, place = source.targets.joined(pairs)  # [n], [n], [n]
    stream = np.insert(ids.astype(np.int64), np.flatnonzero(place == 0), start)  # [n + E]
    at = np.arange(len(ids)) + of + 1  # where each token is now
    last = stream[at - 1]
    before = np.where(at > 1, stream[at - 2], -1)  # behind a beginning: the end of the reply before it
    losses = -np.log(counted.probability(before, last, stream[at]))  # [n]
    sums = np.bincount(of, losses, len(pairs)).astype(np.float64)  # [E]
    tokens = np.bincount(of, minlength=len(pairs)).astype(np.float64)  # [E]
    measure = _of_losses(sums, tokens, _bytes(source, pairs))
    return Scores(len(ids), "tokens", {THIS_MODEL: measure.values()}, measures={THIS_MODEL: measure})


def _of_losses(losses: Reals, tokens: Reals, sizes: Reals) -> Measure:
    """Loss, perplexity and bits per byte of replies with these losses [E], numbers of tokens [E] and bytes [E]."""

    def scores(sums: Reals) -> Mapping[str, Reals]:
        loss = sums[..., 0] / sums[..., 1]
        bits = sums[..., 0] / math.log(2) / sums[..., 2]
        return {"loss": loss, "perplexity": np.exp(np.minimum(loss, 700.0)), "bits_per_byte": bits}

    return Measure(np.stack([losses, tokens, sizes], axis=1), scores)  # [E, 3]


def _bytes(source: PairSource, pairs: Integers) -> Reals:
    targets = source.examples.targets
    return np.array([len(targets[pair].encode("utf-8", "surrogatepass")) for pair in pairs.tolist()], np.float64)


def _one_after_another(replies: Flat, start: int) -> Integers:
    """All tokens, each reply behind the token that it begins with. [N]"""
    return np.insert(replies.values.astype(np.int64), replies.offsets[:-1], start)
