"""Exact match and F1 of answers, by hand and against a slow statement of the definition; the no-answer threshold."""

import random
import re
import string
from itertools import pairwise

import numpy as np
import pytest

from glassformer.scoring.exact_match import answer_by_overlap, answer_measure, best_threshold, exact_and_f1, normalized


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The Eiffel Tower!", "eiffel tower"),
        ("  a\tcat\n and  the dog ", "cat and dog"),
        ("U.S.A.", "usa"),  # punctuation goes before articles are looked for: "u s a" would lose one
        ("A-to-Z", "atoz"),
        ("the the An a", ""),
        ("theory of a theatre", "theory of theatre"),
        ("«Année» – 1€", "«année» – 1€"),  # only ASCII punctuation
        ("don't", "dont"),
        ("A.", ""),
        ("", ""),
    ],
)
def test_what_is_left_of_an_answer(text: str, left: str) -> None:
    assert normalized(text) == left


@pytest.mark.parametrize(
    ("prediction", "gold", "exact", "f1"),
    [
        ("the cat", ["A cat."], 1, 1),
        ("black cat", ["cat"], 0, 2 / 3),
        ("cat cat", ["cat"], 0, 2 / 3),  # a word counts as often as it is there
        ("cat cat", ["cat cat dog"], 0, 4 / 5),
        ("dog", ["cat", "big dog", "hot dog stand"], 0, 2 / 3),  # the largest over the right answers
        ("big dog", ["cat", "Big dog"], 1, 1),
        ("dog", ["cat"], 0, 0),
        ("", [], 1, 1),  # no answer, and none is right
        ("dog", [], 0, 0),
        ("", ["dog"], 0, 0),
        ("the", ["dog"], 0, 0),
        ("the", ["a"], 1, 1),  # nothing is left of the right answer: as no answer
        ("", ["a", "dog"], 0, 0),  # the one of which nothing is left does not count
    ],
)
def test_scores_of_an_answer(prediction: str, gold: list[str], exact: float, f1: float) -> None:
    assert exact_and_f1(prediction, gold) == pytest.approx((exact, f1))


def slow_f1(prediction: str, right: str) -> float:
    """By taking one word after another out of the right answer."""

    def words(text: str) -> list[str]:
        kept = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
        return [word for word in re.split(r"\s+", kept) if word not in ("a", "an", "the", "")]

    found, left = words(prediction), words(right)
    if not found or not left:
        return float(found == left)
    same, total = 0, len(left)
    for word in found:
        if word in left:
            left.remove(word)
            same += 1
    return 0.0 if not same else 2 * (same / len(found)) * (same / total) / (same / len(found) + same / total)


def test_f1_is_that_of_its_definition_on_many_random_answers() -> None:
    draw = random.Random(0)
    words = ["the", "a", "cat", "Cat", "dog,", "(dog)", "U.S.", "an", "10th", "--", "über"]
    for _ in range(2000):
        prediction, right = (" ".join(draw.choices(words, k=draw.randint(0, 5))) for _ in range(2))
        exact, f1 = exact_and_f1(prediction, [right])
        assert f1 == pytest.approx(slow_f1(prediction, right))
        assert exact == (sorted(normalized(prediction)) == sorted(normalized(right)) and f1 == 1) or f1 == 1


def test_scores_of_both_kinds_of_questions_apart() -> None:
    measure = answer_measure(["cat", "", "dog", ""], [("the cat",), ("cat",), (), ()])
    assert measure.values() == {
        "exact_match": 0.5,
        "f1": 0.5,
        "has_answer_exact_match": 0.5,
        "has_answer_f1": 0.5,
        "no_answer_accuracy": 0.5,
    }
    assert answer_measure(["cat"], [("black cat",)]).values() == {"exact_match": 0, "f1": pytest.approx(2 / 3)}
    assert len(measure) == 4
    assert 0 <= measure.intervals(samples=50)["f1"].low <= 0.5


def test_the_threshold_is_the_best_of_all() -> None:
    draw = np.random.default_rng(3)
    for _ in range(50):
        scores = draw.integers(-4, 5, 12).astype(float).tolist()
        gains = draw.choice([-1.0, -0.25, 0.5, 1.0], 12).tolist()
        tried = sorted({*scores, *(score - 0.5 for score in scores)})
        totals = [sum(gain for gain, score in zip(gains, scores, strict=True) if score > least) for least in tried]
        chosen = best_threshold(scores, gains)
        found = sum(gain for gain, score in zip(gains, scores, strict=True) if score > chosen)
        assert found == pytest.approx(max([*totals, 0.0]))


def test_of_equally_good_thresholds_the_highest() -> None:
    """Against trying each threshold between two scores, from the highest down."""
    draw = np.random.default_rng(4)
    ties = 0
    for _ in range(100):
        scores = draw.integers(-4, 5, 8).astype(float).tolist()
        gains = draw.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 8).tolist()
        levels = sorted(set(scores), reverse=True)
        between = [(higher + lower) / 2 for higher, lower in pairwise([*levels, levels[-1] - 2.0])]
        tried = [levels[0], *between]
        totals = [sum(gain for gain, score in zip(gains, scores, strict=True) if score > least) for least in tried]
        ties += totals.count(max(totals)) > 1
        assert best_threshold(scores, gains) == tried[totals.index(max(totals))]
    assert ties > 10


def test_the_words_among_the_words_of_the_question() -> None:
    context = "Rollo led the Norse from 911 on. Long after this, duke William of Normandy conquered England in 1066."
    start, end = answer_by_overlap("Who led the Norse?", context)
    assert context[start:end] == "Rollo"
    assert answer_by_overlap("Who?", "the of") == (0, 0)
