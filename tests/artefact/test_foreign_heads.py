"""Imported heads answer by the verb of their task; what a task does with its scores is part of an export or is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from glassformer.artefact.foreign import read_foreign, write_foreign
from glassformer.artefact.model import Model
from glassformer.models.inputs import Inputs
from glassformer.tasks import TASKS, task_named
from tests.artefact.heads import TAGS, TEXTS, model_for

FAMILIES = ("bert", "distilbert", "roberta", "modernbert")
SETTINGS: dict[str, dict[str, Any]] = {
    "classify": {"labels": ("ham", "spam", "other")},
    "tag": {"labels": TAGS},
    "answer": {},
    "choose": {},
}


def answers(model: Model, task: str) -> Any:
    text = TEXTS[0]
    if task == "classify":
        return model.classify(text)
    if task == "tag":
        return model.tag(text)
    if task == "answer":
        return model.answer("Who went?", text)
    return model.choose(text, ["Alice", "Bob likes Paris"])


@pytest.mark.parametrize("task", SETTINGS)
@pytest.mark.parametrize("family", FAMILIES)
def test_exported_and_imported_it_answers_the_same(family: str, task: str, tmp_path: Path) -> None:
    more = {} if family != "roberta" else {"position_offset": 1}  # its positions follow the id of its padding, 0
    model = model_for(task, SETTINGS[task], family, **more)
    assert all("dropout" in told for told in write_foreign(model, tmp_path / "out"))  # BERT's for answers has none
    again, report = read_foreign(tmp_path / "out", Model)
    assert report.use.task == task
    assert again.task is not None
    assert again.task.name == task
    assert again.labels == model.labels
    unsaid: Any = {"initial": True, "token_head": {"dropout"}}
    assert again.config.model_dump(exclude=unsaid) == model.config.model_dump(exclude=unsaid)
    assert answers(again, task) == answers(model, task)


def test_a_crf_that_goes_out_is_told(tmp_path: Path) -> None:
    (told,) = write_foreign(model_for("tag", {"labels": TAGS, "crf": True}), tmp_path / "out")
    assert "CRF" in told
    again, _ = read_foreign(tmp_path / "out", Model)
    assert again.tag(TEXTS[0]).words


def test_a_threshold_stays_behind_and_is_told(tmp_path: Path) -> None:
    (told,) = write_foreign(model_for("answer", {"threshold": 1.5, "dropout": 0.0}), tmp_path / "out")
    assert "1.5" in told


@pytest.mark.skipif(
    "temperature" not in task_named("classify").Section.model_fields, reason="this classifier is not calibrated"
)
def test_a_temperature_is_written_into_the_last_layer(tmp_path: Path) -> None:
    model = model_for("classify", {**SETTINGS["classify"], "temperature": 2.0})
    write_foreign(model, tmp_path / "out")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "out").eval()
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        logits, wanted = theirs(input_ids=ids).logits, model.module(Inputs(ids=ids)).sentence_logits
    assert wanted is not None
    torch.testing.assert_close(logits, wanted / 2, rtol=1e-5, atol=1e-5)  # float32, one layer


@pytest.mark.skipif("regress" not in TASKS, reason="no numbers are learned")
def test_a_number_goes_out_as_itself(tmp_path: Path) -> None:
    model = model_for("regress", {"mean": 3.0, "deviation": 2.0})
    write_foreign(model, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["problem_type"] == "regression"
    again, report = read_foreign(tmp_path / "out", Model)
    assert report.use.task == "regress"
    one, two = (each.classify(TEXTS[0]).number for each in (again, model))  # type: ignore[attr-defined]
    assert one == pytest.approx(two, rel=1e-5)
