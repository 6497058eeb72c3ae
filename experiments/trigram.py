"""The guess of somebody who looks at both neighbours of a masked word and counts.

N tokens of the text, or asked places · B rows · S tokens
"""

from __future__ import annotations

import numpy as np

from glassformer.data.batches.batch import Flags, Integers
from glassformer.data.stores.store import TokenStore
from glassformer.scoring.score import Reals, Unigram
from glassformer.text.tokenizer import Tokenizer

# Trigrams are counted in memory, about 60 bytes each at most.
_MOST_TOKENS = 50_000_000


class TrigramBaseline:
    """How likely a token is between its neighbours, counted in the training text.

    A pair of neighbours backs off to each of them alone, and these to the frequency of the token, with the weights of
    Witten & Bell (1991): (count(word) + kinds · lower) / (count + kinds), where `kinds` is how many different words the
    context was seen with. The guess is the word seen most often between the two neighbours, or else the likelier of
    those seen next to either of them. It sees the text as the model does: a masked neighbour is a context
    that was never seen.
    """

    name = "trigram"

    def __init__(self, ids: Integers, left: Integers, right: Integers, vocabulary: int) -> None:
        base = vocabulary + 1  # one more for the edge of a text without special tokens
        self._base = base
        self._unigram = Unigram.count(ids, vocabulary)
        self._left = _Contexts(left, ids, base)
        self._right = _Contexts(right, ids, base)
        self._both = _Contexts(left * base + right, ids, base)

    @classmethod
    def count(cls, store: TokenStore, tokenizer: Tokenizer, *, limit: int = _MOST_TOKENS) -> TrigramBaseline:
        """Count the first `limit` tokens of a training text; documents are framed as the model sees them."""
        vocabulary = tokenizer.vocabulary_size
        before, after = tokenizer.frame_ids
        ids = np.asarray(store.ids[:limit], np.int64)  # [N]
        starts, ends = np.asarray(store.offsets[:-1]), np.asarray(store.offsets[1:]) - 1
        left, right = np.roll(ids, 1), np.roll(ids, -1)
        left[starts[starts < len(ids)]] = before[-1] if before else vocabulary
        right[ends[(ends >= 0) & (ends < len(ids))]] = after[0] if after else vocabulary
        return cls(ids, left, right, vocabulary)

    def guess(self, ids: Integers, places: Integers, labels: Integers) -> tuple[Reals, Flags]:
        """Loss of each label [N] and whether it was guessed [N], from what the model sees: `ids` [B, S]."""
        length = ids.shape[1]
        edge = self._base - 1
        column = places % length
        left = np.where(column > 0, ids.ravel()[places - 1], edge)  # [N]
        right = np.where(column < length - 1, ids.ravel()[np.minimum(places + 1, ids.size - 1)], edge)  # [N]
        both = left * self._base + right

        best_left, best_right = self._left.best(left), self._right.best(right)  # [N], -1 = never seen
        one_sided = np.where(
            self._next_to(left, right, best_left) >= self._next_to(left, right, best_right), best_left, best_right
        )
        frequent = self._unigram.counts.argmax()
        between = self._both.best(both)
        guessed = np.where(between >= 0, between, np.where(one_sided >= 0, one_sided, frequent))
        probability = self._both.probability(both, labels, self._next_to(left, right, labels))
        return -np.log(probability), guessed == labels

    def _next_to(self, left: Integers, right: Integers, words: Integers) -> Reals:
        """How likely words are next to one neighbour: the mean of both sides, or the side that was seen. [N]."""
        lower = self._unigram.probability(np.maximum(words, 0))
        sides = [(self._left.seen(left), self._left.probability(left, words, lower))]
        sides.append((self._right.seen(right), self._right.probability(right, words, lower)))
        known = sum(seen.astype(np.float64) for seen, _ in sides)
        total = sum(np.where(seen, probability, 0.0) for seen, probability in sides)
        result: Reals = np.where(known > 0, total / np.maximum(known, 1), lower)
        return np.where(words >= 0, result, -1.0)


class _Contexts:
    """Which words were seen in which context, and how often."""

    def __init__(self, contexts: Integers, words: Integers, base: int) -> None:
        self._base = base
        self._keys, self._counts = np.unique(contexts * base + words, return_counts=True)
        of_key = self._keys // base
        self._contexts, first = np.unique(of_key, return_index=True)
        self._totals = np.add.reduceat(self._counts, first) if len(first) else self._counts
        self._kinds = np.diff(np.append(first, len(self._keys)))
        most_frequent_first = np.lexsort((-self._counts, of_key))
        self._best = self._keys[most_frequent_first][first] % base

    def seen(self, contexts: Integers) -> Flags:
        """Whether each context occurs."""
        return self._find(self._contexts, contexts)[1]

    def best(self, contexts: Integers) -> Integers:
        """The most frequent word of each context, -1 for one that was never seen."""
        place, found = self._find(self._contexts, contexts)
        return np.where(found, self._best[place], -1)

    def probability(self, contexts: Integers, words: Integers, lower: Reals) -> Reals:
        """How likely each word is in its context, mixed with `lower`."""
        place, found = self._find(self._contexts, contexts)
        key_place, key_found = self._find(self._keys, contexts * self._base + words)
        count = np.where(key_found, self._counts[key_place], 0)
        total, kinds = np.where(found, self._totals[place], 0), np.where(found, self._kinds[place], 1)
        result: Reals = (count + kinds * lower) / (total + kinds)
        return result

    @staticmethod
    def _find(among: Integers, wanted: Integers) -> tuple[Integers, Flags]:
        place = np.minimum(np.searchsorted(among, wanted), len(among) - 1)
        return place, among[place] == wanted
