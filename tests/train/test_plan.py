"""The plan counts what can be counted and leaves the model as it was."""

from __future__ import annotations

import json

import pytest
import torch

from glassformer.errors import ConfigError
from glassformer.train.checkpoint import weights
from glassformer.train.plan import plan
from tests.train.toy import Toy, toy_model, toy_settings


def test_the_plan_adds_up() -> None:
    model = toy_model(dropout=0.1)
    before = {name: tensor.clone() for name, tensor in weights(model).items()}
    seen = plan(model, Toy(), toy_settings(steps=100, accumulate=2))
    count = sum(parameter.numel() for parameter in model.parameters())
    assert (seen.parameters, seen.trained_parameters) == (count, count)
    assert (seen.weights_bytes, seen.gradients_bytes, seen.optimizer_bytes) == (4 * count, 4 * count, 8 * count)
    assert seen.checkpoint_bytes == 12 * count
    assert (seen.steps, seen.epochs, seen.pieces_per_step, seen.rows_per_step) == (100, 40.0, 92, 8)
    assert seen.seconds == pytest.approx(seen.setup_seconds + 100 * seen.seconds_per_step)
    assert seen.pieces_per_second == pytest.approx(92 / seen.seconds_per_step, rel=0.01)  # 92 is rounded
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
    with pytest.raises(ConfigError, match="a run needs an end"):
        plan(toy_model(), Toy(), toy_settings(steps=None))
