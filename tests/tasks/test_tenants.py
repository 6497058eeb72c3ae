"""What later tasks will ask of the protocol, tried with small ones: candidates that stay together, a frozen teacher,
labels for each token, answers in any order.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.config import ModelConfig, SentenceHeadConfig
from glassformer.models.families import bert
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer, build
from glassformer.scoring.cross_entropy import cross_entropy
from glassformer.scoring.score import THIS_MODEL, Scores
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.predictor import Context, predict
from glassformer.tasks.records import RecordSource, RecordTask
from glassformer.tasks.rows import Axis, Row, collate
from glassformer.tasks.settings import TaskSection
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Preparation
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import text_rows
from glassformer.training.checkpoint import Checkpoints
from glassformer.training.compiled import LossAndGradient
from glassformer.training.loop import counts_of, fit, step_seed
from tests.training.toy import Toy, machine_of, toy_model, toy_settings

CANDIDATES = 3


class ChooseSection(TaskSection):
    kept_by: ClassVar[str] = "accuracy"
    name: Literal["choose"] = "choose"


class Question(NamedTuple):
    text: str
    candidates: tuple[str, ...]
    right: int


class Choose(RecordTask[Question, int]):
    """One of three candidates: a score for each, and a softmax over the three rows of a question."""

    Section = ChooseSection
    weights: ClassVar[Mapping[str, float]] = {"choice": 1.0}
    axes: ClassVar[Mapping[str, Axis]] = {"choice": "row"}

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.section, self.tokenizer = ChooseSection(), tokenizer

    @classmethod
    def columns(cls, data: Any) -> dict[str, str]:
        return {"text": data.text}

    @classmethod
    def from_records(
        cls, section: Any, preparation: Preparation, records: Sequence[Record], held_out: Sequence[Record]
    ) -> Self:
        return cls(preparation.tokenizer)

    @classmethod
    def check_body(cls, section: Any, body: ModelConfig) -> None:
        return

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        return cls(tokenizer)

    def example(self, values: Mapping[str, object], where: str) -> Question:
        raise NotImplementedError

    def rows(self, example: Question) -> list[Row]:
        rows = []
        for number, candidate in enumerate(example.candidates):
            ((ids, segments),) = text_rows(self.tokenizer, example.text, candidate, length=None)
            rows.append(Row(ids=ids, segments=segments, labels={"choice": int(number == example.right)}))
        return rows

    def groups(self, example: Question) -> list[list[Row]]:
        return [self.rows(example)]

    def model(self, body: ModelConfig) -> ModelConfig:
        return body.model_copy(update={"sentence_head": SentenceHeadConfig(labels=1), "head": None})

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        scores = model(batch.inputs, heads=("sentence_head",)).sentence_logits  # [B, 1]
        right = batch.labels["choice"].view(-1, CANDIDATES)  # [E, 3]
        weights = batch.weights.view(-1, CANDIDATES)[:, 0]  # [E]
        # The count is of rows: each question weighs as its three rows do.
        return {"choice": CANDIDATES * cross_entropy(scores.view(-1, CANDIDATES), right.argmax(dim=1), weights)}

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, float]]:
        for batch in batches:
            scores = model(batch.inputs, heads=("sentence_head",)).sentence_logits  # [B, 1]
            found = list(zip(batch.row_ids.tolist(), scores[:, 0].tolist(), strict=True))
            yield from reversed(found)  # in any order, as a decoder does that refills its batch

    def merge(self, example: Question, found: Sequence[float]) -> int:
        return int(np.argmax(found))

    def scores(self, pairs: Sequence[tuple[Question, int]]) -> Scores:
        right = sum(example.right == found for example, found in pairs)
        return Scores(len(pairs), "questions", {THIS_MODEL: {"accuracy": right / len(pairs)}})


@pytest.fixture
def choose(tokenizer: Tokenizer, texts: list[str]) -> tuple[Choose, list[Question], Transformer]:
    questions = [Question(text[:20], tuple(texts[n : n + 3]), n % 3) for n, text in enumerate(texts[:20])]
    task = Choose(tokenizer)
    body = bert(size="tiny", layers=1, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, dropout=0.1)
    return task, questions, build(task.model(body)).double()


def test_candidates_of_a_question_are_never_parted(choose: tuple[Choose, list[Question], Transformer]) -> None:
    task, questions, model = choose
    feed = TaskFeed(task, RecordSource(task, questions, length=128), batch=5)
    assert len(feed.source) == len(questions)
    settings = toy_settings(precision="float64")
    found = []
    for parts in (1, 2, 5):
        mine = copy.deepcopy(model).train()
        learn = LossAndGradient(feed, mine, machine_of(settings), compiled=False, log=lambda message: None)
        batches = [feed.batch(1, part, parts) for part in range(parts)]
        for batch in batches:
            right = batch.labels["choice"].view(-1, CANDIDATES)
            assert (right[batch.weights.view(-1, CANDIDATES)[:, 0] > 0].sum(dim=1) == 1).all()
        losses = [learn(batch.with_dropout_key(step_seed(0, 1)), counts_of(batches)) for batch in batches]
        total = sum(each["choice"] for each in losses)
        found.append((total, {name: p.grad.clone() for name, p in mine.named_parameters() if p.grad is not None}))
    for total, gradients in found[1:]:
        assert total == pytest.approx(found[0][0], abs=1e-12)  # float64, sums in another order
        assert all((gradients[name] - its).abs().max() < 1e-12 for name, its in found[0][1].items())


def test_answers_may_come_in_any_order(choose: tuple[Choose, list[Question], Transformer]) -> None:
    task, questions, model = choose
    expected = []
    for question in questions:
        batch = collate(task.rows(question), pad_id=0)
        scores = model.eval()(batch.inputs, heads=("sentence_head",)).sentence_logits
        expected.append(int(scores[:, 0].argmax()))
    assert list(predict(task, model, iter(questions))) == expected
    assert list(predict(task, model, iter(questions), read_ahead=7)) == expected


class Distilled(Toy):
    """Learns the states of a teacher that only answers."""

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        teacher = self.frozen["teacher"]
        assert not teacher.training
        given = teacher(batch.inputs, heads=()).states
        states = model(batch.inputs, heads=()).states
        return {**super().losses(model, batch), "distance": F.mse_loss(states, given, reduction="sum")}

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        batch = super().batch(step, part, parts)
        return Batch(**{**vars(batch), "counts": {**batch.counts, "distance": float(batch.tokens)}})


def test_a_frozen_teacher_answers_and_is_neither_trained_nor_saved(tmp_path: Path) -> None:
    teacher = toy_model(dropout=0.5, seed=9).train()
    before = {name: parameter.clone() for name, parameter in teacher.named_parameters()}
    frozen: dict[str, nn.Module] = {"teacher": teacher}
    feed = Distilled(weights={"masked_words": 1.0, "distance": 0.25}, frozen=frozen)
    steps = list(fit(toy_model(), feed, toy_settings(steps=4), out=tmp_path, log=lambda message: None))
    for step in steps:
        assert step.loss == pytest.approx(step.losses["masked_words"] + 0.25 * step.losses["distance"])
    assert steps[-1].losses["distance"] < steps[0].losses["distance"]
    assert all(torch.equal(parameter, before[name]) for name, parameter in teacher.named_parameters())
    assert all(parameter.grad is None for parameter in teacher.parameters())
    newest = Checkpoints(tmp_path / "checkpoints").newest()
    assert newest is not None
    assert newest.tensors("model").keys() == dict(toy_model().named_parameters()).keys()


def test_labels_for_each_token_are_filled_up_and_counted_by_weight() -> None:
    """As a tagger has them, with a conditional random field on top or without: -100 where nothing is asked."""
    rows = [Row(ids=[5, 6, 7], labels={"tag": [-100, 1, 2]}), Row(ids=[5, 6], labels={"tag": [3, -100]}, weight=0.5)]
    batch = collate(rows, pad_id=0, axes={"tag": "token"}, shape=(3, 4))
    assert batch.labels["tag"].tolist() == [[-100, 1, 2, -100], [3, -100, -100, -100], [-100] * 4]
    assert batch.counts == {"tag": 2.5}
    assert batch.weights.tolist() == [1.0, 0.5, 0.0]
    assert batch.tokens == 5
    assert batch.inputs.real is not None
    assert batch.inputs.real.sum(dim=1).tolist() == [3, 2, 2]  # the row that fills the shape has something to look at
