"""How often a run is saved, by a clock that the test sets; what a run that was killed early finds on disk."""

import shutil
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor

from glassformer.base.errors import CheckpointError
from glassformer.models.transformer import Transformer
from glassformer.training.budget import Cadence
from glassformer.training.checkpoint import Checkpoints, weights
from glassformer.training.loop import fit
from tests.damage import flipped_bits
from tests.training.clock import Clock, Slow
from tests.training.toy import Toy, toy_model, toy_settings


def saved(clock: Clock, cadence: Cadence, *, seconds: int, cost: float) -> list[float]:
    """When checkpoints are written in a run of steps of a second each."""
    began, times = clock.now, []
    while clock.now - began < seconds:
        clock.now += 1
        if cadence.due:
            with cadence.saving():
                clock.now += cost
            times.append(clock.now - began)
    return times


@pytest.mark.parametrize(
    ("minutes", "wanted"),
    [(5.0, [60, 360, 660, 960]), (0.5, [*range(30, 1000, 30)]), (20.0, [60])],
)
def test_the_first_comes_after_a_minute_and_then_one_as_often_as_asked(minutes: float, wanted: list[float]) -> None:
    clock = Clock()
    assert saved(clock, Cadence(60 * minutes, clock), seconds=1000, cost=0.0) == wanted


@pytest.mark.parametrize("cost", [0.5, 7.0, 90.0])
def test_saving_takes_at_most_a_hundredth_of_the_time(cost: float) -> None:
    clock = Clock()
    times = saved(clock, Cadence(300, clock), seconds=100_000, cost=cost)
    apart = [later - earlier for earlier, later in pairwise(times)]
    assert min(apart) >= 300
    assert cost * len(apart) <= sum(apart) / 100
    assert max(apart) <= max(300, 100 * cost) + cost + 1  # and no more seldom than that asks for


def test_a_run_saves_by_the_clock_and_says_once_what_it_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, said = Clock(), list[str]()
    monkeypatch.setattr(sys.modules["glassformer.training.run"], "Cadence", partial(Cadence, clock=clock))
    chosen = toy_settings(steps=100, keep=9)
    steps = fit(toy_model(), Slow(clock), chosen, out=tmp_path, log=said.append)
    for _ in range(50):
        next(steps)
    folder = tmp_path / "checkpoints"
    assert sorted(path.name[-3:] for path in folder.iterdir()) == ["006", "036"]
    (found,) = [message for message in said if message.startswith("a checkpoint takes")]
    assert "every 5 minutes" in found
    del steps
    # Resumed after step 36, a minute later again: a run that is killed every few minutes gets on.
    list(fit(toy_model(), Slow(clock), chosen, out=tmp_path, resume=True, log=said.append))
    assert sorted(path.name[-3:] for path in folder.iterdir()) == ["006", "036", "042", "072", "100"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("keep", [1, 2, 3])
def test_never_more_checkpoints_than_are_to_be_kept(tmp_path: Path, keep: int) -> None:
    """Also where one is written by chance between two that were chosen, and after a kill before the old ones went."""
    folder = tmp_path / "checkpoints"
    chosen = toy_settings(steps=20, checkpoint_every=4, keep=keep)
    for stop in (6, 11, 20):
        steps = fit(toy_model(), Toy(), chosen, out=tmp_path, resume=True, log=lambda message: None)
        for step in steps:
            assert len(list(folder.glob("step-*"))) <= keep
            if step.step == stop:
                break
        newest = Checkpoints(folder).newest()
        assert newest is not None
        many = Checkpoints(folder, keep=9)
        for more in range(3):
            many.save(newest.step - 3 + more, {"model": {}}, {})


def test_the_best_model_of_a_run_without_a_checkpoint_stays_until_another_is_judged(tmp_path: Path) -> None:
    folder, said = tmp_path / "checkpoints", list[str]()

    def best() -> list[str]:
        return [path.name for path in folder.glob("best-*")]

    killed = fit(
        toy_model(), Toy(), toy_settings(steps=9, evaluate_every=3, learning_rate=1e-2), out=tmp_path,
        held_out=Toy(seed=5), log=lambda message: None,
    )  # fmt: skip
    for _ in range(4):
        next(killed)
    del killed
    assert best() == ["best-00000003"]
    assert not Checkpoints(folder)
    chosen = toy_settings(steps=9, evaluate_every=2, checkpoint_every=1)
    steps = fit(toy_model(), Toy(), chosen, out=tmp_path, held_out=Toy(seed=5), resume=True, log=said.append)
    next(steps)
    assert any("no checkpoint to resume" in message for message in said)
    assert best() == ["best-00000003"]
    next(steps)
    assert best() == ["best-00000002"]


class Worsening(Toy):
    """Each evaluation is worse than the one before."""

    asked = 0

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        self.asked += 1
        return {"loss": float(self.asked)}


def test_a_damaged_best_model_is_reported_and_the_advice_gives_the_last_weights(tmp_path: Path) -> None:
    said: list[str] = []

    def run() -> dict[str, Tensor]:
        model = toy_model()
        chosen = toy_settings(steps=6, evaluate_every=2)
        list(fit(model, Toy(), chosen, out=tmp_path, held_out=Worsening(), resume=True, log=said.append))
        return weights(model)

    run()
    best = tmp_path / "checkpoints" / "best-00000002"
    path = best / "model.safetensors"
    for _ in flipped_bits(path, count=0):
        with pytest.raises(CheckpointError) as caught:
            run()
    assert str(best) in caught.value.do
    shutil.rmtree(best)
    kept = run()
    last = Checkpoints(tmp_path / "checkpoints").newest()
    assert last is not None
    assert all(torch.equal(tensor, kept[name]) for name, tensor in last.tensors("model").items())
    assert said[-1].startswith("keeping the last weights")
