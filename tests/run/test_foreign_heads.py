"""Imported heads answer by the verb of their task; what a task does with its scores is in an export or is reported."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
import transformers

from glassformer.api.model import Model
from glassformer.base.errors import ConfigError
from glassformer.config import HeadUse
from glassformer.models.inputs import Inputs
from glassformer.saved.foreign import read_foreign, write_foreign
from glassformer.tasks import TASKS, task_named
from glassformer.tasks.labels.labels import Classes
from glassformer.tasks.labels.regress.task import Number
from tests.refusals import refused
from tests.run.heads import TAGS, TEXTS, model_for

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


def test_one_task_says_that_a_head_or_a_model_without_a_task_is_its_own() -> None:
    kinds = [task_named(name) for name in TASKS]
    assert sorted(kind.head_use for kind in kinds if kind.head_use) == sorted(get_args(HeadUse))
    stacks = {kind.of_imported: kind.Section.model_fields["name"].default for kind in kinds if kind.of_imported}
    assert stacks == {"encoder": "masked-lm", "decoder": "language-model", "both": "translate"}


@pytest.mark.parametrize("task", SETTINGS)
@pytest.mark.parametrize("family", FAMILIES)
def test_exported_and_imported_it_answers_the_same(family: str, task: str, tmp_path: Path) -> None:
    more = {} if family != "roberta" else {"position_offset": 1}  # its positions follow the id of its padding, 0
    model = model_for(task, SETTINGS[task], family, **more)
    assert all("dropout" in part for part in write_foreign(model, tmp_path / "out"))  # BERT's for answers has none
    again, report = read_foreign(tmp_path / "out", Model)
    assert report.use.head == task_named(task).head_use is not None
    assert again.task is not None
    assert again.task.name == task
    assert again.labels == model.labels
    unsaid: Any = {"initial": True, "token_head": {"dropout"}}
    assert again.config.model_dump(exclude=unsaid) == model.config.model_dump(exclude=unsaid)
    assert answers(again, task) == answers(model, task)


@pytest.mark.parametrize("family", FAMILIES)
def test_their_tokenizer_gives_a_pair_to_their_model_as_ours_does(family: str, tmp_path: Path) -> None:
    more = {} if family != "roberta" else {"position_offset": 1}
    model = model_for("classify", SETTINGS["classify"], family, **more)
    write_foreign(model, tmp_path / "out")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "out").eval()
    with torch.no_grad():
        found = theirs(**tokenizer(*TEXTS, return_tensors="pt")).logits.softmax(-1)[0]
    wanted = model.classify(*TEXTS).probabilities
    torch.testing.assert_close(found, torch.tensor(list(wanted.values())), rtol=1e-5, atol=1e-6)  # float32, one layer


def test_a_crf_that_goes_out_is_reported(tmp_path: Path) -> None:
    (found,) = write_foreign(model_for("tag", {"labels": TAGS, "crf": True}), tmp_path / "out")
    assert "CRF" in found
    again, _ = read_foreign(tmp_path / "out", Model)
    assert again.tag(TEXTS[0]).words


def test_a_threshold_is_left_out_and_reported(tmp_path: Path) -> None:
    (found,) = write_foreign(model_for("answer", {"threshold": 1.5, "dropout": 0.0}), tmp_path / "out")
    assert "1.5" in found


def test_a_temperature_is_written_into_the_last_layer(tmp_path: Path) -> None:
    model = model_for("classify", {**SETTINGS["classify"], "temperature": 2.0})
    write_foreign(model, tmp_path / "out")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "out").eval()
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        logits, wanted = theirs(input_ids=ids).logits, model.module(Inputs(ids=ids)).sentence_logits
    assert wanted is not None
    torch.testing.assert_close(logits, wanted / 2, rtol=1e-5, atol=1e-5)  # float32, one layer


def test_a_number_goes_out_as_itself(tmp_path: Path) -> None:
    model = model_for("regress", {"mean": 3.0, "deviation": 2.0})
    write_foreign(model, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["problem_type"] == "regression"
    again, report = read_foreign(tmp_path / "out", Model)
    assert report.use.head == "number"
    assert again.task is not None
    assert again.task.name == "regress"
    one, two = (again.classify(TEXTS[0]), model.classify(TEXTS[0]))
    assert isinstance(one, Number)
    assert isinstance(two, Number)
    assert one.number == pytest.approx(two.number, rel=1e-5)


def test_several_labels_go_out_and_come_in(tmp_path: Path) -> None:
    model = model_for("classify", {**SETTINGS["classify"], "several": True})
    assert write_foreign(model, tmp_path / "out") == ()
    again, report = read_foreign(tmp_path / "out", Model)
    assert report.use.several
    assert again.classify(TEXTS[0]) == model.classify(TEXTS[0])
    found = model.trace(TEXTS[0])
    assert found.verify("sentence_head.*").holds
    one = model.classify(TEXTS[0])
    assert isinstance(one, Classes)
    torch.testing.assert_close(
        found["sentence_head.probabilities"][0], torch.tensor(list(one.probabilities.values())), rtol=1e-5, atol=1e-6
    )


def test_the_mean_of_modernbert_comes_back_as_the_mean(tmp_path: Path) -> None:
    model = model_for("classify", {**SETTINGS["classify"], "pooling": "mean_pooler"}, "modernbert")
    write_foreign(model, tmp_path / "out")
    again, _ = read_foreign(tmp_path / "out", Model)
    assert again.task == model.task


@pytest.mark.parametrize("pooling", ["first", "mean", "max"])
def test_what_to_train_instead_is_said(pooling: str, tmp_path: Path) -> None:
    model = model_for("classify", {**SETTINGS["classify"], "pooling": pooling})
    with refused(ConfigError, wanted="BertForSequenceClassification", got=pooling, do="pooler"):
        write_foreign(model, tmp_path / "out")
