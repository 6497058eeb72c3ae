"""How likely the next token is by the two before it: a baseline without a network.

N tokens · V vocabulary
"""

import numpy as np

from glassformer.scoring.score import Integers, Reals, Unigram


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
