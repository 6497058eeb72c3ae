"""The TF-IDF baseline against scikit-learn put together by hand, and what it leaves out of large data."""

import time

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge

from glassformer.scoring import baselines
from glassformer.scoring.baselines import Lesson, TfIdf, repeated

GOOD, BAD = "a fine and lovely film", "a dull and awful film"
TEXTS = [f"{(GOOD, BAD)[n % 2]} number {n}" for n in range(40)]


def by_hand(texts: list[str], asked: list[str]) -> tuple[np.ndarray, np.ndarray]:
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    return vectorizer.fit_transform(texts), vectorizer.transform(asked)


def test_one_label_is_logistic_regression_on_tfidf() -> None:
    features, asked = by_hand(TEXTS, [GOOD, BAD])
    labels = [n % 2 for n in range(40)]
    expected = LogisticRegression(max_iter=200).fit(features, labels).predict_log_proba(asked)
    found = TfIdf([Lesson(text, None, n % 2) for n, text in enumerate(TEXTS)], 2)
    # The records are in another order, which moves the end of the fit by its own tolerance of 1e-4.
    assert list(found.guess([Lesson(GOOD, None, 0), Lesson(BAD, None, 1)])) == pytest.approx(expected, abs=2e-3)
    assert found.note == ""


def test_several_labels_have_a_regression_each() -> None:
    lessons = [Lesson(text, None, (0,) if n % 2 else (1, 2)) for n, text in enumerate(TEXTS)]
    (good,) = TfIdf(lessons, 4).guess([Lesson(GOOD, None, ())])
    features, asked = by_hand(TEXTS, [GOOD])
    expected = LogisticRegression(max_iter=200).fit(features, [n % 2 for n in range(40)]).decision_function(asked)
    assert good[0] == pytest.approx(expected[0], abs=5e-3)
    assert good[1] == good[2] == pytest.approx(-expected[0], abs=5e-3)
    assert good[3] == pytest.approx(np.log(0.5 / 40.5))  # nobody has it: its smoothed frequency


def test_a_number_is_ridge_regression() -> None:
    features, asked = by_hand(TEXTS, [GOOD, BAD])
    expected = Ridge(alpha=1.0).fit(features, [2.5 * (n % 2) for n in range(40)]).predict(asked)
    found = TfIdf([Lesson(text, None, 2.5 * (n % 2)) for n, text in enumerate(TEXTS)], 0)
    given = [each for (each,) in found.guess([Lesson(GOOD, None, 0.0), Lesson(BAD, None, 0.0)])]
    assert given == pytest.approx(expected, abs=1e-2)  # an iterative solver, tolerance 1e-4 of the residual


def test_a_pair_is_known_by_what_its_texts_share() -> None:
    words = [f"w{n}" for n in range(60)]
    lessons = [Lesson(f"{words[n]} x", f"{words[n if n % 2 else (n + 7) % 60]} x", n % 2) for n in range(60)]
    found = TfIdf(lessons, 2).guess([Lesson("unseen w3 x", "w3 x", 1), Lesson("unseen w3 x", "w8 x", 0)])
    assert [np.argmax(each) for each in found] == [1, 0]


def test_labels_it_has_not_seen_share_a_little_and_all_sum_to_one() -> None:
    found = TfIdf([Lesson(text, None, n % 2) for n, text in enumerate(TEXTS)], 5)
    (logs,) = found.guess([Lesson(GOOD, None, 0)])
    assert np.exp(logs).sum() == pytest.approx(1)
    assert np.exp(logs[2:]) == pytest.approx([1 / 45] * 3)
    (only,) = TfIdf([Lesson(text, None, 1) for text in TEXTS], 2).guess([Lesson(BAD, None, 0)])
    assert np.argmax(only) == 1


def test_texts_without_words_are_answered_by_frequency() -> None:
    lessons = [Lesson("!?", None, int(n > 2)) for n in range(9)]
    (logs,) = TfIdf(lessons, 2).guess([Lesson("...", None, 0)])
    assert np.argmax(logs) == 1


def test_what_a_fit_costs_is_bounded_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "_LABELS", 20)
    monkeypatch.setattr(baselines, "_RECORDS", 3000)
    monkeypatch.setattr(baselines, "_PRODUCTS", 60_000)
    lessons = [Lesson(f"word{n % 1000} and word{n % 7}", None, n % 1000) for n in range(20_000)]
    begin = time.process_time()
    found = TfIdf(lessons, 1000)
    (logs,) = found.guess([lessons[5]])
    assert time.process_time() - begin < 10  # seconds; of all of it minutes
    assert len(logs) == 1000
    assert np.isfinite(logs).all()
    assert "of 20,000 training records" in found.note
    assert "the 20 most frequent of 1,000 labels" in found.note


def test_repeats_are_counted_whatever_their_case() -> None:
    assert repeated(str, ["A b", "c"], ["a  B", "c", "d", "c"]) == 3


def test_the_strength_of_one_label_is_the_one_that_is_right_most_often() -> None:
    """One text in eight has a prize: with scikit-learn's C of 1 the other seven outvote it."""
    rng = np.random.default_rng(0)
    labels = [int(n % 8 == 0) for n in range(400)]
    texts = [" ".join([*(f"w{n}" for n in rng.integers(0, 40, 6)), *["prize"] * label]) for label in labels]
    features, asked = by_hand(texts[:320], texts[320:])
    right = {
        c: float(LogisticRegression(C=c, max_iter=200).fit(features, labels[:320]).score(asked, labels[320:]))
        for c in (1, 10, 100)
    }
    assert right[1] < right[10] <= right[100] == 1.0
    lessons = [Lesson(text, None, label) for text, label in zip(texts, labels, strict=True)]
    found = np.array(list(TfIdf(lessons[:320], 2).guess(lessons[320:])))
    assert (found.argmax(axis=1) == labels[320:]).mean() >= right[10]
