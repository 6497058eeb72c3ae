"""What is trained while a run goes on: its stages, the check of their first steps, and what is left at the end.

The check: whether one step has moved exactly the parameters that are trained, so that a freezing that freezes nothing
is found at once. Each tensor is compared by the CRC-32 of its bytes before and after the step, which differ whenever
one number does.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from glassformer.base.errors import TrainingError
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import Log
from glassformer.training import adapters
from glassformer.training.optimize import Optimizers
from glassformer.training.settings import TuneSection
from glassformer.training.tune import Stages, told


@dataclass
class Tuned:
    """A model and its stage; `checked`: a step of this stage moved exactly what is trained."""

    model: Transformer
    tune: TuneSection
    stages: Stages
    log: Log
    stage: int = 0
    checked: bool = False

    @property
    def asked(self) -> bool:
        """Whether [tune] asks for something: what a step moves is checked then also where all are trained."""
        return self.tune != TuneSection()

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

    def finish(self, folder: Path) -> None:
        """Keep the adapters in a file, where there are any, and add them to the weights; nothing stays frozen."""
        if self.asked:
            self.model.requires_grad_(True)
        if self.tune.adapters is not None:
            adapters.write(self.model, folder, self.tune.adapters)
            count = adapters.merge(self.model)
            self.log(f"{count} adapters are added to their weights; what they add is kept in {folder / adapters.FILE}")


@dataclass(frozen=True)
class BeforeStep:
    """The parameters before a step, by name, and which of them it has a gradient for: any number but 0."""

    checksums: Mapping[str, int]
    with_gradient: Collection[str]

    @classmethod
    def of(cls, model: nn.Module) -> BeforeStep:
        """After the backward pass, before the step."""
        named = dict(model.named_parameters())
        has = {name for name, each in named.items() if each.grad is not None and bool(each.grad.any())}
        return cls({name: _checksum(each) for name, each in named.items()}, has)

    def check(self, model: nn.Module, trained: Collection[str], *, step: int) -> str:
        """What the step has moved, as a sentence. Raises TrainingError where a frozen parameter has changed."""
        moved = {name for name, each in model.named_parameters() if _checksum(each) != self.checksums[name]}
        frozen = self.checksums.keys() - set(trained)
        if wrong := sorted(moved & frozen):
            raise TrainingError(
                f"what is frozen must stay as it is: step {step} has changed it",
                got=_listed(wrong),
                do="train it too (tune.freeze), or report how this came about",
            )
        still = sorted(set(trained) - moved)
        same = f"the other {len(frozen):,} are the same to the bit" if frozen else "and there are no others"
        if not still:
            return f"checked after step {step:,}: all {len(moved):,} trained tensors have moved, {same}"
        # The first of an adapter's two matrices gets a gradient as soon as the other one is no longer zero.
        waiting = [name for name in still if name.endswith(".adapter.down") and name not in self.with_gradient]
        without = [name for name in still if name not in self.with_gradient and name not in waiting]
        small = [name for name in still if name in self.with_gradient]
        told = f"checked after step {step:,}: {len(moved):,} of {len(trained):,} trained tensors have moved, {same}"
        if waiting:
            told += f"; {len(waiting):,} wait, as `down` of an adapter does while its `up` is zero"
        if without:
            told += f"; no gradient reaches {_listed(without)}: nothing of the loss depends on it"
        if small:
            told += f"; the step is too small to change a digit of {_listed(small)} at this learning rate"
        return told


def _checksum(parameter: Tensor) -> int:
    flat = parameter.detach().cpu().contiguous().flatten()
    return zlib.crc32(flat.view(torch.uint8).numpy().data) if flat.numel() else 0


def _listed(names: list[str], most: int = 3) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
