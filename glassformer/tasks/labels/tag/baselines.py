"""Tags that need no network: the most frequent one, and the one that each word mostly had in training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

from glassformer.tasks.labels.tag.records import Sentence

# Words whose tags are kept with a model: the most frequent ones.
_KEPT = 50_000


class TagBaselines:
    """How often each label was seen, and each word's usual label where that is not the most frequent one."""

    def __init__(self, labels: Sequence[str], facts: Mapping[str, Any] | None = None) -> None:
        self.labels = tuple(labels)
        self.label_counts: dict[str, int] = dict((facts or {}).get("labels", {}))
        self.of_words: dict[str, str] = dict((facts or {}).get("words", {}))

    @classmethod
    def of(cls, labels: Sequence[str], sentences: Sequence[Sentence], tags: Sequence[Sequence[str]]) -> Self:
        self = cls(labels)
        by_word: dict[str, Counter[str]] = {}
        for sentence, its in zip(sentences, tags, strict=True):
            for (start, end), tag in zip(sentence.words, its, strict=bool(its)):
                by_word.setdefault(sentence.text[start:end], Counter())[tag] += 1
        total = Counter(tag for its in tags for tag in its)
        self.label_counts = {label: total[label] for label in labels}
        usual = max(labels, key=total.__getitem__)
        frequent = sorted(by_word.items(), key=lambda each: (-each[1].total(), each[0]))[:_KEPT]
        mostly = ((word, max(sorted(counts), key=counts.__getitem__)) for word, counts in frequent)
        self.of_words = {word: tag for word, tag in mostly if tag != usual}
        return self

    def facts(self) -> dict[str, Any]:
        return {"labels": self.label_counts, "words": self.of_words}

    def tags(self, sentences: Sequence[Sequence[str]]) -> dict[str, list[tuple[str, ...]]]:
        """By baseline, the tags of each sentence's words; a word that was not seen has the most frequent label."""
        usual = max(self.labels, key=lambda label: self.label_counts.get(label, 0))
        return {
            "most frequent": [(usual,) * len(words) for words in sentences],
            "by word": [tuple(self.of_words.get(word, usual) for word in words) for words in sentences],
        }
