"""BM25 as the experiments count it, against its formula written out; and the place of a paragraph."""

from __future__ import annotations

import math

import pytest

from experiments.features.retrieval import Bm25, bm25_ranks

TEXTS = ["The cat sat on the mat.", "A dog sat.", "Cats and dogs: a cat, a cat!", "Nothing of this kind here at all"]


def test_bm25() -> None:
    words = [[word.strip(".,:!").lower() for word in text.split()] for text in TEXTS]
    mean = sum(map(len, words)) / 4
    for question in ("cat sat", "the the dog", "zebra"):
        for number, score in enumerate(Bm25(TEXTS).scores(question)):
            expected = 0.0
            for word in question.split():
                times, there = words[number].count(word), sum(word in each for each in words)
                idf = math.log(1 + (4 - there + 0.5) / (there + 0.5))
                expected += idf * times * 2.5 / (times + 1.5 * (0.25 + 0.75 * len(words[number]) / mean))
            assert score == pytest.approx(expected)
    assert bm25_ranks(TEXTS, ["a dog sat", "mat"], [1, 2])[0] == 1
    assert bm25_ranks(TEXTS, ["mat"], [0]) == [1]
