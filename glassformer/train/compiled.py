"""The loss of a batch as one function: compiled where that pays, eager where it does not or cannot."""

from __future__ import annotations

import torch
from torch import Tensor

from glassformer.config import TrainSection
from glassformer.models.transformer import Transformer
from glassformer.tasks.task import Batch, Task
from glassformer.train import compiler
from glassformer.train.ending import Ending
from glassformer.train.machine import Machine, Say

# Compiling takes 15 to 60 seconds on two cores and makes a step two to three times as fast: it pays from here on.
_REPAID_SECONDS = 150.0
# What one core does in eager float32, roughly: enough to tell a run of seconds from one of minutes. The choice must not
# depend on a measurement, or a resumed run could choose another way than the unbroken one.
_OPERATIONS_PER_SECOND = {"cpu": 1e11, "cuda": 2e13}


class LossAndGradient:
    """`task.loss` on this machine, forward and back.

    `compiled` may turn False at a new shape: a failed compile is never fatal.
    """

    def __init__(self, task: Task, model: Transformer, machine: Machine, *, compiled: bool, say: Say) -> None:
        self._task, self._model, self._machine, self._say = task, model, machine, say
        self.compiled = compiled
        self._proved = False
        # The step's function is compiled, never the module: the model can be looked at while it trains.
        self._function = compiler.compiled(self._eager) if compiled else self._eager

    def __call__(self, batch: Batch, targets: int = 1) -> float:
        """The loss of a batch on the machine's device, as a share of `targets`; adds its gradient."""
        if not self.compiled:
            return self._learn(batch, targets)
        try:
            # Both ways inside: the way back is compiled when it is first gone, and a failure there leaves no gradient.
            loss = self._learn(batch, targets)
        except Exception as error:
            if self._proved and not compiler.is_the_compilers(error):
                raise
            self._say(f"could not compile ({compiler.reason_of(error)}); going on without")
            self.compiled, self._function = False, self._eager
            return self._learn(batch, targets)
        self._proved = True
        return loss

    def _learn(self, batch: Batch, targets: int) -> float:
        loss = self._function(batch) / targets
        loss.backward()
        return float(loss.detach())

    def _eager(self, batch: Batch) -> Tensor:
        with self._machine.context():
            return self._task.loss(self._model, batch)


def worth_compiling(
    settings: TrainSection, ending: Ending, model: torch.nn.Module, pieces: float, machine: Machine
) -> tuple[bool, str]:
    """Whether to compile a run with steps of `pieces` pieces on average, and the reason to tell."""
    if settings.compile != "auto":
        return settings.compile == "on", f"compile = {settings.compile}"
    if not compiler.has_compiler(machine.device):
        needed = "Triton" if machine.device.type == "cuda" else "C++ compiler"
        return False, f"not compiled: there is no {needed} here"
    weights = sum(parameter.numel() for parameter in model.parameters())
    speed = _OPERATIONS_PER_SECOND.get(machine.device.type, 1e11)
    by_steps = float("inf") if ending.steps is None else ending.steps * 6.0 * weights * pieces / speed
    expected = min(by_steps, float("inf") if ending.seconds is None else ending.seconds)
    if expected < _REPAID_SECONDS:
        return False, "not compiled: the run is too short to repay it"
    return True, "compiled: the first step takes up to a minute, the others a fraction"
