"""The state of a run that its checkpoints keep: the model, its optimizer, averages and progress; and of one whose
processes share out what is trained (`train.shard`), with the checkpoints that all write.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.json_text import file_checksum
from glassformer.models.transformer import Transformer
from glassformer.runtime.processes import ALONE, Processes
from glassformer.runtime.sharing import Sharing
from glassformer.training.budget import RunProgress
from glassformer.training.checkpoint import (
    PARTS,
    Checkpoint,
    Checkpoints,
    Tensors,
    damaged,
    empty_like_parts,
    load_parts,
    read_checkpoint,
    restore,
    weights,
    write_parts,
)
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


def check_shared(settings: TrainSection, tune: TuneSection, *, watched: bool) -> None:
    """Raise ConfigError for what a run cannot do whose processes share out the weights."""
    given = {
        "compile = on": settings.compile == "on",
        "[tune]": tune != TuneSection(),
        "watched sentences": watched,
    }
    for name in (name for name, has in given.items() if has):
        raise ConfigError(
            "train.shard trains all weights, without compiled steps", got=name, do="leave one of them out"
        )


@dataclass
class SharedState(State):
    """The trained `model`, in parts by process; `plain` has whole tensors, in the first process alone."""

    plain: Transformer
    processes: Sharing

    @classmethod
    def of(cls, model: Transformer, settings: TrainSection, products: torch.dtype, processes: Sharing) -> Self:
        """The state before the first step, from the weights of the first process."""
        processes.copy_of_first(list(weights(model).values()))
        trained = copy.deepcopy(model)
        stacks = [stack for stack in (trained.encoder, trained.decoder) if stack is not None]
        processes.spread(trained, [block for stack in stacks for block in stack.blocks])
        for parameter in () if processes.first else model.parameters():
            parameter.data = parameter.data.new_zeros(()).expand(parameter.shape)
        state = State.fresh(trained, settings, products=products, processes=processes)
        return cls(trained, state.optimizer, state.average, state.progress, model, processes)

    @property
    def whole(self) -> Transformer:
        return self.plain

    @property
    def finite(self) -> bool:
        learned = (tensor for group in LEARNED for tensor in self.tensors()[group].values())
        return all(bool(self.processes.whole(tensor).isfinite().all()) for tensor in learned)

    def restore_tensors(self, checkpoint: Checkpoint) -> None:
        """Each process reads its part, of what as many or other processes, or one, have written."""
        mine = self.tensors()
        if "parts" not in checkpoint.facts:
            for group in LEARNED:
                named = mine[group]
                saved = checkpoint.tensors(group)
                own = {name: self.processes.part(saved[name], each) for name, each in named.items() if name in saved}
                restore(named, {**saved, **own}, what=f"{group} in {checkpoint.folder}")
            return
        if self.processes.first:
            checkpoint.check_parts()
        self.processes.meet()
        folder, into = checkpoint.folder / PARTS, _flat(mine)
        restore(into, empty_like_parts(folder), what=f"the tensors in {checkpoint.folder}", values=False)
        try:
            self.processes.together(lambda: load_parts(folder, into))
        except OSError as error:
            raise damaged(checkpoint.folder, f"unreadable parts ({error})") from None

    def copy_of_first(self, processes: Any) -> None:
        """All have read their parts, or begun with the weights of the first."""
        self.progress = TypeAdapter(RunProgress).validate_python(processes.of_first(asdict(self.progress)))

    @contextmanager
    def evaluated_model(self) -> Iterator[Transformer]:
        """Inside, the first process has the whole model as it is evaluated; all call this together."""
        averaged: Mapping[str, Tensor] = {} if self.average is None else self.average.tensors
        with torch.no_grad():
            for name, mine in self.model.named_parameters():
                tensor = self.processes.whole(averaged.get(name, mine.detach()))
                if self.processes.first:
                    self.plain.get_parameter(name).copy_(tensor)
        yield self.plain

    def settle(self) -> None:
        with self.evaluated_model():
            for parameter in () if self.processes.first else self.plain.parameters():
                parameter.data = parameter.data.contiguous()


class SharedCheckpoints(Checkpoints):
    """The first process names, seals and removes checkpoints; all write their parts of them."""

    def __init__(self, folder: Path, processes: Sharing, *, keep: int = 1, every: int = 1) -> None:
        super().__init__(folder, keep=keep, every=every)
        self._processes = processes

    def save(self, step: int, tensors: Tensors, facts: Mapping[str, Any], *, kind: str = "step") -> Path:
        if self._processes.first:
            return super().save(step, tensors, facts, kind=kind)
        try:
            self._written(Path(), tensors)
        except OSError as error:
            raise CheckpointError(f"the checkpoint of step {step} could not be written", got=str(error)) from None
        return self.folder / f"{kind}-{step:08d}"

    def agreed(self, found: Checkpoint | None) -> Checkpoint | None:
        folder = self._processes.of_first(None if found is None else str(found.folder))
        return found if folder is None or found is not None else read_checkpoint(Path(folder))

    def _written(self, draft: Path, tensors: Tensors) -> dict[str, Any]:
        if "optimizer" not in tensors:  # the best model, which the first process has whole
            return super()._written(draft, tensors)
        folder = draft / PARTS
        if self._processes.first:
            folder.mkdir()
        place = Path(self._processes.of_first(str(folder)))
        shared = {group: named for group, named in tensors.items() if named and group in LEARNED}
        self._processes.together(lambda: write_parts(place, _flat(shared)))
        if not self._processes.first:
            return {}
        facts = super()._written(draft, {group: named for group, named in tensors.items() if group not in shared})
        facts["groups"] |= dict.fromkeys(shared, PARTS)
        return {**facts, "parts": {path.name: file_checksum(path) for path in sorted(folder.iterdir())}}

    def _named(self, kind: str) -> list[Path]:
        return super()._named(kind) if self._processes.first else []


def _flat(tensors: Tensors) -> dict[str, Tensor]:
    return {
        f"{group}.{name}": each for group, named in tensors.items() if group in LEARNED for name, each in named.items()
    }
