"""Checkpoints: the whole state of a run, written atomically.

A checkpoint is a folder of safetensors and one JSON file, `state.json`. This file names the step, and has the checksums
of all files, its own included: a flipped bit, or a file of another step, is refused.
"""

import platform
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from glassformer.base.atomic import atomic_write, clear_drafts, flush, remove
from glassformer.base.errors import CheckpointError
from glassformer.base.json_text import file_checksum, read_sealed_json, sealed_json
from glassformer.base.pickles import refuse_pickles
from glassformer.runtime.device import Machine
from glassformer.training.record import refuse_removed_folder
from glassformer.training.settings import TrainSection, TuneSection

# Settings that change which weights are kept, not what is learned.
_HARMLESS = {"checkpoint_minutes", "checkpoint_every", "keep", "track"}


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
        elif name == "held_out":
            if was not in (None, is_now):  # None: of a run that was begun before this was written down
                yield "the held-out text has changed since: earlier steps were measured on another one"
        elif was != is_now:
            yield f"{within}{name} was {was} and is now {is_now}"


# Format 2 has checksums. A checkpoint without them is refused: damage to it could not be detected.
FORMAT = 2
_FACTS = "state.json"
# Where the tensors are that several processes have written together, by torch's distributed checkpoint: each its part
# of every tensor into a file of safetensors, as torch's own format is a pickle. Any number of processes reads them.
PARTS = "parts"
_NAME = re.compile(r"(step|best)-(\d{8,})")

Tensors = Mapping[str, Mapping[str, Tensor]]


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint on disk. `facts` are plain numbers and strings."""

    folder: Path
    step: int
    facts: Mapping[str, Any]

    def tensors(self, group: str) -> dict[str, Tensor]:
        """One group of tensors (`model`, `optimizer`, `average`, `random`), {} without it. Raises CheckpointError."""
        checksum = self.facts["groups"].get(group)
        if checksum is None:
            return {}
        if checksum == PARTS:
            self.check_parts()
            return read_parts(self.folder / PARTS, group)
        path = self.folder / f"{group}.safetensors"
        try:
            refuse_pickles(path)
            if file_checksum(path) != checksum:
                raise damaged(self.folder, f"{path.name}, damaged or of another step")
            return load_file(path)
        except (OSError, SafetensorError) as error:
            raise damaged(self.folder, f"no readable {path.name} ({getattr(error, 'strerror', error)})") from None

    def check_parts(self) -> None:
        """Raise CheckpointError unless all parts of several processes are there and whole."""
        for name, checksum in self.facts["parts"].items():
            path = self.folder / PARTS / name
            if not path.is_file() or file_checksum(path) != checksum:
                there = "a damaged" if path.is_file() else "no"
                raise damaged(self.folder, f"{there} {name}, a part of {len(self.facts['parts'])}")


class _Known(BaseModel, strict=True):
    """What is read of `state.json` wherever a run continues; the rest is compared (`circumstances`)."""

    step: int
    groups: dict[str, str]
    parts: dict[str, str] = {}
    compiled: bool = False


class Checkpoints:
    """A run's checkpoints (the newest, and `keep` at multiples of `every`) and its best model."""

    def __init__(self, folder: Path, *, keep: int = 1, every: int = 1) -> None:
        self.folder, self.keep, self.every = folder, keep, every

    def __bool__(self) -> bool:
        return bool(self._named("step"))

    def save(self, step: int, tensors: Tensors, facts: Mapping[str, Any], *, kind: str = "step") -> Path:
        """Write a checkpoint and delete those no longer kept; after a CheckpointError the earlier ones stay."""
        target = self.folder / f"{kind}-{step:08d}"
        try:
            self.folder.mkdir(exist_ok=True)
            clear_drafts(self.folder)
            with atomic_write(target) as draft:
                draft.mkdir()
                known = {"format": FORMAT, "step": step, **self._written(draft, tensors), **facts}
                (draft / _FACTS).write_text(sealed_json(known), encoding="utf-8")
                if target.exists():  # only when a run was resumed from a checkpoint before a damaged one
                    flush(draft)
                    remove(target)
        except (OSError, SafetensorError) as error:
            refuse_removed_folder(self.folder.parent, step, error)
            raise CheckpointError(
                f"the checkpoint of step {step} could not be written to {self.folder}",
                got=getattr(error, "strerror", None) or str(error),
                do=self._advice(),
            ) from None
        if kind == "step":
            self.tidy()
        return target

    def _written(self, draft: Path, tensors: Tensors) -> dict[str, Any]:
        """Write the tensors; returns the checksums of their files."""
        written = ((group, draft / f"{group}.safetensors", named) for group, named in tensors.items() if named)
        return {"groups": {group: _write_tensors(path, named) for group, path, named in written}}

    def tidy(self) -> None:
        """Remove the checkpoints that are no longer kept: a killed run may have left one more."""
        there = self._named("step")
        regular = [path for path in there if _step_of(path) % self.every == 0]
        self._keep_only("step", {*there[-1:], *regular[-self.keep :]})

    def keep_best(self, *steps: int) -> None:
        """Remove the best models of other steps: replaced ones, and those that a resumed run has not reached yet. The
        weights before the first step stay, where they were measured.
        """
        self._keep_only("best", {path for path in self._named("best") if _step_of(path) in (0, *steps)})

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint, None when there is none. Raises CheckpointError when it is damaged."""
        named = self._named("step")
        return read_checkpoint(named[-1]) if named else None

    def best(self) -> Checkpoint | None:
        named = self._named("best")
        return read_checkpoint(named[-1]) if named else None

    def start(self) -> Checkpoint | None:
        """The weights before the first step, None where they were not measured."""
        named = self._named("best")
        return read_checkpoint(named[0]) if named and _step_of(named[0]) == 0 else None

    def all(self) -> list[Checkpoint]:
        return [read_checkpoint(folder) for folder in self._named("step")]

    def agreed(self, found: Checkpoint | None) -> Checkpoint | None:
        """The checkpoint that the first process has found, in those that read it."""
        return found

    def _named(self, kind: str) -> list[Path]:
        return _named(self.folder, kind)

    def _keep_only(self, kind: str, kept: set[Path]) -> None:
        for path in self._named(kind):
            if path not in kept:
                with suppress(OSError):  # a folder that cannot be removed does no harm
                    remove(path)

    def _advice(self) -> str:
        named = self._named("step")
        left = f"{named[-1].name} is whole" if named else "it starts again, as no checkpoint was written yet"
        return f"free disk space and continue with --resume: {left}"


class Unwritten(Checkpoints):
    """The checkpoints of a process that reads and writes none."""

    def save(self, step: int, tensors: Tensors, facts: Mapping[str, Any], *, kind: str = "step") -> Path:
        return self.folder / f"{kind}-{step:08d}"

    def _named(self, kind: str) -> list[Path]:
        return []


def _named(folder: Path, kind: str) -> list[Path]:
    inside = folder.iterdir() if folder.is_dir() else ()
    found = [path for path in inside if (match := _NAME.fullmatch(path.name)) and match[1] == kind]
    return sorted(found, key=_step_of)


def _step_of(folder: Path) -> int:
    return int(folder.name.rpartition("-")[2])


def read_checkpoint(folder: Path) -> Checkpoint:
    """The checkpoint in a folder; raises CheckpointError when it is damaged, of another step or of another version."""
    try:
        facts = read_sealed_json(folder / _FACTS)
    except (OSError, ValueError) as error:
        raise damaged(folder, f"no readable {_FACTS} ({getattr(error, 'strerror', None) or error})") from None
    if facts.get("format") != FORMAT:
        raise CheckpointError(
            f"{folder} must be a checkpoint of format {FORMAT}",
            got=f"format {facts.get('format')!r}",
            do="continue with the glassformer that wrote it, or start again in another folder",
        )
    try:
        step = _Known.model_validate(facts).step
    except ValidationError as error:
        names = ", ".join(sorted({str(fault["loc"][0]) for fault in error.errors()}))
        raise damaged(folder, f"a {_FACTS} without a right {names}") from None
    if step != _step_of(folder):
        raise damaged(folder, f"the checkpoint of step {step}")
    return Checkpoint(folder, step, facts)


def damaged(folder: Path, got: str) -> CheckpointError:
    older = [path for path in _named(folder.parent, "step") if _step_of(path) < _step_of(folder)]
    if folder.name.startswith("best"):
        way = "end with the newest weights instead"
    else:
        way = f"continue from {older[-1].name}" if older else "begin again"
    return CheckpointError(f"{folder} must be a whole checkpoint", got=got, do=f"delete the folder {folder} to {way}")


def weights(model: nn.Module) -> dict[str, Tensor]:
    parameters = dict(model.named_parameters())
    owned = {parameter.data_ptr() for parameter in parameters.values()}
    return {
        **{name: parameter.detach() for name, parameter in parameters.items()},
        **{name: tensor for name, tensor in model.state_dict().items() if tensor.data_ptr() not in owned},
    }


def restore(into: Mapping[str, Tensor], saved: Mapping[str, Tensor], *, what: str, values: bool = True) -> None:
    """Copy tensors of equal names and shapes, else CheckpointError; without `values` only check them."""
    for name in sorted(into.keys() | saved.keys()):
        here = str(list(into[name].shape)) if name in into else "none"
        there = str(list(saved[name].shape)) if name in saved else "none"
        if here != there:
            raise CheckpointError(
                f"{what} must fit the model of this run: {name} of shape {here}",
                got=there,
                do="resume with the settings that the run started with, or choose another folder",
            )
    with torch.no_grad():
        for name, tensor in into.items() if values else ():
            tensor.copy_(saved[name])


def _write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)
    return file_checksum(path)


def write_parts(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write the parts of all processes, which call this together. Raises OSError."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter  # not at the top: half a second
    from torch.distributed.checkpoint.state_dict_saver import save

    writer = HuggingFaceStorageWriter(str(folder), save_distributed=True)
    _checked(lambda: save(dict(tensors), storage_writer=writer))


def load_parts(folder: Path, into: Mapping[str, Tensor], *, alone: bool = False) -> None:
    """Read this process's part of each tensor; all processes call this, unless `alone`. Raises OSError."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
    from torch.distributed.checkpoint.state_dict_loader import load

    reader = HuggingFaceStorageReader(str(folder))
    _checked(lambda: load(dict(into), storage_reader=reader, no_dist=alone))


def empty_like_parts(folder: Path) -> dict[str, Tensor]:
    """Tensors of the names, shapes and types that the files have, without their values."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader

    found: Mapping[str, Any] = HuggingFaceStorageReader(str(folder)).read_metadata().state_dict_metadata
    return {name: torch.empty(each.size, dtype=each.properties.dtype, device="meta") for name, each in found.items()}


def read_parts(folder: Path, group: str) -> dict[str, Tensor]:
    """The whole tensors whose names begin with this word, without it. Raises OSError."""
    names = empty_like_parts(folder)
    mine = {name: torch.empty_like(each, device="cpu") for name, each in names.items() if name.startswith(f"{group}.")}
    load_parts(folder, mine, alone=True)
    return {name.removeprefix(f"{group}."): each for name, each in mine.items()}


def _checked(work: Callable[[], object]) -> None:
    """An error of any process is raised in all of them, as one that does not derive from Exception."""
    from torch.distributed.checkpoint.api import CheckpointException

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that one process reads alone, as it is asked to
            work()
    except CheckpointException as error:
        first = next(iter(error.failures.values()))[0]
        if isinstance(first, OSError):
            raise first from None
        raise OSError(f"{type(first).__name__}: {first}") from None
