"""Exact match and F1 of answers, as the SQuAD scripts count them (Rajpurkar et al. 2016 §6.1; 2018 for no answer).

Where the scripts of 1.1 and 2.0 differ, for answers that normalize to nothing, 2.0 is followed.

E questions
"""

import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from glassformer.scoring.score import Measure, Reals

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """Lower case, without ASCII punctuation and the words a, an, the; single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def exact_and_f1(prediction: str, gold: Sequence[str]) -> tuple[float, float]:
    """Exact match (0 or 1) and F1 over words, the largest of each over the right answers. Where there is no right
    answer, or none has words, the question has no answer: then the empty prediction is right.
    """
    found = normalized(prediction)
    right = [each for each in map(normalized, gold) if each] or [""]
    return float(found in right), max(_f1(found.split(), each.split()) for each in right)


def _f1(found: list[str], right: list[str]) -> float:
    if not found or not right:
        return float(found == right)
    common = (Counter(found) & Counter(right)).total()
    return 2 * common / (len(found) + len(right))


def answer_measure(predictions: Sequence[str], gold: Sequence[Sequence[str]]) -> Measure:
    """`exact_match` and `f1` between 0 and 1, and where some questions have an answer and some have none, the same over
    those with one (`has_answer_…`), and the share of the others that got no answer (`no_answer_accuracy`). The
    statistics of a question [E, 6]: exact match, F1, 1; and the same three again where it has an answer, else 0.
    """
    rows = []
    for prediction, right in zip(predictions, gold, strict=True):
        exact, f1 = exact_and_f1(prediction, right)
        has = float(bool(right))
        rows.append((exact, f1, 1.0, exact * has, f1 * has, has))
    statistics = np.array(rows, np.float64).reshape(-1, 6)  # [E, 6]
    answerable = int(statistics[:, 5].sum())
    if not 0 < answerable < len(rows):
        return Measure(statistics, _overall)
    answered = {"has_answer_exact_match": answerable, "has_answer_f1": answerable}
    return Measure(statistics, _with_kinds, counts={**answered, "no_answer_accuracy": len(rows) - answerable})


def _overall(sums: Reals) -> Mapping[str, Reals]:
    return {"exact_match": sums[..., 0] / sums[..., 2], "f1": sums[..., 1] / sums[..., 2]}


def _with_kinds(sums: Reals) -> Mapping[str, Reals]:
    with np.errstate(invalid="ignore", divide="ignore"):  # a bootstrap sample may have one kind only
        return {
            **_overall(sums),
            "has_answer_exact_match": sums[..., 3] / sums[..., 5],
            "has_answer_f1": sums[..., 4] / sums[..., 5],
            "no_answer_accuracy": (sums[..., 0] - sums[..., 3]) / (sums[..., 2] - sums[..., 5]),
        }


def best_threshold(scores: Sequence[float], gains: Sequence[float]) -> float:
    """The threshold with the largest sum of `gains` above it, halfway between two scores, the highest of equals."""
    order = sorted(range(len(scores)), key=lambda number: -scores[number])
    best, total, threshold = 0.0, 0.0, scores[order[0]] if order else 0.0
    for place, number in enumerate(order):
        total += gains[number]
        following = scores[order[place + 1]] if place + 1 < len(order) else scores[number] - 2.0
        if following < scores[number] and total > best:
            best, threshold = total, (scores[number] + following) / 2
    return threshold


# Words on either side of a candidate whose overlap with the question counts, near ones several times, and the most
# words of a candidate.
_AROUND, _LONGEST = (3, 6, 12), 4
_WORD = re.compile(r"\w+")
# Words that are everywhere: neither an answer nor a reason for one.
_EVERYWHERE = """
    a an the of in on at to for from by with and or but as is are was were be been has have had do does did it its he
    she his her they their them this that these those which who whom what when where why how not also than then
"""
_FUNCTION_WORDS = frozenset(_EVERYWHERE.split())


def answer_by_overlap(question: str, context: str) -> tuple[int, int]:
    """The span [start, end) with most question words near it, rare ones counting more; (0, 0) without any."""
    words = [(found.group().lower(), found.start(), found.end()) for found in _WORD.finditer(context)]
    counts = Counter(word for word, _, _ in words)
    asked = {word for word in map(str.lower, _WORD.findall(question)) if word not in _FUNCTION_WORDS}
    weights = [math.log1p(1 / counts[word]) if word in asked else 0.0 for word, _, _ in words]
    sums = np.concatenate([[0.0], np.cumsum(weights)])  # [N + 1]
    best, chosen, begin = -1.0, (0, 0), 0
    for place in range(len(words) + 1):
        other = place < len(words) and words[place][0] not in asked and words[place][0] not in _FUNCTION_WORDS
        if other and place - begin < _LONGEST:
            continue
        if place > begin:
            near = sum(sums[min(len(words), place + more)] - sums[max(0, begin - more)] for more in _AROUND)
            if near > best:
                best, chosen = float(near), (words[begin][1], words[place - 1][2])
        begin = place if other else place + 1
    return chosen
