"""Which weights a run ends with: the best, an average, the last; and which checkpoints stay."""

import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.models.transformer import Transformer
from glassformer.training.budget import Cadence, with_one_wrong
from glassformer.training.checkpoint import Checkpoints
from glassformer.training.loop import fit
from glassformer.training.run import better_if_higher
from tests.training.clock import Clock, Slow
from tests.training.runs import train
from tests.training.toy import Toy, toy_model, toy_settings


class Getting(Toy):
    """Evaluates to numbers given beforehand."""

    def __init__(self, *losses: float) -> None:
        super().__init__()
        self.held_out_losses = list(losses)
        self.seen: list[Tensor] = []

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        self.seen.append(model.word_table.detach().clone())
        return {"loss": self.held_out_losses.pop(0)}


class Right(Getting):
    """Evaluates to accuracies: more is better."""

    def __init__(self, *accuracies: float) -> None:
        super().__init__(*accuracies)
        self.best = "accuracy"

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        return {"accuracy": super().evaluate(model)["loss"]}


def test_the_best_model_is_the_best_by_the_score_of_its_task(tmp_path: Path) -> None:
    held_out = Right(0.25, 0.75, 0.75, 0.5)  # of equal ones the first
    said: list[str] = []
    kept, _ = train(tmp_path, held_out=held_out, steps=8, evaluate_every=2, said=said.append)
    assert torch.equal(kept["encoder.embed.word.weight"], held_out.seen[1])
    assert any("step 4" in note and "accuracy" in note and "0.75" in note for note in said)


@pytest.mark.parametrize(("of_mean", "mean_is_kept"), [(0.5, True), (1.0, False)])
def test_half_way_to_measured_first_weights_is_kept_where_it_is_better(
    tmp_path: Path, of_mean: float, mean_is_kept: bool
) -> None:
    held_out = Getting(3.0, 2.0, 1.0, 1.5, 1.5, of_mean)  # before the first step, after 2, 4, 6 and 8, of the mean
    settings: dict[str, Any] = {"steps": 8, "evaluate_every": 2, "start_seconds": 0.0}
    kept, _ = train(tmp_path, held_out=held_out, **settings)
    start, best = (load_file(tmp_path / "checkpoints" / f"best-{step:08d}" / "model.safetensors") for step in (0, 4))
    for name, tensor in kept.items():
        # One rounding of the mean in float64, which is exact.
        mean = ((start[name].double() + best[name].double()) / 2).to(tensor.dtype)
        assert torch.equal(tensor, mean if mean_is_kept else best[name]), name
    word = "encoder.embed.word.weight"
    assert torch.equal(held_out.seen[0], start[word])
    assert not torch.equal(start[word], best[word])
    again, _ = train(tmp_path, held_out=Getting(of_mean), resume=True, **settings)  # it had ended
    assert all(torch.equal(again[name], kept[name]) for name in kept)


def test_where_the_best_is_deleted_the_last_weights_are_kept_not_the_first(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"steps": 8, "evaluate_every": 2, "start_seconds": 0.0}
    train(tmp_path, held_out=Getting(3.0, 2.0, 1.0, 1.5, 1.5, 2.5), **settings)
    best, last = (tmp_path / "checkpoints" / f"best-{step:08d}" for step in (4, 8))
    shutil.rmtree(best)
    said: list[str] = []
    kept, _ = train(tmp_path, held_out=Getting(2.5), resume=True, said=said.append, **settings)
    newest = load_file(tmp_path / "checkpoints" / last.name.replace("best", "step") / "model.safetensors")
    assert all(torch.equal(kept[name], tensor) for name, tensor in newest.items())
    assert any("step 4" in note and "missing" in note for note in said)


def test_where_the_first_weights_are_the_best_no_mean_is_measured(tmp_path: Path) -> None:
    held_out = Getting(1.0, 2.0, 3.0)
    kept, _ = train(tmp_path, held_out=held_out, steps=4, evaluate_every=2, start_seconds=0.0)
    assert torch.equal(kept["encoder.embed.word.weight"], held_out.seen[0])


class RightAndSure(Right):
    """Evaluates to the same accuracy, with losses given beforehand."""

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        return {"loss": super().evaluate(model)["accuracy"], "accuracy": 0.5}


def test_of_equal_scores_the_lower_loss_is_better_and_no_lack_of_progress(tmp_path: Path) -> None:
    held_out = RightAndSure(3.0, 1.0, 0.5, 2.0, 2.0, 2.0)
    kept, steps = train(tmp_path, held_out=held_out, steps=12, evaluate_every=2, patience=2)
    assert torch.equal(kept["encoder.embed.word.weight"], held_out.seen[2])
    assert steps[-1].step == 10  # two evaluations after the best one


class FewRightAndSure(RightAndSure):
    """On so few examples that the loss decides."""

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        return {**super().evaluate(model), "accuracy": len(self.seen) / 10, "targets": 20.0}


def test_where_the_loss_decides_it_is_reported_with_the_score(tmp_path: Path) -> None:
    """The accuracy rises all the time, from 0.1 at step 0."""
    said: list[str] = []
    kept, _ = train(
        tmp_path, held_out=(held_out := FewRightAndSure(0.8162, 1.5, 1.72)), said=said.append, steps=4,
        evaluate_every=2, start_seconds=0.0,
    )  # fmt: skip
    assert torch.equal(kept["encoder.embed.word.weight"], held_out.seen[0])
    found = [each for each in said if "step 0, the initial weights" in each]
    assert len(found) == 2
    assert all("loss of 0.8162" in each and "accuracy of 0.1000" in each for each in found)
    assert "100" in found[0]


class VeryFew(RightAndSure):
    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        return {**super().evaluate(model), "accuracy": 1.0, "targets": 4.0}


def test_four_right_answers_are_no_reason_for_more_confidence(tmp_path: Path) -> None:
    """Of four examples a confidence of 0.8 has the least loss with one wrong answer more; 0.94 is worse than 0.66."""
    losses = np.linspace(0.01, 3, 500)
    of = [np.mean([*[loss] * 4, -np.log(1 - np.exp(-loss))]) for loss in losses]
    assert [with_one_wrong(float(loss), 4) for loss in losses] == pytest.approx(of, rel=1e-12)
    assert np.exp(-losses[np.argmin(of)]) == pytest.approx(0.8, abs=0.005)  # the losses differ by 0.006
    held_out = VeryFew(0.4132, 0.0606, 0.03)
    kept, _ = train(tmp_path, held_out=held_out, steps=4, evaluate_every=2, start_seconds=0.0)
    assert torch.equal(kept["encoder.embed.word.weight"], held_out.seen[0])


class BetterAndSure(RightAndSure):
    """Half of four answers are right at first, and all of them later."""

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        return {**super().evaluate(model), "accuracy": 0.5 if len(self.seen) == 1 else 1.0, "targets": 4.0}


def test_more_right_answers_and_a_lower_loss_are_better_whatever_the_confidence(tmp_path: Path) -> None:
    held_out = BetterAndSure(0.6931, 0.001, 0.0005, 0.5)  # the last is the loss of the mean of the weights
    kept, _ = train(tmp_path, held_out=held_out, steps=4, evaluate_every=2, start_seconds=0.0)
    assert not torch.equal(kept["encoder.embed.word.weight"], held_out.seen[0])


class RightThenSure(Right):
    """Evaluates to an accuracy by chance at first and 0 afterwards, with losses given beforehand."""

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        return {"loss": super().evaluate(model)["accuracy"], "accuracy": 0.25 if len(self.seen) == 1 else 0.0}


def test_patience_waits_while_the_loss_falls(tmp_path: Path) -> None:
    held_out = RightThenSure(3.0, 2.0, 1.0, 0.5, 0.75, 0.75, 0.5)
    kept, steps = train(tmp_path, held_out=held_out, steps=100, evaluate_every=2, patience=2)
    assert steps[-1].step == 12
    assert torch.equal(kept["encoder.embed.word.weight"], held_out.seen[0])


def test_the_best_model_is_kept(tmp_path: Path) -> None:
    held_out = Getting(3.0, 1.0, 2.0, 2.5)
    said: list[str] = []
    kept, steps = train(tmp_path, held_out=held_out, steps=8, evaluate_every=2, said=said.append)
    assert [step.step for step in steps if step.scores] == [2, 4, 6, 8]
    assert torch.equal(kept["encoder.embed.word.weight"], held_out.seen[1])
    assert any("keeping step 4," in message for message in said)
    assert [path.name for path in (tmp_path / "checkpoints").glob("best-*")] == ["best-00000004"]


def test_the_best_of_a_run_that_was_thrown_back(tmp_path: Path) -> None:
    """Killed after step 6, whose best no checkpoint knows, and other numbers the second time: step 2 stays best."""
    settings: dict[str, Any] = {"steps": 8, "evaluate_every": 2, "checkpoint_every": 3, "keep": 1}
    first = Getting(2.0, 3.0, 1.0)
    killed = fit(toy_model(), Toy(), toy_settings(**settings), out=tmp_path, held_out=first, log=lambda message: None)
    for _ in range(5):
        next(killed)
    folder = tmp_path / "checkpoints"
    checkpoints = Checkpoints(folder)
    del killed
    checkpoints.save(6, {"model": {"a": torch.ones(1)}}, {}, kind="best")  # killed before the checkpoint of step 6
    second = Getting(3.0, 4.0, 5.0)
    said: list[str] = []
    kept, _ = train(tmp_path, held_out=second, resume=True, said=said.append, **settings)
    assert torch.equal(kept["encoder.embed.word.weight"], first.seen[0])
    assert said[-1].startswith("keeping step 2, the best, ")
    assert [path.name for path in folder.glob("best-*")] == ["best-00000002"]


def test_the_best_that_the_newest_checkpoint_knows_is_kept_until_the_next(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"steps": 9, "evaluate_every": 2, "checkpoint_every": 3, "keep": 1}
    steps = fit(
        toy_model(), Toy(), toy_settings(**settings), out=tmp_path, held_out=Getting(4.0, 3.0, 2.0, 1.0, 5.0),
        log=lambda message: None,
    )  # fmt: skip
    seen = [sorted(int(path.name[-2:]) for path in (tmp_path / "checkpoints").glob("best-*")) for _ in steps]
    assert seen == [[], [2], [2], [2, 4], [2, 4], [6], [6], [6, 8], [8]]


def test_patience_ends_the_run(tmp_path: Path) -> None:
    held_out = Getting(3.0, 1.0, 2.0, 2.5, 0.5)
    _, steps = train(tmp_path, held_out=held_out, steps=100, evaluate_every=2, patience=2)
    assert steps[-1].step == 8
    assert [step.fraction == 1 for step in steps] == [False] * 7 + [True]
    # Resumed, it has no more patience than before.
    _, more = train(tmp_path, held_out=held_out, steps=100, evaluate_every=2, patience=2, resume=True)
    assert more == []


def test_the_moving_average_is_what_is_judged_and_kept(tmp_path: Path) -> None:
    held_out = Getting(3.0, 1.0)
    kept, _ = train(tmp_path / "judged", held_out=held_out, steps=4, evaluate_every=2, ema=0.9)
    assert torch.equal(kept["encoder.embed.word.weight"], held_out.seen[1])
    newest = Checkpoints(tmp_path / "judged" / "checkpoints", keep=2).newest()
    assert newest is not None
    average, last = (newest.tensors(group)["encoder.embed.word.weight"] for group in ("average", "model"))
    assert torch.equal(kept["encoder.embed.word.weight"], average)
    assert not torch.equal(average, last)
    alone, _ = train(tmp_path / "alone", steps=4, ema=0.9)
    assert torch.equal(alone["encoder.embed.word.weight"], average)


def test_the_mean_of_the_last_checkpoints(tmp_path: Path) -> None:
    kept, _ = train(tmp_path, steps=8, checkpoint_every=2, average=3)
    folders = sorted((tmp_path / "checkpoints").glob("step-*"))
    assert [folder.name for folder in folders] == ["step-00000004", "step-00000006", "step-00000008"]
    saved = [load_file(folder / "model.safetensors") for folder in folders]
    for name, tensor in kept.items():
        mean = torch.stack([each[name].double() for each in saved]).mean(0)
        assert (tensor.double() - mean).abs().max() < 1e-7  # rounded to float32


@pytest.mark.parametrize("removed", [True, False])
def test_checkpoints_by_the_clock_are_not_in_the_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: bool
) -> None:
    """A step takes ten seconds and the clock saves every twenty, the settings every four steps: steps 4, 8 and 10, the
    last, count. Also where the others cannot be removed.
    """
    clock = Clock()
    monkeypatch.setattr(sys.modules["glassformer.training.run"], "Cadence", partial(Cadence, clock=clock))
    if not removed:
        monkeypatch.setattr(sys.modules["glassformer.training.checkpoint"], "remove", not_allowed)
    model = toy_model()
    settings = toy_settings(steps=10, checkpoint_every=4, checkpoint_minutes=1 / 3, average=3)
    tables: dict[int, Tensor] = {}
    saved: set[str] = set()
    for step in fit(model, Slow(clock), settings, out=tmp_path, log=lambda message: None):
        saved |= {path.name for path in (tmp_path / "checkpoints").glob("step-*")}
        tables[step.step] = model.word_table.detach().double().clone()
    assert {"step-00000002", "step-00000006"} <= saved  # by the clock
    last = load_file(tmp_path / "checkpoints" / "step-00000010" / "model.safetensors")["encoder.embed.word.weight"]
    mean = (tables[4] + tables[8] + last.double()) / 3
    assert torch.equal(model.word_table, mean.float())


def not_allowed(path: Path) -> None:
    raise PermissionError(f"{path} is kept by another program")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("ema", [None, 0.9])
@pytest.mark.parametrize(
    ("losses", "kept_model", "messages"),
    [
        ((4.0, 2.0, 3.0, 1.0), "mean", ("the mean of the checkpoints", "step, 4, has a held-out loss of 2")),
        ((4.0, 1.0, 3.0, 2.0), "best", ("step 4, the best", "steps 4, 6 has a held-out loss of 2")),
    ],
)
def test_of_the_mean_and_the_best_model_the_better_is_kept(
    tmp_path: Path, ema: float | None, losses: tuple[float, ...], kept_model: str, messages: tuple[str, str]
) -> None:
    held_out, said = Getting(*losses), list[str]()
    settings: dict[str, Any] = {"steps": 6, "evaluate_every": 2, "checkpoint_every": 2, "average": 2, "ema": ema}
    kept, _ = train(tmp_path, held_out=held_out, said=said.append, **settings)
    group = "model" if ema is None else "average"
    one, two = (
        each.tensors(group)["encoder.embed.word.weight"] for each in Checkpoints(tmp_path / "checkpoints").all()
    )
    mean = ((one.double() + two.double()) / 2).float()
    assert torch.equal(held_out.seen[3], mean)  # evaluated last, as a model of its own
    assert torch.equal(kept["encoder.embed.word.weight"], mean if kept_model == "mean" else held_out.seen[1])
    assert said[-1].startswith(f"keeping {messages[0]}")
    assert messages[1] in said[-1]


def test_only_the_last_checkpoints_stay(tmp_path: Path) -> None:
    train(tmp_path, steps=7, checkpoint_every=2, keep=2)
    kept = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert kept == ["step-00000006", "step-00000007"]


def test_the_score_that_a_model_is_kept_by_is_negated_where_less_is_better() -> None:
    assert [better_if_higher(best, {"loss": 2.0, "accuracy": 0.5}) for best in ("-loss", "accuracy")] == [-2.0, 0.5]


def test_a_score_that_is_not_measured_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError) as refused:
        better_if_higher("f1", {"loss": 2.0, "accuracy": 0.5})
    assert (refused.value.got, refused.value.do) == ("'f1'", "loss, accuracy")
