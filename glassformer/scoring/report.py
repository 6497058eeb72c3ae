"""Parts of `Scores.report`, plain lists and words for JSON: confusion matrix, scores by label, the worst examples."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# The labels of a confusion matrix; with more of them the pairs that are confused most often are listed.
MATRIX_LABELS = 12
# Labels, confused pairs and examples that a report lists, and the characters of a quoted text.
LABELS, PAIRS, WORST, QUOTED = 30, 15, 10, 160
QUOTES = "this quotes rows of the data; leave it out where they are private: --no-examples"
QUOTING = ("quotes", "worst", "most_wrong")
"""The parts of a report that quote rows of the data."""


def confusion(true: Sequence[int], guessed: Sequence[int], names: Sequence[str]) -> dict[str, Any]:
    """`confusion`, how often each label (row) was guessed as each (column); `confused`, the most frequent errors."""
    counts = Counter(zip(true, guessed, strict=True))
    wrong = [(pair, count) for pair, count in counts.items() if pair[0] != pair[1]]
    worst = sorted(wrong, key=lambda each: (-each[1], each[0]))[:PAIRS]
    found: dict[str, Any] = {
        "confused": [{"label": names[one], "guessed": names[two], "count": count} for (one, two), count in worst]
    }
    if len(names) <= MATRIX_LABELS:
        places = range(len(names))
        found["confusion"] = {"labels": list(names), "counts": [[counts[one, two] for two in places] for one in places]}
    return found


def by_label(
    true: Iterable[Sequence[int]], guessed: Iterable[Sequence[int]], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Precision, recall and F1 of the labels that occur most, at most LABELS of them."""
    both, ours, theirs = Counter[int](), Counter[int](), Counter[int]()
    for right, found in zip(true, guessed, strict=True):
        theirs.update(right)
        ours.update(found)
        both.update(set(right) & set(found))
    most = sorted(set(ours) | set(theirs), key=lambda label: (-theirs[label], label))[:LABELS]
    return [
        {
            "label": names[label],
            "count": theirs[label],
            "precision": both[label] / ours[label] if ours[label] else None,
            "recall": both[label] / theirs[label] if theirs[label] else None,
            "f1": 2 * both[label] / (ours[label] + theirs[label]),
        }
        for label in most
    ]


class Worst:
    """The examples with the largest errors, WORST of them."""

    def __init__(self) -> None:
        self._kept: list[tuple[float, int, dict[str, Any]]] = []
        self._number = 0

    def add(self, error: float, example: Any, values: Mapping[str, Any]) -> None:
        self._number += 1
        if len(self._kept) == WORST and error <= self._kept[0][0]:
            return
        texts = {"text": quoted(example.text)} | ({} if example.pair is None else {"pair": quoted(example.pair)})
        push = heapq.heappush if len(self._kept) < WORST else heapq.heappushpop
        push(self._kept, (error, -self._number, {**texts, **values}))

    def report(self) -> dict[str, Any]:
        if not self._kept:
            return {}
        return {
            "quotes": QUOTES,
            "worst": [values for _, _, values in sorted(self._kept, key=lambda each: each[:2])[::-1]],
        }


def quoted(text: str) -> str:
    text = " ".join(text[: 4 * QUOTED].split())
    return text if len(text) <= QUOTED else text[: QUOTED - 1] + "…"
