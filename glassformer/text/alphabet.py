"""Counts the letters of a text, and keeps the text for a second pass.

The library's WordPiece trainer numbers the letters inside words ("##a") in the order of a hash table, which differs
between processes; equal counts are then merged in another order. With these letters given in advance, most frequent
first, the same text always gives the same tokenizer.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import tokenizers

# Scripts with thousands of letters would fill the vocabulary; BERT's trainer keeps as many.
LIMIT = 1000

# Larger texts are kept on disk, not in memory.
_IN_MEMORY = 64 << 20


@contextmanager
def read_twice(texts: Iterable[str]) -> Iterator[tuple[Counter[str], Iterator[str]]]:
    """The letters of the texts with their counts, and the texts for a second pass."""
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
