"""The plan counts what can be counted and leaves the model as it was."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from glassformer.base.errors import ConfigError
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.training import plan as probe
from glassformer.training.checkpoint import weights
from glassformer.training.plan import plan
from tests.refusals import refused
from tests.training.toy import Toy, toy_model, toy_settings


def test_the_plan_adds_up() -> None:
    model = toy_model(dropout=0.1)
    before = {name: tensor.clone() for name, tensor in weights(model).items()}
    seen = plan(model, Toy(), toy_settings(steps=100, accumulate=2))
    count = sum(parameter.numel() for parameter in model.parameters())
    assert (seen.parameters, seen.trained_parameters) == (count, count)
    assert (seen.weights_bytes, seen.gradients_bytes, seen.optimizer_bytes) == (4 * count, 4 * count, 8 * count)
    assert seen.checkpoint_bytes == 12 * count
    assert (seen.steps, seen.epochs, seen.tokens_per_step, seen.rows_per_step) == (100, 40.0, 92, 8)
    assert seen.seconds_of_run == pytest.approx(seen.setup_seconds + 100 * seen.seconds_per_step)
    assert seen.seconds == pytest.approx(seen.preparing_seconds + seen.seconds_of_run)
    assert seen.tokens_per_second == pytest.approx(92 / seen.seconds_per_step, rel=0.01)  # 92 is rounded
    assert not seen.compiled
    assert seen.peak_bytes is None or seen.peak_bytes > 50_000_000  # torch alone is more
    assert all(torch.equal(before[name], tensor) for name, tensor in weights(model).items())
    assert json.loads(json.dumps(seen.to_dict()))["steps"] == 100


def test_a_plan_by_the_clock() -> None:
    seen = plan(toy_model(), Toy(), toy_settings(steps=None, minutes=1.0, ema=0.9))
    assert seen.steps == pytest.approx(60 / seen.seconds_per_step, rel=0.2)
    assert seen.optimizer_bytes == 3 * seen.weights_bytes


def test_frozen_weights_cost_no_gradients() -> None:
    model = toy_model()
    model.requires_grad_(False)
    assert model.head is not None
    model.head.requires_grad_(True)
    seen = plan(model, Toy(), toy_settings())
    assert 0 < seen.trained_parameters < seen.parameters
    assert seen.gradients_bytes == 4 * seen.trained_parameters


def test_a_plan_needs_an_end() -> None:
    with refused(ConfigError, do=("train.steps", "train.epochs", "train.minutes")):
        plan(toy_model(), Toy(), toy_settings(steps=None))


def test_it_recomputes_as_the_run_would(monkeypatch: pytest.MonkeyPatch) -> None:
    recomputed: list[object] = []

    def seen(block: Any, *given: Any, **named: Any) -> Any:
        recomputed.append(block)
        return checkpoint(block, *given, **named)

    monkeypatch.setattr("glassformer.models.stack.checkpoint", seen)
    model = toy_model()
    plan(model, Toy(), toy_settings(activation_checkpointing=True), steps=1)
    assert len(recomputed) == 2 * 2  # two blocks, the step twice
    assert model.encoder is not None
    assert not model.encoder.recompute


class Bucketed(Toy):
    """Steps of different sizes. A token takes a second, and a size that is met for the first time a minute more."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.known: set[int] = set()

    @property
    def steps_per_epoch(self) -> float:
        return 4

    def rows(self, step: int) -> int:
        return 2 + step % 4

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        return replace(Toy(size=self.rows(step)).batch(0, part, parts), tokens=10 * self.rows(step))

    def loss(self, model: Transformer, batch: Batch) -> Tensor:
        self.now += batch.tokens + 60 * (batch.tokens not in self.known)
        self.known.add(batch.tokens)
        return super().loss(model, batch)


def test_rows_in_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a new shape takes is set-up, and the speed is that of all steps, not only of those that were tried."""
    task = Bucketed()
    monkeypatch.setattr(probe, "time", SimpleNamespace(monotonic=lambda: task.now, thread_time=lambda: task.now))
    seen = plan(toy_model(), task, toy_settings(steps=100), steps=3)
    assert (seen.setup_seconds, seen.seconds_per_step, seen.tokens_per_second) == (180, 35, 1)
    assert (seen.tokens_per_step, seen.seconds) == (35, 180 + 100 * 35)


class Lasting(Toy):
    """A thousand rows, each of which takes half a second to evaluate."""

    steps_per_epoch = 125  # of 8 rows

    def __init__(self, clock: Bucketed) -> None:
        super().__init__()
        self.clock = clock

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        self.clock.now += 0.5 * (limit or 0)
        return {}


@pytest.mark.parametrize(
    ("settings", "steps", "evaluations"),
    [({"steps": 100, "evaluate_every": 30}, 100, 4), ({"steps": None, "minutes": 100.0, "evaluate_every": 30}, 135, 5)],
)
def test_evaluations_and_the_end_are_counted(
    settings: dict[str, Any], steps: int, evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An evaluation of 512 rows is computed from 32; those before the last are within the minutes of a run."""
    task = Bucketed()
    task.shapes = 4
    monkeypatch.setattr(probe, "time", SimpleNamespace(monotonic=lambda: task.now, thread_time=lambda: task.now))
    seen = plan(toy_model(), task, toy_settings(**settings), held_out=Lasting(task), end=lambda: 7.0, began=-5.0)
    assert (seen.preparing_seconds, seen.setup_seconds, seen.ending_seconds) == (5, 240, 7)
    assert (seen.steps, seen.evaluations, seen.evaluation_seconds) == (steps, evaluations, 256)
    assert seen.seconds_of_run == 240 + steps * 35 + evaluations * 256
    assert seen.seconds == 5 + seen.seconds_of_run + 7


@pytest.mark.parametrize(("probe_seconds", "steps"), [(0.0, 164), (700.0, 144)])
def test_the_minutes_of_a_linear_probe_are_a_part_of_those_of_the_run(
    probe_seconds: float, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 6,000 seconds, 240 compile, and a step takes 35."""
    task = Bucketed()
    task.shapes = 4
    monkeypatch.setattr(probe, "time", SimpleNamespace(monotonic=lambda: task.now, thread_time=lambda: task.now))
    settings = toy_settings(steps=None, minutes=100.0)
    seen = plan(toy_model(), task, settings, probe_seconds=probe_seconds)
    assert seen.steps == steps
    assert seen.seconds_of_run == 240 + 35 * steps
