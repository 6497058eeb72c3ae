"""What a run leaves for reading."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from glassformer.base.errors import TrainingError
from glassformer.training.budget import RunProgress
from glassformer.training.record import Record, Step, running_means
from tests.refusals import refused


def step(number: int, **changes: Any) -> Step:
    usual: dict[str, Any] = {
        "step": number, "steps": 30, "fraction": number / 30, "epoch": 0.5, "loss": float(number), "learning_rate": 0.1,
        "norm": 1.0, "losses": {"one": float(number)}, "counts": {"one": 5.0}, "tokens": 40, "seconds": 0.5, "elapsed":
        number / 2, "means": {"loss": float(number)},
    }  # fmt: skip
    return Step(**usual | changes)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_line_every_ten_steps_and_at_evaluations(tmp_path: Path) -> None:
    record = Record(tmp_path, RunProgress(0))
    for number in range(1, 31):
        record.see(step(number, scores={"loss": 7.0} if number == 14 else None))
    seen = lines(tmp_path)
    assert [line["step"] for line in seen] == [10, 14, 20, 30]
    assert [line["loss"] for line in seen] == [5.5, 12.5, 17.5, 25.5]  # means since the line before
    assert [line.get("held_out_loss") for line in seen] == [None, 7.0, None, None]
    assert seen[0]["tokens_per_second"] == 80.0


def test_each_of_several_losses_stands_apart(tmp_path: Path) -> None:
    record = Record(tmp_path, RunProgress(0))
    for number in range(1, 11):
        record.see(step(number, loss=3.0 * number, losses={"one": 1.0 * number, "two": 2.0 * number}))
    (line,) = lines(tmp_path)
    assert (line["loss"], line["one_loss"], line["two_loss"]) == (16.5, 5.5, 11.0)


def test_what_is_not_finite_is_null(tmp_path: Path) -> None:
    record = Record(tmp_path, RunProgress(0))
    record.see(step(10, scores={"loss": math.nan, "perplexity": math.inf, "accuracy": 0.0}))
    (line,) = (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    seen = json.loads(line, parse_constant=pytest.fail)
    assert [seen[f"held_out_{name}"] for name in ("loss", "perplexity", "accuracy")] == [None, None, 0.0]


def test_a_resumed_run_writes_on_from_its_step(tmp_path: Path) -> None:
    record = Record(tmp_path, RunProgress(0))
    for number in range(1, 31):
        record.see(step(number))
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(b"[" * 100_000 + b'\n\xff\n{"step": 35, "lo')  # damaged, and cut short by a kill
    again = Record(tmp_path, RunProgress(12))
    assert [line["step"] for line in lines(tmp_path)] == [10]
    again.see(step(20))
    assert [line["step"] for line in lines(tmp_path)] == [10, 20]


@pytest.mark.parametrize("saved", [1, 7, 10, 13, 19])
def test_the_lines_of_a_resumed_run_are_those_of_an_unbroken_one(tmp_path: Path, saved: int) -> None:
    def run(folder: Path, progress: RunProgress, steps: range) -> RunProgress:
        record = Record(folder, progress)
        for number in steps:
            progress.step = number
            record.see(step(number, loss=1 / number, scores={"loss": 7.0} if number == 14 else None))
        return progress

    run(tmp_path / "whole", RunProgress(), range(1, 31))
    checkpoint = asdict(run(tmp_path / "cut", RunProgress(), range(1, saved + 1)))
    resumed = TypeAdapter(RunProgress).validate_python(json.loads(json.dumps(checkpoint)))
    run(tmp_path / "cut", resumed, range(saved + 1, saved + 9))  # killed, and resumed once more
    run(tmp_path / "cut", TypeAdapter(RunProgress).validate_python(checkpoint), range(saved + 1, 31))
    assert lines(tmp_path / "cut") == lines(tmp_path / "whole")


def test_time_left() -> None:
    assert step(10).seconds_left == pytest.approx(10.0)
    assert step(0).seconds_left == float("inf")
    assert step(30).seconds_left == 0.0


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with refused(TrainingError, wanted=str(tmp_path / "file" / "run"), got="Not a directory", do="--resume"):
        Record(tmp_path / "file" / "run", RunProgress(0))
    progress = RunProgress()
    record = Record(tmp_path / "run", progress)
    (tmp_path / "run").rmdir()
    progress.step = 10
    with pytest.raises(TrainingError) as caught:
        record.see(step(10))
    assert str(tmp_path / "run") in caught.value.got
    assert "10 steps" in caught.value.got


def test_the_running_means_are_of_the_last_steps_and_follow_each_of_several() -> None:
    losses = [40.0, 4.0, 2.0, 8.0, *[1.0] * 7]
    recent: dict[str, list[float]] = {}
    for loss in losses:
        means = running_means(recent, loss, {"one": loss - 1, "two": 1.0})
    assert means["loss"] == pytest.approx((4 + 2 + 8 + 7) / 10, abs=1e-15)
    assert means["one"] == pytest.approx(means["loss"] - 1, abs=1e-15)
    assert means["two"] == pytest.approx(1.0, abs=1e-15)
    assert running_means({}, 4.0, {"one": 4.0}) == {"loss": 4.0}
