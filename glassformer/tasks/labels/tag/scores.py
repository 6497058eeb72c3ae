"""Scores of spans, as conlleval and seqeval count them: a span is right when its words and its label are.

E sentences · K statistics of a sentence · T labels of spans
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassformer.scoring.agreement import macro_f1
from glassformer.scoring.bio import TagSpan
from glassformer.scoring.measure import Measure, Reals

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
    """Precision, recall and F1 of all spans together, the mean of the labels' F1 (`macro_f1`), and the share of words
    with the right tag (`accuracy`); for each sentence the spans that are right, those that were found, how many words
    have the right tag, and how many it has.
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
