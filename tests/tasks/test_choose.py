"""Choosing among candidates: groups of different sizes, windows, labels, scores."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.base.errors import ConfigError, DataError
from glassformer.models.families import bert
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from glassformer.tasks.labels.choose.answers import Choice, Question
from glassformer.tasks.labels.choose.settings import ChooseData, ChooseSection
from glassformer.tasks.labels.choose.task import Choose
from glassformer.tasks.predictor import Context, predict
from glassformer.tasks.records import RecordSource
from glassformer.text.tokenizer import Tokenizer
from tests.contracts.families import random_weights


@pytest.fixture
def task(tokenizer: Tokenizer) -> Choose:
    return Choose(ChooseSection(), tokenizer, length=24, segments=True, places={2: (1, 3), 3: (4, 0, 0)})


@pytest.fixture
def model(task: Choose, tokenizer: Tokenizer) -> Transformer:
    body = bert(size="tiny", layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=24)
    return random_weights(build(task.model(body)), seed=3).double().eval()


@pytest.fixture
def questions(texts: list[str]) -> list[Question]:
    """Two to five candidates each, of very different lengths, some texts with several windows."""
    short = [text.split(".")[0] for text in texts]
    return [
        Question(texts[n] if n % 3 else short[n], tuple((short if n % 2 else texts)[n + 1 : n + 3 + n % 4]), n % 2)
        for n in range(14)
    ]


def score(model: Transformer, ids: Any, segments: Any) -> float:
    """One row alone, without padding."""

    inputs = Inputs(ids=torch.tensor([ids]), segments=torch.tensor([segments]))
    logits = model(inputs, heads=("sentence_head",)).sentence_logits
    assert logits is not None
    return logits[0, 0].item()


def by_hand(model: Transformer, task: Choose, question: Question) -> list[list[float]]:
    """For each window, the probabilities of the candidates."""
    found = []
    for group in task.groups(question):
        scores = [score(model, row.ids, row.segments) for row in group]
        total = sum(math.exp(each) for each in scores)
        found.append([math.exp(each) / total for each in scores])
    return found


def test_the_loss_is_that_of_a_softmax_over_each_group(
    task: Choose, model: Transformer, questions: list[Question]
) -> None:
    source = RecordSource(task, questions, length=24)
    assert source.rows_of_each == 5
    assert source.windowed > 0
    numbers = np.arange(len(source))
    batch = source.batch(numbers, np.zeros_like(numbers), shape=(5 * len(source) + 10, 24))
    windows = [by_hand(model, task, question) for question in questions]
    expected = sum(
        -math.log(chances[question.label or 0]) / len(its)
        for question, its in zip(questions, windows, strict=True)
        for chances in its
    )
    with torch.no_grad():
        (loss,) = task.losses(model, batch).values()
    assert float(loss) == pytest.approx(expected, abs=1e-6)  # the windows' weights are float32
    assert batch.counts == {"choice": pytest.approx(len(questions), abs=1e-6)}
    assert batch.tokens == sum(len(row.ids) for question in questions for row in task.rows(question))


def test_rows_that_fill_a_group_have_no_gradient(task: Choose, model: Transformer, questions: list[Question]) -> None:
    pair = next(question for question in questions if len(question.choices) == 2)
    gradients = []
    for more in ([], [next(question for question in questions if len(question.choices) == 5)]):
        source = RecordSource(task, [pair, *more], length=24)
        count = len(task.groups(pair))
        batch = source.batch(np.arange(count), np.zeros(count, np.int64), shape=(count * source.rows_of_each, 24))
        (loss,) = task.losses(model, batch).values()
        assert model.sentence_head is not None
        gradients.append(torch.autograd.grad(loss, list(model.sentence_head.parameters())))
    for alone, filled in zip(*gradients, strict=True):
        assert torch.isfinite(filled).all()
        assert (alone - filled).abs().max() < 1e-12  # float64, in batches of another shape


@pytest.mark.long
def test_probabilities_are_the_mean_over_the_windows(
    task: Choose, model: Transformer, questions: list[Question]
) -> None:
    for question, found in zip(questions, predict(task, model, questions), strict=True):
        windows = by_hand(model, task, question)
        mean = [sum(column) / len(windows) for column in zip(*windows, strict=True)]
        assert found.probabilities == pytest.approx(mean, abs=1e-12)
        assert (found.windows, found.index) == (len(windows), mean.index(max(mean)))
        assert (found.choices, found.choice) == (question.choices, question.choices[found.index])


def test_every_token_of_text_and_candidates_is_in_a_window(task: Choose, questions: list[Question]) -> None:
    for question in questions:
        groups = task.groups(question)
        assert sum(group[0].weight for group in groups) == pytest.approx(1)
        assert all(len(group) == len(question.choices) for group in groups)
        for place, choice in enumerate(question.choices):
            rows = [group[place] for group in groups]
            assert all(len(row.ids) <= 24 for row in rows)
            for segment, text in enumerate((question.text, choice)):
                seen = {
                    id_ for row in rows for id_, its in zip(row.ids, row.segments or (), strict=True) if its == segment
                }
                assert set(task.tokenizer.ids(text)) <= seen


@pytest.mark.parametrize(("label", "place"), [(0, 0), (2, 2), ("2", 2), ("likes", 1), (" 1 ", 1), (1.0, 1), ("10", 0)])
def test_a_label_is_a_place_or_a_text(task: Choose, label: object, place: int) -> None:
    values = {"text": "she", "choices": ["10", "likes", "summer"], "label": label}
    assert task.example(values, "").label == place


@pytest.mark.parametrize(
    ("values", "got"),
    [
        ({"choices": ["one", "two"], "label": 2}, "2"),
        ({"choices": ["one", "two"], "label": -1}, "-1"),
        ({"choices": ["one", "two"], "label": "three"}, "'three'"),
        ({"choices": ["one", "two"], "label": True}, "True"),
        ({"choices": ["one", "two", "one"], "label": "one"}, "'one' twice"),
        ({"choices": ["one"]}, "1"),
        ({"choices": ["one", ""]}, "''"),
        ({"choices": ["one", 2]}, "2"),
        ({"choices": "one"}, "'one'"),
        ({}, "none"),
    ],
)
def test_what_is_no_choice_is_refused_with_its_line(task: Choose, values: dict[str, object], got: str) -> None:
    with pytest.raises(DataError) as raised:
        task.example({"text": "she", **values}, "a.jsonl, line 7")
    assert raised.value.got == got
    assert raised.value.wanted.startswith("a.jsonl, line 7")


def test_a_table_has_a_column_for_each_candidate(task: Choose) -> None:
    assert task.example({"text": "she", "choices": ("one", "two", "", None)}, "").choices == ("one", "two")
    assert Choose.columns(ChooseData(choices=("a", "b")))["choices"] == ("a", "b")
    assert Choose.columns(ChooseData())["choices"] == "choices"
    with pytest.raises(ConfigError) as raised:
        Choose.columns(ChooseData(choices=("a", "text")))
    assert "'text'" in raised.value.got


def test_scores_are_compared_with_chance_and_the_most_frequent_place(task: Choose) -> None:
    def pair(label: int, chances: tuple[float, ...]) -> tuple[Question, Choice]:
        choices = tuple("abc"[: len(chances)])
        best = chances.index(max(chances))
        return Question("x", choices, label), Choice(choices[best], best, choices, tuple(map(math.log, chances)), "x")

    scores = task.scores([pair(1, (0.25, 0.75)), pair(0, (0.1, 0.9)), pair(0, (0.5, 0.3, 0.2))])
    assert scores["accuracy"] == pytest.approx(2 / 3)
    assert scores["loss"] == pytest.approx(-(math.log(0.75) + math.log(0.1) + math.log(0.5)) / 3)
    assert scores["chance_accuracy"] == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 3)
    assert scores["chance_loss"] == pytest.approx((2 * math.log(2) + math.log(3)) / 3)
    assert scores["most_frequent_place_accuracy"] == pytest.approx(2 / 3)  # of two the second, of three the first
    assert scores["most_frequent_place_loss"] == pytest.approx(-math.log(4 / 6 * 2 / 6 * 5 / 7) / 3)
    for system, measure in scores.measures.items():
        assert measure.values() == scores.of[system]
    # Σ over places of −p log p: one record in eight at place 0 of two, three at place 1, four at place 0 of three.
    entropy = -(1 * math.log(1 / 4) + 3 * math.log(3 / 4)) / 8
    assert task.baseline_loss == pytest.approx(entropy)


def test_another_model_does_not_choose(model: Transformer, tokenizer: Tokenizer) -> None:
    with pytest.raises(ConfigError) as raised:
        Choose.of(model, tokenizer, Context())
    assert "train choose" in raised.value.do
