"""The counts of the tables of the encoder's tasks, against independent libraries."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from seqeval.metrics import f1_score as entity_f1  # type: ignore[import-untyped]  # it bears no types
from sklearn.metrics import accuracy_score, f1_score

from experiments.encoder.measures import measure, verdict
from experiments.encoder.plan import Plan
from experiments.encoder.sets import Record
from glassformer.scoring.score import Interval

GENERATOR = np.random.default_rng(0)
LABELS = ["one", "two", "three"]
TAGS = ["O", "B-person", "I-person", "B-place", "I-place"]


def drawn(labels: list[str], count: int) -> list[str]:
    return [str(label) for label in GENERATOR.choice(labels, count)]


def scores(plan: Plan, test: list[Record], found: list[object]) -> dict[str, float]:
    return measure(plan, test, [found]).values()


def test_one_label() -> None:
    right, found = drawn(LABELS, 200), drawn(LABELS, 200)
    test = [{"label": label} for label in right]
    assert scores(Plan("classify"), test, list(found)) == pytest.approx(
        {"accuracy": accuracy_score(right, found), "macro F1": f1_score(right, found, average="macro")}
    )
    positive = f1_score(right, found, labels=["two"], average="micro")
    assert scores(Plan("classify", positive="two"), test, list(found))["F1 of two"] == pytest.approx(positive)


def test_several_labels() -> None:
    right, found = (GENERATOR.random((2, 100, 3)) < 0.4).tolist()
    named = [
        [[label for label, has in zip(LABELS, row, strict=True) if has] for row in side] for side in (right, found)
    ]
    values = scores(Plan("several"), [{"labels": row} for row in named[0]], list(named[1]))
    assert values["micro F1"] == pytest.approx(f1_score(right, found, average="micro"))
    assert values["macro F1"] == pytest.approx(f1_score(right, found, average="macro"))
    assert values["all labels right"] == pytest.approx(accuracy_score(right, found))


def test_numbers() -> None:
    right, found = GENERATOR.integers(0, 6, 150).astype(float), GENERATOR.random(150)
    values = scores(Plan("regress"), [{"label": value} for value in right], list(found))
    assert values == pytest.approx({"Pearson": pearsonr(right, found)[0], "Spearman": spearmanr(right, found)[0]})


def test_entities() -> None:
    right, found = ([drawn(TAGS, 12) for _ in range(80)] for _ in range(2))
    test = [{"id": "", "tags": tags} for tags in right]
    assert scores(Plan("tag"), test, list(found))["entity F1"] == pytest.approx(entity_f1(right, found))


def test_answers_are_compared_as_words_without_articles_and_signs() -> None:
    test: list[Record] = [
        {"answers": [{"text": "The Normans"}, {"text": "Danes"}]},
        {"answers": []},
        {"answers": [{"text": "two men"}]},
    ]
    values = scores(Plan("answer"), test, ["normans.", "", "three men"])
    assert values == pytest.approx({"exact match": 2 / 3, "F1": (1 + 1 + 0.5) / 3})


@pytest.mark.parametrize(
    ("low", "high", "said"), [(0.1, 0.2, "better"), (-0.1, 0.2, "not worse"), (-0.2, -0.1, "worse")]
)
def test_the_verdict_is_that_of_the_interval(low: float, high: float, said: str) -> None:
    assert verdict(Interval((low + high) / 2, low, high)) == said
