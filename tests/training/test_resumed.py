"""A run that was stopped and resumed is the run that was not."""

import json
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.base.errors import CheckpointError
from glassformer.training.loop import fit
from glassformer.training.record import Step
from glassformer.training.settings import TrainSection
from glassformer.training.stopping import Interrupted
from tests.refusals import refused
from tests.training.runs import equal, train
from tests.training.toy import Toy, toy_model, toy_settings


@pytest.mark.parametrize(
    ("optimizer", "ema", "average"),
    [("bert-adam", None, None), ("muon", 0.9, None), ("muon", None, 2), ("bert-adam", 0.9, 3)],
)
def test_stopped_and_resumed_is_unbroken(
    tmp_path: Path, optimizer: str, ema: float | None, average: int | None
) -> None:
    chosen: dict[str, Any] = {"steps": 9, "dropout": 0.2, "ema": ema, "checkpoint_every": 4, "optimizer": optimizer}
    chosen |= {"average": average}
    held_out = Toy(seed=5)
    whole, found = train(tmp_path / "whole", held_out=held_out, **chosen)
    stopped = fit(
        toy_model(dropout=0.2), Toy(), _settings(chosen), out=tmp_path / "cut", held_out=held_out, log=lambda m: None
    )
    for _ in range(6):
        next(stopped)
    del stopped
    said: list[str] = []
    torch.manual_seed(99)
    resumed, more = train(
        tmp_path / "cut", toy_model(dropout=0.2, seed=7), held_out=held_out, resume=True, said=said.append, **chosen
    )  # fmt: skip
    assert equal(whole, resumed)
    assert [step.loss for step in more] == [step.loss for step in found[4:]]
    assert [step.means for step in more] == [step.means for step in found[4:]]
    assert [step.scores for step in more] == [step.scores for step in found[4:]]
    assert "toy: continuing after step 4" in said
    assert not any("may differ" in message for message in said)
    lines = {
        name: [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("whole", "cut")
    }
    by_the_clock = {"seconds": None, "tokens_per_second": None}
    assert [line | by_the_clock for line in lines["cut"]] == [line | by_the_clock for line in lines["whole"]]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("every", [2, None])
def test_ctrl_c_changes_no_average_and_no_best(tmp_path: Path, every: int | None) -> None:
    """Stopped after each odd step: checkpoints at other steps remove none of those that are averaged."""
    chosen: dict[str, Any] = {"steps": 9, "checkpoint_every": every, "average": every and 3, "keep": 1}
    chosen |= {"evaluate_every": 4} if every is None else {}
    stated: dict[str, list[str]] = {"whole": [], "cut": []}
    held_out = None if every else Toy(seed=5)
    whole, _ = train(tmp_path / "whole", held_out=held_out, said=stated["whole"].append, **chosen)
    for stop in (1, 3, 5, 7):
        steps = fit(
            toy_model(), Toy(), _settings(chosen), out=tmp_path / "cut", held_out=held_out, resume=True,
            log=lambda message: None,
        )  # fmt: skip
        with pytest.raises(Interrupted):
            _stop_after(stop, steps)
    cut, _ = train(tmp_path / "cut", held_out=held_out, resume=True, said=stated["cut"].append, **chosen)
    assert stated["cut"][-1] == stated["whole"][-1]
    assert stated["whole"][-1].startswith("keeping ")
    assert equal(whole, cut)


def _stop_after(stop: int, steps: Iterator[Step]) -> None:
    for step in steps:
        if step.step == stop:
            signal.raise_signal(signal.SIGINT)


def _settings(chosen: Mapping[str, object]) -> TrainSection:
    return toy_settings(**{name: value for name, value in chosen.items() if name != "dropout"})


def test_resuming_a_finished_run_gives_its_weights(tmp_path: Path) -> None:
    whole, _ = train(tmp_path, held_out=Toy(seed=5))
    again, steps = train(tmp_path, toy_model(seed=3), held_out=Toy(seed=5), resume=True)
    assert steps == []
    assert equal(whole, again)


def test_more_steps_later(tmp_path: Path) -> None:
    said: list[str] = []
    train(tmp_path, steps=4)
    _, more = train(tmp_path, resume=True, steps=6, said=said.append)
    assert [step.step for step in more] == [5, 6]
    assert any("settings.steps was 4 and is now 6" in message for message in said)


def test_a_difference_of_threads_is_reported(tmp_path: Path) -> None:
    said: list[str] = []
    train(tmp_path, steps=2)
    try:
        train(tmp_path, resume=True, steps=2, threads=2, said=said.append)
    finally:
        torch.set_num_threads(1)
    assert any("threads was 1 and is now 2" in message for message in said)


def test_resuming_nothing_begins(tmp_path: Path) -> None:
    _, steps = train(tmp_path, resume=True, steps=2)
    assert [step.step for step in steps] == [1, 2]


def test_a_folder_holds_one_run(tmp_path: Path) -> None:
    train(tmp_path, steps=1)
    with refused(CheckpointError, got=str(tmp_path / "checkpoints"), do="--resume"):
        train(tmp_path, steps=1)


def test_another_model_cannot_go_on(tmp_path: Path) -> None:
    from glassformer.models.families import bert
    from glassformer.models.transformer import build

    train(tmp_path, steps=1)
    other = build(bert(vocabulary=23, layers=3, width=16, heads=2, feed_forward=24, max_length=12))
    with refused(CheckpointError, wanted=("step-00000001", "encoder.blocks.2"), got="none"):
        train(tmp_path, other, steps=2, resume=True)
