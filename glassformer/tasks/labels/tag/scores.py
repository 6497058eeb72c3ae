"""Scores of spans, as conlleval and seqeval count them: a span is right when its words and its label are.

E sentences · K statistics of a sentence · T labels of spans
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from glassformer.scoring.agreement import macro_f1
from glassformer.scoring.bio import TagSpan
from glassformer.scoring.score import Measure, Reals
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


# The confusions of a report: the most frequent.
_SHOWN = 10


def span_types(sentences: Sequence[Sequence[TagSpan]], more: Sequence[Sequence[TagSpan]]) -> tuple[str, ...]:
    return tuple(sorted({span.label for spans in (*sentences, *more) for span in spans}))


def span_measure(
    right: Sequence[Sequence[TagSpan]],
    found: Sequence[Sequence[TagSpan]],
    agreeing: Sequence[int],
    words: Sequence[int],
    types: Sequence[str],
) -> Measure:
    """Precision, recall and F1 of all spans, the labels' mean F1, and the share of words with the right tag. `agreeing`
    of the `words` of each sentence have it.
    """
    number = {label: place for place, label in enumerate(types)}
    statistics = np.zeros((len(right), 3 * len(types) + 2))  # [E, K]
    for row, mine, its, agree, count in zip(statistics, right, found, agreeing, words, strict=True):
        truth, guess = set(mine), set(its)
        for kind, spans in enumerate((truth & guess, guess - truth, truth - guess)):
            for span in spans:
                row[kind * len(types) + number[span.label]] += 1
        row[-2:] = agree, count
    occurring = statistics[:, : 3 * len(types)].sum(axis=0).reshape(3, len(types)).sum(axis=0) > 0  # [T]
    return Measure(statistics, lambda sums: _scores(sums, len(types), occurring))


def _scores(sums: Reals, types: int, occurring: Any) -> dict[str, Reals]:
    hits, extra, missed = (sums[..., kind * types : (kind + 1) * types] for kind in range(3))  # [..., T]
    precision, recall, f1 = rates(hits.sum(axis=-1), extra.sum(axis=-1), missed.sum(axis=-1))
    return {
        "f1": f1,
        "precision": precision,
        "recall": recall,
        "macro_f1": macro_f1(hits, 2 * hits + extra + missed, occurring),
        "accuracy": _share(sums[..., -2], sums[..., -1]),
    }


def rates(hits: Any, extra: Any, missed: Any) -> tuple[Reals, Reals, Reals]:
    """Precision, recall and F1 from counts of spans; 0 where nothing was found or is there, as in seqeval."""
    return _share(hits, hits + extra), _share(hits, hits + missed), _share(2 * hits, 2 * hits + extra + missed)


def _share(part: Any, whole: Any) -> Reals:
    whole = np.asarray(whole, np.float64)
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)


def by_type(measure: Measure, types: Sequence[str]) -> list[dict[str, Any]]:
    """Precision, recall, F1 and count of each label: rows of a table, the most frequent first."""
    sums = measure.sums
    hits, extra, missed = (sums[kind * len(types) : (kind + 1) * len(types)] for kind in range(3))
    columns = zip(types, *rates(hits, extra, missed), hits + missed, strict=True)
    rows = [
        {"label": label, "count": int(count), "precision": float(p), "recall": float(r), "f1": float(f)}
        for label, p, r, f, count in columns
    ]
    return sorted(rows, key=lambda row: -row["count"])


def confusions(right: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    counted = Counter(
        (mine, its)
        for truth, guess in zip(right, found, strict=True)
        for mine, its in zip(truth, guess, strict=True)
        if mine != its
    )
    return [{"label": mine, "guessed": its, "count": count} for (mine, its), count in counted.most_common(_SHOWN)]
