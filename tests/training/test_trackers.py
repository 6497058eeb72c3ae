"""What TensorBoard and MLflow are given, read back with their own readers."""

import importlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from glassformer.base.deprecated import GlassformerDeprecationWarning
from glassformer.base.errors import MissingExtraError, TrainingError
from glassformer.base.settings import read_settings
from glassformer.cli.__main__ import main
from glassformer.training.settings import TrainSection
from glassformer.training.trackers import MLflow, trackers
from tests.refusals import refused

# MLflow and its database use much that is deprecated, and an error inside them would be reported as theirs.
pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning", "default::FutureWarning", "default::UserWarning")
NUMBERS = ("loss", "learning_rate", "held_out_loss")
Points = dict[str, list[tuple[int, float]]]


def nothing(_: str) -> None:
    """A log that nobody reads."""


def train(folder: Path, *words: str) -> None:
    """A small model, evaluated after every fifth step."""
    text = folder.parent / "notes.txt"
    text.write_text("\n\n".join(f"Day {day}. She likes the summer. So ended day {day}." for day in range(40)))
    small = ["--size", "tiny", "--vocabulary", "90", "--length", "16", "--batch", "4", "--precision", "float32"]
    small += ["--set", "train.evaluate_every=5", "--set", "train.compile=off"]
    assert main(["train", "masked-lm", str(text), *small, *words, "--out", str(folder)]) == 0


def lines(folder: Path) -> Points:
    """The numbers of a run by name, with their steps, as metrics.jsonl has them."""
    found: Points = {}
    for line in map(json.loads, (folder / "metrics.jsonl").read_text().splitlines()):
        for name, value in line.items():
            if name != "step" and value is not None:
                found.setdefault(name, []).append((line["step"], value))
    return found


def on_board(folder: Path) -> Points:
    """The same as TensorBoard reads them from its files, in float32."""
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    board = events.EventAccumulator(str(folder / "tensorboard"))
    board.Reload()
    return {name: [(each.step, each.value) for each in board.Scalars(name)] for name in board.Tags()["scalars"]}


def in_mlflow(folder: Path) -> Points:
    """The same as MLflow's client reads them from its database."""
    client = importlib.import_module("mlflow").MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    run = client.get_run(json.loads((folder / "mlflow.json").read_text())["run"])
    assert run.info.status == "FINISHED"
    found = {name: client.get_metric_history(run.info.run_id, name) for name in run.data.metrics}
    return {name: [(each.step, each.value) for each in values] for name, values in found.items()}


READERS: Mapping[str, Callable[[Path], Points]] = {"tensorboard": on_board, "mlflow": in_mlflow}


@pytest.mark.long
@pytest.mark.parametrize("tracker", READERS)
def test_a_tracker_has_each_line_once_also_after_the_run_was_resumed(tmp_path: Path, tracker: str) -> None:
    """TensorBoard's readers drop steps, and MLflow keeps every value of a step: a resumed run has each step once."""
    pytest.importorskip(tracker, reason=f"the package {tracker} is not installed")
    train(tmp_path / "run", "--steps", "10", "--track", tracker)
    train(tmp_path / "run", "--steps", "25", "--track", tracker, "--resume")
    expected, found = lines(tmp_path / "run"), READERS[tracker](tmp_path / "run")
    assert [step for step, _ in expected["held_out_loss"]] == [5, 10, 15, 20, 25]
    assert found.keys() == expected.keys()
    assert found.keys() >= set(NUMBERS)
    for name in expected:
        assert [step for step, _ in found[name]] == [step for step, _ in expected[name]]
        # TensorBoard keeps 24 bits of a number.
        assert [value for _, value in found[name]] == pytest.approx([value for _, value in expected[name]], rel=2**-23)


@pytest.mark.parametrize("tracker", READERS)
def test_steps_that_are_done_again_are_there_once(tmp_path: Path, tracker: str) -> None:
    """A run that was killed after line 20, and goes on from a checkpoint after step 12."""
    pytest.importorskip(tracker, reason=f"the package {tracker} is not installed")
    for start, steps in ((0, (10, 20)), (12, (20, 30))):
        (begun,) = trackers((tracker,), tmp_path, start, nothing)
        for step in steps:
            begun.see({"loss": 1 / step, "perplexity": None}, step)
        if start:
            begun.close(finished=True)  # a process that is killed closes nothing
    found = READERS[tracker](tmp_path)
    assert found.keys() == {"loss"}
    assert [step for step, _ in found["loss"]] == [10, 20, 30]
    assert [value for _, value in found["loss"]] == pytest.approx([1 / 10, 1 / 20, 1 / 30], rel=2**-23)


@pytest.mark.parametrize("tracker", READERS)
def test_a_tracker_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracker: str) -> None:
    def absent(name: str) -> ModuleType:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with refused(MissingExtraError, wanted=tracker, do=f"pip install 'glassformer[{tracker}]'"):
        trackers((tracker,), tmp_path / "run", 0, nothing)


class Broken:
    """A server that is there when a run begins, and then no more."""

    def __getattr__(self, name: str) -> Any:
        def call(*_: object) -> None:
            raise ConnectionError("no route to the server\nand more")

        return call


def test_a_server_that_fails_ends_the_tracking_and_not_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    entities = ModuleType("mlflow.entities")
    entities.Metric = lambda *of: of  # type: ignore[attr-defined]
    monkeypatch.setattr(importlib, "import_module", lambda _: entities)
    said: list[str] = []
    run = MLflow(Broken(), "a run", 0, said.append)
    for step in (10, 20):
        run.see({"loss": 1.0}, step)
    run.close(finished=True)
    assert len(said) == 1
    assert "no route to the server" in said[0]
    assert "and more" not in said[0]


def test_a_damaged_name_of_the_run_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="the package mlflow is not installed")
    (tmp_path / "mlflow.json").write_text("{")
    with refused(TrainingError, wanted=str(tmp_path / "mlflow.json"), do="delete it"):
        trackers(("mlflow",), tmp_path, 7, nothing)


def test_the_old_setting_still_works_and_names_the_new_one() -> None:
    assert read_settings(TrainSection, {"tensorboard": False}).track == ()
    assert read_settings(TrainSection, {"track": "mlflow"}).track == ("mlflow",)
    with pytest.warns(GlassformerDeprecationWarning, match=r"train\.track"):
        assert read_settings(TrainSection, {"tensorboard": True}).track == ("tensorboard",)


def test_the_command_line_notes_an_old_form_unless_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tensorboard", reason="the package tensorboard is not installed")
    for name, quiet in (("a", []), ("b", ["--quiet"])):
        train(tmp_path / name, "--steps", "1", "--set", "train.tensorboard=true", *quiet)
        said = capsys.readouterr().err
        assert said.count("train.tensorboard is deprecated") == (not quiet)
        assert (tmp_path / name / "tensorboard").is_dir()
