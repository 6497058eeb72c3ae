"""Several processes learn what one learns, stop together, and go on from each other's checkpoints."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.run.train import train
from glassformer.training.checkpoint import Checkpoints, weights
from glassformer.training.progress import NoProgress
from tests.contracts.tasks import TASKS, Row
from tests.training.runs import train as train_toy
from tests.training.several import Begin
from tests.training.toy import Toy

# This row shows what the others share: all cut a step alike. Muon and a moving average are those of test_shared.py.
USUAL = {"tag"}
FLOAT64 = {"precision": "float64", "threads": 1}


def largest_difference(one: dict[str, Tensor], two: dict[str, Tensor]) -> float:
    assert one.keys() == two.keys()
    return max(float((one[name].double() - two[name].double()).abs().max()) for name in one)


@pytest.mark.parametrize(
    ("row", "count"),
    [
        pytest.param(row, count, marks=() if count == 2 and row.name in USUAL else pytest.mark.long)
        for row in TASKS
        for count in (2, 4)
    ],
    ids=lambda value: value.name if isinstance(value, Row) else str(value),
)
def test_processes_learn_what_one_learns(begin: Begin, row: Row, count: int, tmp_path: Path) -> None:
    """With dropout, and batches of seven rows: the last of an epoch are smaller."""
    recipe = row.recipe(tmp_path)
    recipe["train"] |= {**FLOAT64, "batch": 7, "accumulate": 2 if row.task == "tag" else 1}
    if row.task == "masked-lm":
        recipe["train"] |= {"optimizer": "muon", "ema": 0.5}
    alone = train(recipe, out=tmp_path / "alone", progress=NoProgress())
    group = begin(tmp_path / "together", *[recipe] * count)
    assert group.end() == [0] * count, group.text("errors", 0)
    for each in group.weights():
        assert largest_difference(weights(alone.module), each) < 1e-10
    one, several = (
        Checkpoints(folder / "checkpoints").newest() for folder in (tmp_path / "alone", group.folder / "run")
    )
    assert one is not None
    assert several is not None
    for name in ("best", "least_loss", "smoothed"):
        assert one.facts["progress"][name] == pytest.approx(several.facts["progress"][name], rel=1e-10)
    assert one.facts["progress"]["best_step"] == several.facts["progress"]["best_step"]


MUON = {"optimizer": "muon"}
AVERAGED = {"ema": 0.9, "average": 2, "keep": 2}


@pytest.mark.parametrize(
    ("first", "then", "settings"),
    [
        ((2, "whole"), (1, "whole"), {}),
        pytest.param((1, "whole"), (3, "whole"), {**MUON, "patience": 9}, marks=pytest.mark.long),
        pytest.param((4, "whole"), (2, "whole"), {"accumulate": 2}, marks=pytest.mark.long),
        pytest.param((3, "whole"), (4, "whole"), AVERAGED, marks=pytest.mark.long),
        ((2, "shared"), (1, "shared"), {**MUON, **AVERAGED}),
        pytest.param((2, "shared"), (3, "shared"), {**MUON, **AVERAGED}, marks=pytest.mark.long),
        pytest.param((1, "whole"), (2, "shared"), {**MUON, **AVERAGED}, marks=pytest.mark.long),
        pytest.param((2, "shared"), (2, "whole"), {**MUON, **AVERAGED}, marks=pytest.mark.long),
    ],
)
def test_what_some_have_saved_others_go_on_with(
    begin: Begin, tmp_path: Path, first: tuple[int, str], then: tuple[int, str], settings: dict[str, Any]
) -> None:
    """Each process with all weights, or with its part of them (`train.shard`)."""
    settings = {**FLOAT64, "checkpoint_every": 2, "evaluate_every": 3, "schedule": "constant", "warmup": 0, **settings}
    whole, _ = train_toy(tmp_path / "alone", dropout=0.3, held_out=Toy(seed=5), **settings)
    for steps, (count, weights_are) in ((4, first), (6, then)):
        group = begin(tmp_path / "run", *[{**settings, "steps": steps, "shard": weights_are == "shared"}] * count)
        assert group.end() == [0] * count, group.text("errors", 0)
    assert [int(line.split()[0]) for line in group.text("printed", 0).splitlines()] == [5, 6]
    for each in group.weights():
        assert largest_difference(whole, each) < 1e-10


def test_all_stop_when_one_is_asked_to(begin: Begin, tmp_path: Path) -> None:
    group = begin(tmp_path / "run", *[{"steps": 100_000, "evaluate_every": 100_000}] * 2)
    _wait_for(lambda: len(group.text("printed", 1).splitlines()) >= 3)
    # Twice, as from a terminal and from a launcher, and to the one that does not write.
    for _ in range(2):
        os.kill(group.numbers[1], signal.SIGINT)
    assert group.end() == [130, 130]
    newest = Checkpoints(group.folder / "checkpoints").newest()
    assert newest is not None
    assert {group.text("printed", number).splitlines()[-1].split()[0] for number in (0, 1)} == {str(newest.step)}


@pytest.mark.long
def test_all_stop_at_the_end_of_the_minutes(begin: Begin, tmp_path: Path) -> None:
    group = begin(tmp_path / "run", *[{"steps": None, "minutes": 0.01}] * 2)
    assert group.end() == [0, 0], group.text("errors", 0)
    assert group.text("printed", 0) == group.text("printed", 1) != ""
    one, two = group.weights()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_a_lost_process_ends_the_others_with_a_code_for_the_launcher(begin: Begin, tmp_path: Path) -> None:
    group = begin(tmp_path / "run", *[{"steps": 100_000, "evaluate_every": 100_000}] * 2)
    _wait_for(lambda: len(group.text("printed", 1).splitlines()) >= 3)
    os.kill(group.numbers[1], signal.SIGKILL)
    assert group.end() == [1, -signal.SIGKILL]  # of an error that this small program does not catch
    assert "LostProcessError" in group.text("errors", 0)


@pytest.mark.long
@pytest.mark.parametrize("shard", [False, True])
def test_an_error_of_one_is_the_end_of_all_though_none_exits_before_the_others(
    begin: Begin, tmp_path: Path, shard: bool
) -> None:
    """Also where torch keeps the group of processes and its connections."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoints").touch()  # where the first process wants to make a folder
    settings = {**FLOAT64, "steps": 100_000, "checkpoint_every": 2, "evaluate_every": 100_000, "shard": shard}
    group = begin(tmp_path / "run", *[settings] * 2)
    assert group.end() == [2, 2]
    said = [group.text("errors", number).splitlines()[-1] for number in (0, 1)]
    assert said[0] == said[1]
    assert str(tmp_path / "run" / "checkpoints") in said[0]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param([["--batch", "8"], ["--batch", "6"]], "train.batch = 8", id="unequal recipes"),
        pytest.param([["--batch", "1"]] * 2, "got steps of 1", id="more processes than rows", marks=pytest.mark.long),
        pytest.param([["--size", "vast"]] * 2, "vast", id="a size that is none", marks=pytest.mark.long),
    ],
)
def test_bad_input_is_one_sentence(begin: Begin, tmp_path: Path, words: list[list[str]], code: str) -> None:
    row = TASKS[0]
    text = str(row.write(tmp_path))
    usual = ["train", "masked-lm", text, "--steps", "2", "--vocabulary", "160", "--length", "24", "--device", "cpu"]
    usual += ["--out", str(tmp_path / "run"), "--validation", "0.2", "--quiet", "--set", "train.compile=off"]
    usual += ["--family", "bert", *(["--size", "tiny"] if "--size" not in words[0] else [])]
    group = begin(tmp_path / "group", *[[*usual, *more] for more in words])
    assert group.end() == [2, 2], group.text("errors", 0)
    assert len(group.text("errors", 0).splitlines()) == 1
    assert code in group.text("errors", 0)
    assert group.text("errors", 1) == group.text("printed", 1) == ""
    assert not (tmp_path / "run").exists()


def _wait_for(found: Callable[[], bool]) -> None:
    last = time.monotonic() + 60
    while not found():
        assert time.monotonic() < last
        time.sleep(0.01)


@pytest.mark.long
def test_compiled_steps_of_processes_stay_compiled(begin: Begin, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"compile": "on", "precision": "float32", "steps": 4, "threads": 1}
    whole, _ = train_toy(tmp_path / "alone", dropout=0.3, held_out=Toy(seed=5), **{**settings, "compile": "off"})
    group = begin(tmp_path / "run", *[settings] * 2)
    assert group.end() == [0, 0], group.text("errors", 0)
    newest = Checkpoints(group.folder / "checkpoints").newest()
    assert newest is not None
    assert newest.facts["compiled"] is True
    for each in group.weights():
        assert largest_difference(whole, each) < 1e-6
