"""The losses of a batch as one function: compiled where that saves time, else eager."""

from __future__ import annotations

import time
from collections.abc import Mapping

import torch
from torch import Tensor

from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.runtime import compiler
from glassformer.runtime.device import Log, Machine
from glassformer.tasks.feed import Feed
from glassformer.training.budget import Budget
from glassformer.training.settings import TrainSection

# Compiling a shape takes 15 to 60 seconds on two cores and makes a step two to three times as fast: from here on it
# saves time.
_REPAID_SECONDS = 150.0
# Roughly the speed of one core in eager float32: precise enough to distinguish a run of seconds from one of minutes.
# The choice must not depend on a measurement, or a resumed run could choose otherwise than an uninterrupted one.
_OPERATIONS_PER_SECOND = {"cpu": 1e11, "cuda": 2e13}


class LossAndGradient:
    """A feed's losses and their gradients on this machine.

    `compiled` turns False when a shape cannot be compiled: a failed compile is never fatal. `setup` counts the seconds
    that the first batch of each shape took.
    """

    def __init__(self, feed: Feed, model: Transformer, machine: Machine, *, compiled: bool, log: Log) -> None:
        self._feed, self._model, self._machine, self._log = feed, model, machine, log
        self.compiled, self.setup = compiled, 0.0
        self._proved: set[tuple[int, int]] = set()
        # The step's function is compiled, never the module: a model can be traced while it trains.
        self._function = compiler.compiled(self._eager) if compiled else self._eager

    def __call__(self, batch: Batch, counts: Mapping[str, float]) -> dict[str, float]:
        """By name, the losses of a batch on the machine's device as shares of `counts`; adds the gradient of their
        weighted sum.
        """
        if not self.compiled:
            return self._learn(batch, counts)
        shape, started = batch.inputs.shape, time.monotonic()
        try:
            # Forward and backward together: the backward pass is compiled at its first run, and may fail there too.
            losses = self._learn(batch, counts)
        except Exception as error:
            if shape in self._proved and not compiler.is_the_compilers(error):
                raise
            self.compiled, self._function = False, self._eager
            losses = self._learn(batch, counts)  # an error of the task itself occurs here again, and is raised
            self._log(f"could not compile ({compiler.reason_of(error)}); continuing without")
        if shape not in self._proved:
            self._proved.add(shape)
            self.setup += time.monotonic() - started
        return losses

    def _learn(self, batch: Batch, counts: Mapping[str, float]) -> dict[str, float]:
        sums = self._function(batch)
        losses = {name: total / (counts[name] or 1.0) for name, total in sums.items()}
        weighted = [loss * self._feed.weights[name] for name, loss in losses.items()]
        total = weighted[0]
        for each in weighted[1:]:
            total = total + each
        total.backward()
        return {name: float(loss.detach()) for name, loss in losses.items()}

    def _eager(self, batch: Batch) -> dict[str, Tensor]:
        with self._machine.context():
            return self._feed.losses(self._model, batch)


def worth_compiling(
    settings: TrainSection, budget: Budget, model: torch.nn.Module, feed: Feed, tokens: float, machine: Machine
) -> tuple[bool, str]:
    """Whether to compile a run with steps of `tokens` tokens on average, and the reason as a sentence."""
    if settings.compile != "auto":
        return settings.compile == "on", f"compile = {settings.compile}"
    if not compiler.has_compiler(machine.device):
        needed = "Triton" if machine.device.type == "cuda" else "C++ compiler"
        return False, f"not compiled: there is no {needed} here"
    weights = sum(parameter.numel() for parameter in model.parameters())
    speed = _OPERATIONS_PER_SECOND.get(machine.device.type, 1e11)
    by_steps = float("inf") if budget.steps is None else budget.steps * 6.0 * weights * tokens / speed
    expected = min(by_steps, float("inf") if budget.seconds is None else budget.seconds)
    if expected < _REPAID_SECONDS * feed.shapes:
        return False, "not compiled: the run is too short for compiling to save time"
    return True, "compiled: the first step of each shape takes up to a minute, the others a fraction"
