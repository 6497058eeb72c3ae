"""Everything that changes while a model trains, and how it goes to disk and comes back."""

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
from glassformer.training.optimize import MovingAverage, build_optimizer, optimizer_tensors
from glassformer.training.settings import TrainSection

# Settings that change what is kept, not what is learned.
_HARMLESS = {"checkpoint_minutes", "checkpoint_every", "keep", "tensorboard"}


@dataclass
class State:
    """A model with its optimizer, the moving average of its weights by choice, and how far it has come."""

    model: Transformer
    optimizer: torch.optim.AdamW
    average: MovingAverage | None
    progress: RunProgress

    @classmethod
    def fresh(cls, model: Transformer, settings: TrainSection) -> State:
        """Before the first step."""
        return cls(
            model,
            build_optimizer(model, settings),
            None if settings.ema is None else MovingAverage(model, settings.ema),
            RunProgress(),
        )

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """All tensors by group and name, as a checkpoint keeps them."""
        return {
            "model": weights(self.model),
            "optimizer": optimizer_tensors(self.model, self.optimizer),
            "average": {} if self.average is None else self.average.tensors,
            "random": _random_states(),
        }

    @property
    def finite(self) -> bool:
        """Whether all that is learned is: a run that has broken its weights must not save them over whole ones."""
        groups = self.tensors()
        learned = (tensor for group in ("model", "optimizer", "average") for tensor in groups[group].values())
        return all(bool(tensor.isfinite().all()) for tensor in learned)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go back to where a checkpoint was written. Raises CheckpointError when it is damaged or of another model."""
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


def circumstances(settings: TrainSection, machine: Machine, *, task: str, data: str, compiled: bool) -> dict[str, Any]:
    """What must be the same for a resumed run to give the same weights to the bit."""
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
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any], *, within: str = "") -> Iterator[str]:
    """What is not as it was when the checkpoint was written, one sentence each."""
    for name in now:
        if name in _HARMLESS:
            continue
        was, is_now = before.get(name), now[name]
        if isinstance(was, Mapping) and isinstance(is_now, Mapping):
            yield from differences(was, is_now, within=f"{name}.")
        elif name == "data" and was != is_now:  # hashes, which say nothing to a reader
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
