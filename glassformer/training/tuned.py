"""What is trained while a run goes on: its stages, the check of their first steps, and what is left at the end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from glassformer.models.transformer import Transformer
from glassformer.runtime.device import Log
from glassformer.training import adapters
from glassformer.training.moved import BeforeStep
from glassformer.training.optimize import Optimizers
from glassformer.training.settings import TuneSection
from glassformer.training.tune import Stages, told


@dataclass
class Tuned:
    """A model whose parameters are in one of the stages; `checked`: a step of this stage was found to move exactly
    those that are trained. `asked`: [tune] asks for something, so that this is checked also where all are trained.
    """

    model: Transformer
    stages: Stages
    log: Log
    asked: bool = False
    stage: int = 0
    checked: bool = False

    def begin(self, fraction: float) -> None:
        """Let what is trained after this share of the run have gradients, and nothing else."""
        self.stage = self.stages.at(fraction)
        self.stages.begin(self.model, self.stage)
        self.log(told(self.model, self.stages, self.stage))

    def begin_if_due(self, fraction: float, step: int) -> bool:
        """Begin another stage where its part of the run has come, and say so; `step` steps are done."""
        if self.stages.at(fraction) == self.stage:
            return False
        self.stage, self.checked = self.stages.at(fraction), False
        self.stages.begin(self.model, self.stage)
        self.log(f"from step {step + 1:,} on: {told(self.model, self.stages, self.stage)}")
        return True

    def step(self, optimizer: Optimizers, step: int) -> None:
        """Change the parameters once, after `step` steps. The first time in a stage, check that exactly those that are
        trained have moved, unless nothing was asked for. Raises TrainingError where a frozen one has.
        """
        now = self.stages.trained(self.stage)
        usual = not self.asked and len(now) == len(list(self.model.parameters()))
        before = None if self.checked or usual else BeforeStep.of(self.model)
        optimizer.step()
        self.checked = True
        if before is not None:
            self.log(before.check(self.model, now, step=step + 1))

    def finish(self, tune: TuneSection, folder: Path) -> None:
        """Keep the adapters in a file, where there are any, and add them to the weights; nothing stays frozen."""
        if tune != TuneSection():
            self.model.requires_grad_(True)
        if tune.adapters is not None:
            adapters.write(self.model, folder, tune.adapters)
            count = adapters.merge(self.model)
            self.log(f"{count} adapters are added to their weights; what they add is kept in {folder / adapters.FILE}")
