"""The linear probe that a tuning begins with: a baseline of its own, and how far the minutes go by its speed."""

import json
import shutil
from pathlib import Path

import pytest
import torch

import glassformer as gf
from glassformer.run.evaluate import evaluate
from glassformer.run.probe import Probe
from glassformer.scoring.score import THIS_MODEL
from glassformer.scoring.verdict import FROZEN
from glassformer.tasks.labels.classify.settings import ClassifySection
from glassformer.tasks.labels.classify.task import Classify
from glassformer.text.tokenizer import Tokenizer
from glassformer.training.settings import EpochsByData, TrainSection
from tests.run.runs import Listener


@pytest.mark.long
def test_frozen_features_are_a_baseline_of_a_tuned_model(saved: Path, tmp_path: Path) -> None:
    """Weights that did not move give the scores of frozen features, but for the temperature, which is the model's."""
    table, start = tmp_path / "table.jsonl", shutil.copytree(saved, tmp_path / "start")
    rows = [{"text": f"She likes the {'summer' if n % 3 else 'winter'} {n}", "label": n % 2} for n in range(60)]
    table.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    values = {"data.files": [str(table)], "data.length": 16, "data.validation": 0.3, "model.start": str(start)}
    settings = {"train.steps": 3, "train.learning_rate": 1e-30, "train.precision": "float32", "train.compile": "off"}
    model = gf.train("classify", out=tmp_path / "run", set={**values, **settings}, progress=Listener())
    assert 0 <= model.metrics["best_step"] <= model.metrics["steps"] == 3
    listener = Listener()
    for scores in (evaluate(model, progress=listener), evaluate(model, [table])):
        assert scores.of[FROZEN]["accuracy"] == scores.of[THIS_MODEL]["accuracy"]
        assert scores.of[FROZEN]["loss"] == pytest.approx(scores.of[THIS_MODEL]["loss"], abs=0.02)
    assert model.metrics["scores"]["frozen_features_accuracy"] == evaluate(model).of[FROZEN]["accuracy"]
    assert FROZEN not in evaluate(model, baselines=False).of
    shutil.rmtree(start)
    assert FROZEN not in evaluate(model, progress=listener).of
    assert [note for note in listener.notes if FROZEN in note]


def test_minutes_for_fewer_epochs_than_usual_are_reported(tokenizer: Tokenizer) -> None:
    task = Classify(ClassifySection(labels=("a", "b")), tokenizer, length=16, segments=False)
    probe = Probe(task, torch.zeros(2, 4), torch.zeros(2), rows_per_second=100.0)
    usual = TrainSection(minutes=4, epochs_by_data=EpochsByData())
    found = probe.too_few_epochs(usual, 10_000, 313)  # 300 s an epoch
    assert all(word in found for word in ("0.8 epochs", "3", "--minutes 15"))
    assert not probe.too_few_epochs(usual, 100, 4)
    for other in ({"minutes": None}, {"epochs": 1.0}, {"epochs_by_data": None}):
        assert not probe.too_few_epochs(usual.model_copy(update=other), 10_000, 313)
