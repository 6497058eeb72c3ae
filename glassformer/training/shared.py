"""A run whose processes share out what is trained (`train.shard`): its state, and the checkpoints that all write."""

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import torch
from pydantic import TypeAdapter
from torch import Tensor

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.json_text import file_checksum
from glassformer.models.transformer import Transformer
from glassformer.runtime.sharing import Sharing
from glassformer.training import parts
from glassformer.training.budget import RunProgress
from glassformer.training.checkpoint import (
    Checkpoint,
    Checkpoints,
    Tensors,
    damaged,
    read_checkpoint,
    restore,
    weights,
)
from glassformer.training.settings import TrainSection, TuneSection
from glassformer.training.state import LEARNED, State


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
        folder, into = checkpoint.folder / parts.FOLDER, _flat(mine)
        restore(into, parts.empty_like_parts(folder), what=f"the tensors in {checkpoint.folder}", values=False)
        try:
            self.processes.together(lambda: parts.load_parts(folder, into))
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
        folder = draft / parts.FOLDER
        if self._processes.first:
            folder.mkdir()
        place = Path(self._processes.of_first(str(folder)))
        shared = {group: named for group, named in tensors.items() if named and group in LEARNED}
        self._processes.together(lambda: parts.write_parts(place, _flat(shared)))
        if not self._processes.first:
            return {}
        facts = super()._written(draft, {group: named for group, named in tensors.items() if group not in shared})
        facts["groups"] |= dict.fromkeys(shared, parts.FOLDER)
        return {**facts, "parts": {path.name: file_checksum(path) for path in sorted(folder.iterdir())}}

    def _named(self, kind: str) -> list[Path]:
        return super()._named(kind) if self._processes.first else []


def _flat(tensors: Tensors) -> dict[str, Tensor]:
    return {
        f"{group}.{name}": each for group, named in tensors.items() if group in LEARNED for name, each in named.items()
    }
