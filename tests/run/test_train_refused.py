"""Trainings that cannot be: refused in a sentence, and nothing is left behind."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.api.train import train
from glassformer.base.errors import CheckpointError, ConfigError, DataError, DeviceError, TrainingError
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.run.evaluate import evaluate
from glassformer.training.progress import NoProgress
from glassformer.training.record import Step
from tests.refusals import refused
from tests.run.runs import Listener, recipe


def test_a_side_that_was_not_held_out(run: Model) -> None:
    with pytest.raises(ConfigError) as caught:
        evaluate(run, split="test")
    assert "test" in caught.value.wanted
    assert "validation" in caught.value.got
    assert "validation" in caught.value.do


def test_a_folder_removed_while_training_ends_it_with_a_sentence(text_file: Path, tmp_path: Path) -> None:
    class Removing(Listener):
        def training(self, steps: Iterator[Step]) -> Iterator[Step]:
            for step in super().training(steps):
                if step.step == 3:
                    shutil.rmtree(tmp_path / "run")
                yield step

    with pytest.raises(TrainingError) as caught:
        train(recipe(text_file, checkpoint_every=2), out=tmp_path / "run", progress=Removing())
    assert f"no {tmp_path / 'run'}" in caught.value.got
    assert "4 steps" in caught.value.got
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["pipe", "x" * 5000], ids=["a pipe", "a long name"])
def test_a_place_that_can_be_no_folder_is_refused(text_file: Path, tmp_path: Path, name: str) -> None:
    if name == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("this system has no pipes with names")
        os.mkfifo(tmp_path / name)
    out = tmp_path / name
    for resume in (False, True):
        with pytest.raises((TrainingError, ConfigError)) as caught:
            train(recipe(text_file), out=out, resume=resume, progress=NoProgress())
        assert name in caught.value.got
    with pytest.raises(CheckpointError):
        load(out)
    with pytest.raises(ConfigError):
        train(out=out, resume=True, progress=NoProgress())
    with pytest.raises(CheckpointError):
        Model(build(bert(vocabulary=9, layers=1, width=8, heads=2, feed_forward=8))).save(out)


def test_settings_of_a_tokenizer_that_is_not_learned(run: Model, text_file: Path, tmp_path: Path) -> None:
    values = {**recipe(text_file), "model": {"start": str(tmp_path / "run")}}
    with pytest.raises(ConfigError) as caught:
        train(values, out=tmp_path / "refused", progress=NoProgress())
    assert caught.value.got == "model.start together with tokenizer.vocabulary"
    values = recipe(text_file)
    values["tokenizer"]["file"] = str(tmp_path / "run" / "tokenizer.json")
    with pytest.raises(ConfigError) as caught:
        train(values, out=tmp_path / "refused", progress=NoProgress())
    assert caught.value.got == "tokenizer.file together with tokenizer.vocabulary"
    assert not (tmp_path / "refused").exists()


@pytest.fixture
def refused_late(monkeypatch: pytest.MonkeyPatch) -> str:
    """The loop refuses what could not be known before it; gives back what it says."""

    def refuse(*arguments: object, **options: object) -> None:
        raise ConfigError("known late")

    monkeypatch.setattr("glassformer.run.train.fit", refuse)
    return "known late"


def test_what_fit_refuses_leaves_nothing_either(text_file: Path, tmp_path: Path, refused_late: str) -> None:
    with refused(ConfigError, wanted=refused_late):
        train(recipe(text_file), out=tmp_path / "run", progress=NoProgress())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("section", "settings", "wanted", "got", "do"),
    [
        ("train", {"accumulate": 5}, "train.accumulate", "5", ""),
        ("train", {"average": 2}, "train.average", "", "train.checkpoint_every"),
        ("train", {"patience": 2}, "train.patience", "", "data.validation"),
        ("train", {"schedule": "noam", "warmup": 0}, "noam", "train.warmup = 0", ""),
        ("train", {"steps": None}, "end", "none", "train.steps"),
        ("data", {"length": 2}, "", "data.length = 2", ""),
    ],
)
def test_what_no_text_can_mend_is_refused_before_any_is_read(
    text_file: Path, tmp_path: Path, section: str, settings: dict[str, Any], wanted: str, got: str, do: str
) -> None:
    text_file.write_bytes(b"\xff")
    values = recipe(text_file)
    values["data"]["validation"] = 0.0
    values[section] |= settings
    with refused(ConfigError, wanted=wanted, got=got, do=do):
        train(values, out=tmp_path / "run", progress=NoProgress())
    assert not (tmp_path / "run").exists()


def test_rows_longer_than_the_model_to_start_from(run: Model, text_file: Path, tmp_path: Path) -> None:
    values = {**recipe(text_file), "model": {"start": str(tmp_path / "run")}, "tokenizer": {}}
    values["data"]["length"] = 600
    with pytest.raises(ConfigError) as caught:
        train(values, out=tmp_path / "longer", progress=NoProgress())
    assert "data.length = 600" in caught.value.wanted
    assert "512" in caught.value.got


def test_nothing_is_left_behind_by_what_cannot_be_done(text_file: Path, tmp_path: Path) -> None:
    missing = recipe(tmp_path / "nowhere.txt")
    with pytest.raises(DataError) as error:
        train(missing, out=tmp_path / "run", progress=NoProgress())
    assert str(tmp_path / "nowhere.txt") in error.value.wanted
    wide = recipe(text_file)
    wide["model"]["settings"]["heads"] = 3
    with refused(ConfigError, wanted=("heads", "16 / 3")):
        train(wide, out=tmp_path / "run", progress=NoProgress())
    with pytest.raises(ConfigError) as caught:
        train({"task": {"name": "classify"}}, out=tmp_path / "run", progress=NoProgress())
    assert "data.files" in caught.value.got
    assert "train classify" in caught.value.do
    with pytest.raises(ConfigError) as caught:
        train({}, out=tmp_path / "run", progress=NoProgress())
    assert "masked-lm" in caught.value.do
    with refused(DeviceError, wanted="'nonsense'"):
        train(recipe(text_file, device="nonsense"), out=tmp_path / "run", progress=NoProgress())
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_refused_takes_no_other_with_it(text_file: Path, tmp_path: Path, refused_late: str) -> None:
    """In a fresh project both make `runs/`; the one that is refused leaves the other's files and none of its own."""
    other = tmp_path / "runs" / "other" / "tokenizer.json"

    class Meanwhile(Listener):
        def note(self, message: str) -> None:
            other.parent.mkdir(parents=True, exist_ok=True)
            other.write_text("another run's")

    with refused(ConfigError, wanted=refused_late):
        train(recipe(text_file), out=tmp_path / "runs" / "mine", progress=Meanwhile())
    assert other.read_text() == "another run's"
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["other"]


def test_a_run_that_is_refused_leaves_a_folder_as_it_was(text_file: Path, tmp_path: Path, refused_late: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.md").write_text("a person's")
    with refused(ConfigError, wanted=refused_late):
        train(recipe(text_file), out=tmp_path / "mine", progress=NoProgress())
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.md"]


def test_a_text_of_which_the_tokenizer_knows_nothing_is_refused(run: Model, tmp_path: Path) -> None:
    """Nothing could be asked: the loss would be zero from the first step on."""
    text = tmp_path / "runes.txt"
    text.write_text("\u16a0\u16a2 \u16a6\n\n\u16a8 \u16b1\u16b2 \u16a0\n\n\u16b1 \u16b2", encoding="utf-8")
    values = recipe(text) | {"tokenizer": {"file": str(tmp_path / "run")}}
    with pytest.raises(DataError) as caught:
        train(values, out=tmp_path / "unread", progress=Listener())
    assert "tokenizer" in caught.value.got
    assert "tokenizer" in caught.value.do


@pytest.mark.parametrize("width", [40_960_000, 10**30])
def test_a_model_that_no_machine_holds_is_refused_before_the_text_is_read(tmp_path: Path, width: int) -> None:
    text = tmp_path / "broken.txt"
    text.write_bytes(b"\xff")
    values = recipe(text)
    values["model"]["settings"]["width"] = width
    with pytest.raises(ConfigError) as caught:
        train(values, out=tmp_path / "run", progress=NoProgress())
    assert " GB" in caught.value.got or "width" in caught.value.wanted
    assert not (tmp_path / "run").exists()
