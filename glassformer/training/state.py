"""Everything that changes while a model trains, and how it is saved and restored."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from glassformer.models.transformer import Transformer
from glassformer.runtime.device import Machine
from glassformer.training.budget import RunProgress
from glassformer.training.checkpoint import Checkpoint, damaged, restore, weights
from glassformer.training.optimize import MovingAverage, Optimizers, build_optimizer, optimizer_tensors
from glassformer.training.settings import TrainSection, TuneSection

# Settings that change which weights are kept, not what is learned.
_HARMLESS = {"checkpoint_minutes", "checkpoint_every", "keep", "tensorboard"}


@dataclass
class State:
    """A model with its optimizer, optionally the moving average of its weights, and the progress of the run."""

    model: Transformer
    optimizer: Optimizers
    average: MovingAverage | None
    progress: RunProgress

    @classmethod
    def fresh(
        cls,
        model: Transformer,
        settings: TrainSection,
        *,
        tune: TuneSection | None = None,
        products: torch.dtype = torch.float32,
    ) -> State:
        """The state before the first step; `products` is the type of the machine's matrix products."""
        return cls(
            model,
            build_optimizer(model, settings, tune=tune, products=products),
            None if settings.ema is None else MovingAverage(model, settings.ema),
            RunProgress(),
        )

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        return {
            "model": weights(self.model),
            "optimizer": optimizer_tensors(self.model, self.optimizer),
            "average": {} if self.average is None else self.average.tensors,
            "random": _random_states(),
        }

    @property
    def finite(self) -> bool:
        """Whether all learned tensors are finite: a diverged run must not overwrite good weights."""
        groups = self.tensors()
        learned = (tensor for group in ("model", "optimizer", "average") for tensor in groups[group].values())
        return all(bool(tensor.isfinite().all()) for tensor in learned)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the state of a checkpoint. Raises CheckpointError when it is damaged or of another model."""
        mine = self.tensors()
        for group in ("model", "optimizer", "average"):
            restore(mine[group], checkpoint.tensors(group), what=f"{group} in {checkpoint.folder}")
        try:
            self.progress = TypeAdapter(RunProgress).validate_python(checkpoint.facts["progress"])
        except (KeyError, ValidationError):
            raise damaged(checkpoint.folder, "a state.json without the run's progress") from None
        _set_random_states(checkpoint.tensors("random"))

    @contextmanager
    def evaluated_model(self) -> Iterator[Transformer]:
        """Inside, the model as it is evaluated and kept: with the moving average of its weights where there is one."""
        if self.average is None:
            yield self.model
        else:
            with self.average.in_place(self.model):
                yield self.model


def circumstances(
    settings: TrainSection, tune: TuneSection, machine: Machine, *, task: str, data: str, compiled: bool
) -> dict[str, Any]:
    """The facts that must not change if a resumed run is to give the same weights to the bit."""
    return {
        "task": task,
        "data": data,
        "compiled": compiled,
        "device": str(machine.device),
        "threads": machine.threads,
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
        "processor": torch.backends.cpu.get_cpu_capability(),
        "bfloat16": machine.autocast,
        "settings": settings.model_dump(mode="json"),
        "tune": tune.model_dump(mode="json"),
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any], *, within: str = "") -> Iterator[str]:
    for name in now:
        if name in _HARMLESS:
            continue
        was, is_now = before.get(name), now[name]
        if isinstance(was, Mapping) and isinstance(is_now, Mapping):
            yield from differences(was, is_now, within=f"{name}.")
        elif name == "data" and was != is_now:  # hashes, which mean nothing to a reader
            yield "the text, or how it is cut and masked, has changed since"
        elif was != is_now:
            yield f"{within}{name} was {was} and is now {is_now}"


def _random_states() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def _set_random_states(states: Mapping[str, Tensor]) -> None:
    if "cpu" in states:
        torch.set_rng_state(states["cpu"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])
