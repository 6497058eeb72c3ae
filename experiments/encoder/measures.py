"""Scores of saved predictions, counted the same way for every system, and their paired bootstrap.

E examples · K statistics of an example · L labels
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.encoder.plan import Plan
from experiments.encoder.sets import Record
from glassformer.scoring.score import Interval, Measure, Reals

Statistics = tuple[Reals, Callable[[Reals], Mapping[str, Reals]]]


def measure(plan: Plan, test: Sequence[Record], seeds: Sequence[Sequence[Any]]) -> Measure:
    """The scores of predictions [E] of one or more seeds: sums over examples of the mean over the seeds."""
    found = [_STATISTICS[plan.kind](plan, test, predictions) for predictions in seeds]
    return Measure(np.mean([statistics for statistics, _ in found], axis=0), found[0][1])


def verdict(difference: Interval) -> str:
    """In words, what a 95 % interval of ours minus the peer's says. Not worse: the interval is not wholly below 0."""
    if difference.low > 0:
        return "better"
    return "worse" if difference.high < 0 else "not worse"


def _classify(plan: Plan, test: Sequence[Record], predictions: Sequence[Any]) -> Statistics:
    right = [[record["label"] == found, 1] for record, found in zip(test, predictions, strict=True)]
    labels = [plan.positive] if plan.positive is not None else sorted({record["label"] for record in test})
    counts = _counts([({r["label"]}, {found}) for r, found in zip(test, predictions, strict=True)], labels)
    name = "macro F1" if plan.positive is None else f"F1 of {plan.positive}"

    def scores(sums: Reals) -> dict[str, Reals]:
        return {"accuracy": sums[..., 0] / sums[..., 1], name: _f1_of_each(sums[..., 2:], len(labels)).mean(axis=-1)}

    return np.concatenate([np.array(right, np.float64), counts], axis=1), scores


def _several(plan: Plan, test: Sequence[Record], predictions: Sequence[Any]) -> Statistics:
    labels = sorted({label for record in test for label in record["labels"]})
    pairs = [(set(record["labels"]), set(found)) for record, found in zip(test, predictions, strict=True)]
    same = np.array([[right == found, 1] for right, found in pairs], np.float64)

    def scores(sums: Reals) -> dict[str, Reals]:
        each = sums[..., 2:].reshape(*sums.shape[:-1], len(labels), 3)
        return {
            "micro F1": _f1(each.sum(axis=-2)),
            "macro F1": _f1(each).mean(axis=-1),
            "all labels right": sums[..., 0] / sums[..., 1],
        }

    return np.concatenate([same, _counts(pairs, labels)], axis=1), scores


def _regress(plan: Plan, test: Sequence[Record], predictions: Sequence[Any]) -> Statistics:
    from scipy.stats import rankdata

    right, found = np.array([record["label"] for record in test], np.float64), np.array(predictions, np.float64)

    def moments(one: Reals, two: Reals) -> Reals:
        one, two = one - one.mean(), two - two.mean()  # against cancellation; it changes no correlation
        return np.stack([np.ones_like(one), one, two, one * one, two * two, one * two], axis=1)  # [E, 6]

    def correlation(sums: Reals) -> Reals:
        n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
        value: Reals = (n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y))
        return value

    # The ranks are those among all examples, in each bootstrap sample too.
    statistics = np.concatenate([moments(right, found), moments(rankdata(right), rankdata(found))], axis=1)
    return statistics, lambda sums: {
        "Pearson": correlation(sums[..., :6]),
        "Spearman": correlation(sums[..., 6:]),
    }


def _choose(plan: Plan, test: Sequence[Record], predictions: Sequence[Any]) -> Statistics:
    right = [[record["label"] == found, 1] for record, found in zip(test, predictions, strict=True)]
    return np.array(right, np.float64), lambda sums: {"accuracy": sums[..., 0] / sums[..., 1]}


def _tag(plan: Plan, test: Sequence[Record], predictions: Sequence[Any]) -> Statistics:
    rows = []
    for record, found in zip(test, predictions, strict=True):
        right = record["tags"]
        if len(found) != len(right):
            raise ValueError(f"row {record['id']}: {len(found)} tags for {len(right)} words")
        theirs, ours = Counter(entities(right)), Counter(entities(found))
        hits = sum((theirs & ours).values())
        rows.append(
            [
                sum(one == two for one, two in zip(right, found, strict=True)),
                len(right),
                hits,
                sum(ours.values()) - hits,
                sum(theirs.values()) - hits,
            ]
        )

    def scores(sums: Reals) -> dict[str, Reals]:
        accuracy = {"accuracy": sums[..., 0] / sums[..., 1]}
        return {**accuracy, "entity F1": _f1(sums[..., 2:])} if bio else accuracy

    bio = any(tag.startswith("B-") for record in test for tag in record["tags"])
    return np.array(rows, np.float64), scores


def _answer(plan: Plan, test: Sequence[Record], predictions: Sequence[Any]) -> Statistics:
    rows = []
    for record, found in zip(test, predictions, strict=True):
        golds = [answer["text"] for answer in record["answers"]] or [""]
        rows.append([max(f(gold, found) for gold in golds) for f in (exact_match, word_f1)] + [1.0])
    return np.array(rows, np.float64), lambda sums: {
        "exact match": sums[..., 0] / sums[..., 2],
        "F1": sums[..., 1] / sums[..., 2],
    }


_STATISTICS: dict[str, Callable[[Plan, Sequence[Record], Sequence[Any]], Statistics]] = {
    "classify": _classify,
    "several": _several,
    "regress": _regress,
    "choose": _choose,
    "tag": _tag,
    "answer": _answer,
}


def exact_match(gold: str, found: str) -> float:
    """1 where both are the same words, as SQuAD's official script compares them."""
    return float(_words(gold) == _words(found))


def word_f1(gold: str, found: str) -> float:
    """F1 of the words of an answer, as SQuAD's official script counts it."""
    one, two = _words(gold), _words(found)
    if not one or not two:
        return float(one == two)
    return 2 * sum((Counter(one) & Counter(two)).values()) / (len(one) + len(two))


def _words(answer: str) -> list[str]:
    """Lower case, without punctuation and articles."""
    plain = "".join(letter for letter in answer.lower() if letter not in string.punctuation)
    return [word for word in re.sub(r"\b(a|an|the)\b", " ", plain).split() if word]


def entities(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Type, first word and last word of each entity, as conlleval and `seqeval` (its default mode) count them: an
    inside tag without a beginning begins one.
    """
    found, kind, start = [], "", 0
    for number, tag in enumerate([*tags, "O"]):
        part, _, of = tag.partition("-")
        if kind and (part != "I" or of != kind):
            found.append((kind, start, number - 1))
            kind = ""
        if part in ("B", "I") and not kind:
            kind, start = of, number
    return found


def _counts(pairs: Sequence[tuple[set[str], set[str]]], labels: Sequence[str]) -> Reals:
    """For each label right, wrong and missed [E, 3 L], from the right and the predicted labels of each example."""
    rows = [
        [
            count
            for label in labels
            for count in (label in right and label in got, label not in right and label in got, label in right - got)
        ]
        for right, got in pairs
    ]
    return np.array(rows, np.float64)


def _f1_of_each(counts: Reals, labels: int) -> Reals:
    return _f1(counts.reshape(*counts.shape[:-1], labels, 3))


def _f1(counts: Reals) -> Reals:
    """F1 from right, wrong and missed [..., 3]; 0 where there is none of them, as scikit-learn has it."""
    right, wrong, missed = counts[..., 0], counts[..., 1], counts[..., 2]
    total = 2 * right + wrong + missed
    value: Reals = np.divide(2 * right, total, out=np.zeros_like(total), where=total > 0)
    return value
