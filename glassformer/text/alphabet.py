"""The letters of a text, counted while it is kept for a second reading.

The library's WordPiece trainer numbers the letters inside words ("##a") in the order of a hash table, which is another
one in each process; equal counts are then merged in another order. Naming these letters beforehand, most frequent
first, makes the same text give the same tokenizer.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import tokenizers

# Scripts with thousands of letters would fill the vocabulary; BERT's trainer keeps as many.
LIMIT = 1000

# Texts larger than this wait on disk, not in memory.
_IN_MEMORY = 64 << 20


@contextmanager
def read_twice(texts: Iterable[str]) -> Iterator[tuple[Counter[str], Iterator[str]]]:
    """The letters of the texts with their counts, and the texts once more."""
    letters: Counter[str] = Counter()
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as kept:
        for text in texts:
            letters.update(text)
            kept.write(json.dumps(text).encode() + b"\n")
        kept.seek(0)
        yield letters, (json.loads(line) for line in kept)


def inner_letters(letters: Counter[str], backend: tokenizers.Tokenizer) -> list[str]:
    """The letters that can stand inside a word, as the tokenizer writes them, most frequent first."""
    inner: Counter[str] = Counter()
    for letter, count in letters.items():
        word = backend.normalizer.normalize_str(f"a{letter}a")
        if len(backend.pre_tokenizer.pre_tokenize_str(word)) == 1:
            for written in word[1:-1]:
                inner[written] += count
    return sorted(sorted(inner), key=lambda letter: -inner[letter])[:LIMIT]
