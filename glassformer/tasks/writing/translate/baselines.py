"""Translations that need no network: the source itself, and the words that most target sentences have.

E sentences
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

# The most words of the answer that are kept with a model.
_KEPT = 200


class TargetWords:
    """Ignores what the source says: the words that most target sentences of the training data have, as many as its
    length leads to expect.

    A word stands in the answer a second time where more targets have it twice than have another word once, so that no
    other bag of so many words has more words in common with the targets (the matching 1-grams of BLEU). It is the
    unigram baseline of translations: what is above it was learned from the sources, or from the order of words.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.words: tuple[str, ...] = tuple(facts["words"])
        self.ratio: float = facts["ratio"]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        having = Counter[tuple[str, int]]()  # targets that have a word so many times
        characters = words = 0
        for source, target in pairs:
            there = Counter(target.split())
            having.update((word, time) for word, most in there.items() for time in range(1, most + 1))
            characters += len(source)
            words += there.total()
        usual = sorted(having.items(), key=lambda each: (-each[1], each[0]))[:_KEPT]
        return cls({"words": [word for (word, _), _ in usual], "ratio": words / max(1, characters)})

    def facts(self) -> dict[str, Any]:
        return {"words": list(self.words), "ratio": self.ratio}

    def translate(self, source: str) -> str:
        return " ".join(self.words[: max(1, round(self.ratio * len(source)))])


def copied(sources: Sequence[str]) -> list[str]:
    """The sources as their own translations: what names, numbers and marks are worth by themselves."""
    return list(sources)
