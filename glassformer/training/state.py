"""The state of a run that its checkpoints keep: the model, its optimizer, averages and progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from glassformer.models.transformer import Transformer
from glassformer.runtime.processes import ALONE, Processes
from glassformer.training.budget import RunProgress
from glassformer.training.checkpoint import Checkpoint, damaged, restore, weights
from glassformer.training.optimize import MovingAverage, Optimizers, build_optimizer, optimizer_tensors
from glassformer.training.settings import TrainSection, TuneSection

LEARNED = ("model", "optimizer", "average")


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
        processes: Processes = ALONE,
    ) -> State:
        """The state before the first step; `products` is the type of the machine's matrix products."""
        return cls(
            model,
            build_optimizer(model, settings, tune=tune, products=products, processes=processes),
            None if settings.ema is None else MovingAverage(model, settings.ema),
            RunProgress(),
        )

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        states = {"cpu": torch.get_rng_state()}
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            states["cuda"] = torch.cuda.get_rng_state()
        return {
            "model": weights(self.model),
            "optimizer": optimizer_tensors(self.model, self.optimizer),
            "average": {} if self.average is None else self.average.tensors,
            "random": states,
        }

    @property
    def finite(self) -> bool:
        """Whether all learned tensors are finite: a diverged run must not overwrite good weights."""
        groups = self.tensors()
        learned = (tensor for group in LEARNED for tensor in groups[group].values())
        return all(bool(tensor.isfinite().all()) for tensor in learned)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the state of a checkpoint. Raises CheckpointError when it is damaged or of another model."""
        self.restore_tensors(checkpoint)
        try:
            self.progress = TypeAdapter(RunProgress).validate_python(checkpoint.facts["progress"])
        except (KeyError, ValidationError):
            raise damaged(checkpoint.folder, "a state.json without the run's progress") from None
        try:
            _set_random_states(checkpoint.tensors("random"))
        except (RuntimeError, TypeError):
            raise damaged(checkpoint.folder, "no states of random numbers in random.safetensors") from None

    def restore_tensors(self, checkpoint: Checkpoint) -> None:
        mine = self.tensors()
        for group in LEARNED:
            restore(mine[group], checkpoint.tensors(group), what=f"{group} in {checkpoint.folder}")

    @property
    def whole(self) -> Transformer:
        """The model that is evaluated and kept."""
        return self.model

    def settle(self) -> None:
        """At the end of the run: the weights of `whole` become those that are evaluated."""
        if self.average is not None:
            self.average.copy_to(self.model)

    def copy_of_first(self, processes: Processes) -> None:
        """Take over the state of the first process, which alone has read a checkpoint."""
        groups = self.tensors()
        learned = (groups[group] for group in LEARNED)
        processes.copy_of_first([tensor for named in learned for tensor in named.values()])
        self.progress = TypeAdapter(RunProgress).validate_python(processes.of_first(asdict(self.progress)))

    @contextmanager
    def evaluated_model(self) -> Iterator[Transformer]:
        """Inside, the model as it is evaluated and kept: with the moving average of its weights where there is one."""
        if self.average is None:
            yield self.model
        else:
            with self.average.in_place(self.model):
                yield self.model


def _set_random_states(states: Mapping[str, Tensor]) -> None:
    if "cpu" in states:
        torch.set_rng_state(states["cpu"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])
