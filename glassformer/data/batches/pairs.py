"""Sentence pairs for next-sentence prediction, as google-research/bert prepares them (create_pretraining_data.py).

P pairs, B rows, S tokens of a row.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import ConfigError, DataError
from glassformer.data.batches.batch import Batch, Integers, random_bits
from glassformer.data.stores.store import TokenStore
from glassformer.text.tokenizer import Tokenizer

IS_NEXT, NOT_NEXT = 0, 1


# Two spans of tokens in the store, [start, end) each, and whether the second follows the first.
_Pair = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class SentencePairs:
    """All pairs of a text, cut in `duplicates` different ways: [P, 4] spans and [P] labels. [CLS] A [SEP] B [SEP] with
    segments 0 and 1. Label 0 = B follows A, 1 = B is from another document or, of `swapped` pairs, A follows B.
    """

    store: TokenStore
    length: int
    frame: tuple[int, int, int]
    pad_id: int
    stretches: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]

    @classmethod
    def prepare(
        cls,
        store: TokenStore,
        tokenizer: Tokenizer,
        length: int,
        *,
        seed: int,
        duplicates: int = 1,
        short: float = 0.1,
        unrelated: float = 0.5,
        swapped: bool = False,
    ) -> Self:
        """Cut documents into pairs of at most `length` tokens, a pure function of (store, seed).

        `short` is the share of documents cut to a random shorter length; `unrelated` the probability that B comes from
        another document. B always does where only one sentence is left, so that the real share is higher (C-21). With
        `swapped` all pairs are neighbours in the text, and `unrelated` is the probability that they are swapped
        (ALBERT, Lan et al. 2020, §3.1); a single sentence has no order and makes no pair. Raises DataError with fewer
        than two documents, or where no document has two sentences to put in order; ConfigError when `length` is too
        short for a pair.
        """
        first, separator = tokenizer.first_id, tokenizer.separator_id
        if first is None or separator is None:
            raise ConfigError("sentence pairs need a tokenizer with a first token and a separator", got="one without")
        if length < 5:
            raise ConfigError("a pair needs a length of at least 5 tokens", got=str(length))
        if store.documents < 2 and not swapped:
            raise DataError(
                "next-sentence prediction needs at least two documents",
                got=str(store.documents),
                do="separate documents by blank lines",
            )
        sentences = _Sentences(store)
        cut = _neighbours_of if swapped else _pairs_of
        pairs = [
            pair
            for copy in range(duplicates)
            for number in range(store.documents)
            for pair in cut(sentences, number, length - 3, _rng(seed, copy, number), short, unrelated)
        ]
        if not pairs:
            raise DataError("sentence order needs documents of several sentences", got="one sentence in each")
        table = np.array(pairs, np.int64).reshape(-1, 5)
        pad_id = tokenizer.pad_id or 0
        return cls(store, length, (first, separator, separator), pad_id, table[:, :4], table[:, 4])

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> Integers:
        """The tokens of each pair, the three special ones among them: [P]."""
        a_start, a_end, b_start, b_end = self.stretches.T
        return a_end - a_start + b_end - b_start + 3

    def rows(self, row_ids: Integers, length: int | None = None) -> Batch:
        """Pairs as rows padded to `length`, by default the longest possible: [B] -> arrays [B, S]."""
        length = self.length if length is None else length
        first, middle, last = self.frame
        a_start, a_end, b_start, b_end = self.stretches[row_ids].T[..., None]  # [B, 1] each
        a_size, b_size = a_end - a_start, b_end - b_start
        place = np.broadcast_to(np.arange(length), (len(row_ids), length))  # [B, S]
        in_a, in_b = (place >= 1) & (place <= a_size), (place > a_size + 1) & (place <= a_size + 1 + b_size)
        text = in_a | in_b
        index = np.where(in_b, b_start + place - a_size - 2, np.where(in_a, a_start + place - 1, 0))
        real = place <= a_size + b_size + 2
        ids = np.where(text, self.store.ids[index], self.pad_id).astype(np.int64)  # [B, S]
        ids[:, 0] = first
        ids[place == a_size + 1] = middle
        ids[place == a_size + b_size + 2] = last
        begins = self.store.words_begin(index) | (place == 1) | (place == a_size + 2)
        segments = np.where(real & (place > a_size + 1), 1, 0)
        return Batch.of_one_text(ids=ids, real=real, text=text, place=place, begins=begins, segments=segments)


class _Sentences:
    """Sentence i has the tokens bounds[i] … bounds[i + 1], document d the sentences first[d] … first[d + 1]."""

    def __init__(self, store: TokenStore) -> None:
        self.ids = store.ids
        self.bounds = array("q", np.append(store.sentences, len(store)).tobytes())
        self.first = array("q", np.searchsorted(store.sentences, store.offsets).tobytes())
        self.documents = store.documents

    def same(self, one: int, other: int) -> bool:
        """Whether two sentences have the same tokens."""
        begin, end, at, to = *self.bounds[one : one + 2], *self.bounds[other : other + 2]
        return end - begin == to - at and bool((self.ids[begin:end] == self.ids[at:to]).all())


def _rng(seed: int, copy: int, number: int) -> random.Random:
    return random.Random(int(random_bits(seed, copy, number)))


def _below(rng: random.Random, limit: int) -> int:
    """A whole number in [0, limit), by the only method of Random whose results Python guarantees never to change."""
    return int(rng.random() * limit)


def _pairs_of(
    sentences: _Sentences, document: int, limit: int, rng: random.Random, short: float, unrelated: float
) -> Iterator[_Pair]:
    """Gather sentences up to a target, divide them into A and B, and return those that a random B leaves unused."""
    target = 2 + _below(rng, limit - 1) if rng.random() < short else limit
    bounds, begin, last = sentences.bounds, sentences.first[document], sentences.first[document + 1]
    while begin < last:
        end = _enough(bounds, begin, last, target)
        cut = begin + 1 + (_below(rng, end - begin - 1) if end - begin > 2 else 0)
        a_start, a_end = bounds[begin], bounds[cut]
        if end - begin == 1 or rng.random() < unrelated:
            label, end = NOT_NEXT, cut
            found = _elsewhere(sentences, document, cut if cut < last else None, target - (a_end - a_start), rng)
            if found is None:
                begin = end
                continue
            b_start, b_end = found
        else:
            b_start, b_end, label = a_end, bounds[end], IS_NEXT
        yield *_shortened(a_start, a_end, b_start, b_end, limit, rng), label
        begin = end


def _neighbours_of(
    sentences: _Sentences, document: int, limit: int, rng: random.Random, short: float, share: float
) -> Iterator[_Pair]:
    """Gather at least two sentences up to a target, divide them into A and B, and let a share of them change places."""
    target = 2 + _below(rng, limit - 1) if rng.random() < short else limit
    bounds, begin, last = sentences.bounds, sentences.first[document], sentences.first[document + 1]
    while last - begin > 1:
        end = max(begin + 2, _enough(bounds, begin, last, target))
        cut = begin + 1 + _below(rng, end - begin - 1)
        a_start, a_end, b_start, b_end = _shortened(bounds[begin], bounds[cut], bounds[cut], bounds[end], limit, rng)
        swapped = rng.random() < share
        yield (b_start, b_end, a_start, a_end, NOT_NEXT) if swapped else (a_start, a_end, b_start, b_end, IS_NEXT)
        begin = end


def _enough(bounds: array[int], begin: int, last: int, wanted: int) -> int:
    """The end of the fewest sentences from `begin` on, at least one, that have the wanted number of tokens."""
    end = begin + 1
    while end < last and bounds[end] - bounds[begin] < wanted:
        end += 1
    return end


def _elsewhere(
    sentences: _Sentences, document: int, following: int | None, wanted: int, rng: random.Random
) -> tuple[int, int] | None:
    """Whole sentences from a random position of another document until there are enough tokens. They do not begin with
    a copy of the sentence that follows; None where ten draws in turn do.
    """
    for _ in range(10):
        other = _below(rng, sentences.documents - 1)
        other += other >= document
        first, last = sentences.first[other], sentences.first[other + 1]
        begin = first + _below(rng, last - first)
        if following is None or not sentences.same(begin, following):
            return sentences.bounds[begin], sentences.bounds[_enough(sentences.bounds, begin, last, wanted)]
    return None


def _shortened(
    a_start: int, a_end: int, b_start: int, b_end: int, limit: int, rng: random.Random
) -> tuple[int, int, int, int]:
    """Take tokens from the longer one, at its front or its back at random, until both fit."""
    while a_end - a_start + b_end - b_start > limit:
        front = rng.random() < 0.5
        if a_end - a_start > b_end - b_start:
            a_start, a_end = (a_start + 1, a_end) if front else (a_start, a_end - 1)
        else:
            b_start, b_end = (b_start + 1, b_end) if front else (b_start, b_end - 1)
    return a_start, a_end, b_start, b_end
