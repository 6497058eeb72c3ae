"""Trainings of masks that the text itself has marked."""

import json
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.api.train import train
from glassformer.base.errors import ConfigError, DataError
from glassformer.training.progress import NoProgress
from tests.refusals import refused
from tests.run.runs import Listener, recipe


def annotated(path: Path) -> dict[str, Any]:
    return recipe(path) | {
        "task": {"name": "annotated-masks"},
        "data": {"files": [str(path)], "length": 24},
    }


def test_rows_that_cannot_be_used_are_left_out_of_annotated_masks_too(tmp_path: Path) -> None:
    rows = [{"text": "She [MASK] summer", "answers": ["likes"]}, {"text": "He [MASK]", "answers": []}]
    path = tmp_path / "annotated.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    values = annotated(path)
    with pytest.raises(DataError) as caught:
        train(values, out=tmp_path / "run", progress=NoProgress())
    assert f"{path}, line 2" in caught.value.wanted
    values["data"]["on_bad_row"] = "skip"
    listener = Listener()
    model = train(values, out=tmp_path / "run", progress=listener)
    (message,) = [note for note in listener.notes if "line 2" in note]
    assert message.startswith("1 bad ")
    assert model.evaluate(path)["targets"] == model.metrics["scores"]["targets"] == 1


def test_annotated_masks_hold_nothing_out_unless_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "annotated.jsonl"
    path.write_text('{"text": "She [MASK] summer", "answers": ["likes"]}\n' * 3)
    model = train(annotated(path), out=tmp_path / "run", progress=NoProgress())
    assert "* Held out: nothing" in model.card
    assert "No held-out text was used" in model.card
    assert model.info()["data"]["validation"] == 0.0
    again = train(annotated(path), out=tmp_path / "run", resume=True, progress=NoProgress())
    assert again.metrics == model.metrics
    rows = [{"text": f"She [MASK] summer {number}", "answers": ["likes"]} for number in range(30)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    values = annotated(path)
    values["data"]["validation"] = 0.3
    held = train(values, out=tmp_path / "held", progress=NoProgress())
    assert held.metrics["measured_on"] == "held-out text"
    assert 0 < held.metrics["scores"]["targets"] < 30
    assert load(tmp_path / "held").evaluate() == held.metrics["scores"]


def test_nothing_is_drawn_for_annotated_masks_and_no_text_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "annotated.jsonl"
    rows = ['{"text": "She [MASK] summer", "answers": ["likes"]}\n'] * 3
    path.write_text("".join(rows))
    values = annotated(path)
    with refused(ConfigError, wanted="'task.rate'"):  # what would be without effect is no setting of the task
        train(values | {"task": {"name": "annotated-masks", "rate": 0.3}}, out=tmp_path / "run", progress=NoProgress())
    with path.open("a") as more:
        more.write(json.dumps({"text": "She [MASK] " + "summer " * 30, "answers": ["likes"]}))
    with pytest.raises(DataError) as caught:
        train(values, out=tmp_path / "long", progress=NoProgress())
    assert f"{path}, line 4" in caught.value.wanted
    assert "row of 24 " in caught.value.wanted
