"""Passages: single sentences of a text, or some of one document that follow each other.

D documents · E sentences
"""

import numpy as np

from glassformer.data.batches.batch import Integers, key_of, uniform
from glassformer.data.stores.store import TokenStore


def passages(store: TokenStore, joined: float, seed: int) -> Integers:
    """The tokens at which passages begin: at each document, and at each sentence, but for a random share `joined`."""
    sentences = np.asarray(store.sentences)  # [E]
    if not joined:
        return sentences
    alone = uniform(key_of("passages", seed), sentences) >= joined  # [E]
    return sentences[alone | np.isin(sentences, store.offsets[:-1])]
