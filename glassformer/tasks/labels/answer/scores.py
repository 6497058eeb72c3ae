"""How well questions were answered, beside what needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassformer.scoring.exact_match import answer_measure, exact_and_f1
from glassformer.scoring.score import THIS_MODEL, Scores
from glassformer.scoring.sliding_window import answer_by_overlap
from glassformer.tasks.labels.answer.answers import Answer

# Wrong answers that a report quotes.
_WORST = 10
# A question, its passage, and the answers that count as right, none where it has no answer.
Asked = tuple[str, str, tuple[str, ...]]


def answer_scores(asked: Sequence[Asked], answers: Sequence[Answer], *, threshold: float | None) -> Scores:
    """Exact match and F1, compared with overlapping words and, where some questions have no answer, with none."""
    right = [each for _, _, each in asked]
    found = {
        THIS_MODEL: [answer.text for answer in answers],
        "sliding window": [context[slice(*answer_by_overlap(question, context))] for question, context, _ in asked],
    }
    if not all(right):
        found["never answering"] = [""] * len(asked)
    measures = {name: answer_measure(texts, right) for name, texts in found.items()}
    of = {name: measure.values() for name, measure in measures.items()}
    windowed = sum(answer.windows > 1 for answer in answers)
    report = {"threshold": threshold, "windowed": windowed, "most_wrong": _most_wrong(right, answers)}
    return Scores(len(asked), "questions", of, shares=(), measures=measures, report=report)


def _most_wrong(right: Sequence[tuple[str, ...]], answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """The answers without a word of a right one, those of the highest score first."""
    wrong: list[dict[str, Any]] = [
        {"question": answer.question, "answer": answer.text, "right": list(gold), "score": answer.spans[0].score}
        for gold, answer in zip(right, answers, strict=True)
        if not exact_and_f1(answer.text, gold)[1]
    ]
    return sorted(wrong, key=lambda each: -each["score"])[:_WORST]
