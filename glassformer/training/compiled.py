"""The losses of a batch as one function: compiled where that saves time, else eager."""

import re
import time
from collections.abc import Mapping
from contextlib import nullcontext

import torch
from torch import Tensor

from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.parts.dropout import Dropout
from glassformer.runtime import compiler
from glassformer.runtime.device import Log, Machine
from glassformer.tasks.feed import Feed
from glassformer.training.budget import Budget
from glassformer.training.settings import TrainSection

# The set-up of one shape from a cold cache of kernels, in seconds: a part that every model has, and a part for each
# block, with a quarter more for slower machines (docs/measured/bench.md). The cold cache counts: the choice must
# not depend on what is in a cache or on any measurement, or a resumed run could choose otherwise than an uninterrupted
# one.
_SETUP_SECONDS, _SETUP_SECONDS_OF_A_BLOCK, _CAUTION = 37.0, 3.0, 1.25
# How much faster compiled steps are at least, without and with dropout, whose masks cost eager steps much.
_GAIN, _GAIN_WITH_DROPOUT = 1.15, 1.5
# More than one core does in eager steps: a run that is bounded by steps must not be taken for longer than it is.
_OPERATIONS_PER_SECOND = {"cpu": 2e11, "cuda": 2e14}
_FASTER_IN_BFLOAT16 = 2.0
_BLOCK = re.compile(r"(encoder|decoder)\.blocks\.\d+")


class LossAndGradient:
    """A feed's losses and gradients. `compiled` turns False when compiling fails; `setup` counts its seconds."""

    def __init__(self, feed: Feed, model: Transformer, machine: Machine, *, compiled: bool, log: Log) -> None:
        self._feed, self._model, self._machine, self._log = feed, model, machine, log
        self.compiled, self.setup = compiled, 0.0
        self._proved: set[tuple[tuple[int, int], tuple[int, int] | None]] = set()
        # The step's function is compiled, never the module: a model can be traced while it trains.
        self._function = compiler.compiled(self._eager) if compiled else self._eager

    def __call__(self, batch: Batch, counts: Mapping[str, float]) -> dict[str, float]:
        """By name, the losses of a batch as shares of `counts`; adds the gradient of their weighted sum."""
        if not self.compiled:
            return self._learn(batch, counts)
        second = batch.decoder_inputs
        shape, started = (batch.inputs.shape, None if second is None else second.shape), time.monotonic()
        first = shape not in self._proved
        before = [None if each.grad is None else each.grad.clone() for each in self._model.parameters() if first]
        try:
            # Forward and backward together: the backward pass is compiled at its first run, and may fail there too.
            with compiler.compiling() if first else nullcontext():
                losses = self._learn(batch, counts)
            if first and not self._finite():
                raise FloatingPointError("the compiled gradient is not finite")
        except Exception as error:
            if not first and not compiler.is_the_compilers(error):
                raise
            self.continue_without()
            for each, grad in zip(self._model.parameters(), before, strict=first):
                each.grad = grad
            losses = self._learn(batch, counts)  # an error of the task itself occurs here again, and is raised
            if self._finite():  # else the eager gradient is the same: the caller reports it
                self._log(f"could not compile ({compiler.reason_of(error)}); continuing without")
        if first:
            self._proved.add(shape)
            self.setup += time.monotonic() - started
        return losses

    def continue_without(self) -> None:
        """Compile nothing from here on."""
        self.compiled, self._function = False, self._eager

    def forget_shapes(self) -> None:
        """The parameters with a gradient have changed: each shape is compiled again, outside a step's time."""
        self._proved.clear()

    def _finite(self) -> bool:
        """Whether each gradient is."""
        return all(each.grad is None or bool(each.grad.isfinite().all()) for each in self._model.parameters())

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
    settings: TrainSection,
    budget: Budget,
    model: torch.nn.Module,
    feed: Feed,
    tokens: float,
    machine: Machine,
    *,
    stages: int = 1,
) -> tuple[bool, str]:
    """Whether to compile a run with this many tokens per step, and why; each shape is compiled in each of `stages`."""
    slow = "the first step of each shape takes minutes, or seconds if it is in the cache"
    if settings.compile != "auto":
        on = settings.compile == "on"
        return on, f"compile = on: {slow}" if on else "compile = off"
    if not compiler.has_compiler(machine.device):
        needed = "Triton" if machine.device.type == "cuda" else "C++ compiler"
        return False, f"not compiled: this machine has no {needed}"
    expected = _expected_seconds(budget, model, tokens, machine)
    if expected < repaid_seconds(model, feed.shapes * stages):
        return False, "not compiled: the run is too short for compiling to save time"
    return True, f"compiled: {slow}"


def repaid_seconds(model: torch.nn.Module, shapes: int) -> float:
    """The length of run above which compiling makes it faster, also where no kernel has been compiled before. Of T
    seconds, a set-up of S leaves T - S at the speed g: as many steps as eager where T = S g / (g - 1).
    """
    blocks = sum(_BLOCK.fullmatch(name) is not None for name, _ in model.named_modules())
    setup = _CAUTION * shapes * (_SETUP_SECONDS + _SETUP_SECONDS_OF_A_BLOCK * blocks)
    drops = any(isinstance(module, Dropout) and module.rate > 0 for module in model.modules())
    gain = _GAIN_WITH_DROPOUT if drops else _GAIN
    return setup * gain / (gain - 1)


def _expected_seconds(budget: Budget, model: torch.nn.Module, tokens: float, machine: Machine) -> float:
    """How long a run takes at most, for all that is known before it: its minutes, or its steps on a fast machine."""
    limits = [] if budget.seconds is None else [budget.seconds]
    if budget.steps is not None:
        weights = sum(parameter.numel() for parameter in model.parameters())
        speed = _OPERATIONS_PER_SECOND.get(machine.device.type, 2e11) * (_FASTER_IN_BFLOAT16 if machine.autocast else 1)
        cores = machine.threads if machine.device.type == "cpu" else 1
        limits.append(budget.steps * 6.0 * weights * tokens / (speed * cores))
    return min(limits, default=float("inf"))
