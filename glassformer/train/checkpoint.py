"""All that a run is, written whole or not at all.

A checkpoint is a folder of safetensors and one JSON file. It is written under another name, flushed to the disk, and
renamed: whoever finds its name finds all of it.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from glassformer.errors import CheckpointError
from glassformer.pickles import refuse_pickles
from glassformer.whole import flush_one

FORMAT = 1
_FACTS = "state.json"
_NAME = re.compile(r"(step|best)-(\d{8,})")

Tensors = Mapping[str, Mapping[str, Tensor]]


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint on disk. `facts` are plain numbers and words."""

    folder: Path
    step: int
    facts: Mapping[str, Any]

    def tensors(self, group: str) -> dict[str, Tensor]:
        """One group of tensors (`model`, `optimizer`, `average`, `random`), {} when it has none; on the CPU.

        Raises CheckpointError when its file is gone, cut short, or a pickle.
        """
        path = self.folder / f"{group}.safetensors"
        if not path.exists():
            if group in self.facts["groups"]:
                raise damaged(self.folder, f"no {path.name}")
            return {}
        refuse_pickles(path)
        try:
            return load_file(path)
        except (OSError, SafetensorError) as error:
            raise damaged(self.folder, f"{path.name}, cut short or damaged ({error})") from None


class Shelf:
    """The checkpoints of one run, and the best model found so far.

    Kept are the newest, and the newest `keep` among those whose step is a multiple of `every`: one that was written
    by chance, by the clock or Ctrl-C, takes no other's place.
    """

    def __init__(self, folder: Path, *, keep: int = 1, every: int = 1) -> None:
        self.folder, self.keep, self.every = folder, keep, every

    def __bool__(self) -> bool:
        return bool(self._named("step"))

    def save(self, step: int, tensors: Tensors, facts: Mapping[str, Any], *, kind: str = "step") -> Path:
        """Write a checkpoint and clear away those that are no longer kept.

        Raises CheckpointError when it cannot be written; what was there before is then untouched.
        """
        target = self.folder / f"{kind}-{step:08d}"
        draft = self.folder / f".{target.name}.draft"
        try:
            self._clear_drafts()
            draft.mkdir(parents=True)
            groups = [group for group, named in tensors.items() if named]
            for group in groups:
                _write_tensors(draft / f"{group}.safetensors", tensors[group])
            _write_facts(draft / _FACTS, {"format": FORMAT, "step": step, "groups": groups, **facts})
            flush_one(draft)
            if target.exists():  # only when a run was resumed from before a damaged checkpoint
                shutil.rmtree(target)
            draft.rename(target)
            flush_one(self.folder)
        except (OSError, SafetensorError) as error:
            shutil.rmtree(draft, ignore_errors=True)
            raise CheckpointError(
                f"the checkpoint of step {step} could not be written to {self.folder}",
                got=getattr(error, "strerror", None) or str(error),
                do=self._what_is_left(),
            ) from None
        if kind == "step":
            there = self._named("step")
            regular = [path for path in there if _step_of(path) % self.every == 0]
            self._keep_only("step", {target, *regular[-self.keep :]})
        return target

    def keep_best(self, *steps: int) -> None:
        """Clear away the best models of other steps: those that a better one followed, or that a run which was thrown
        back has not found yet.
        """
        self._keep_only("best", {path for path in self._named("best") if _step_of(path) in steps})

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint, None when there is none. Raises CheckpointError when it is damaged."""
        named = self._named("step")
        return read_checkpoint(named[-1]) if named else None

    def best(self) -> Checkpoint | None:
        """The best model found so far, None before the first evaluation."""
        named = self._named("best")
        return read_checkpoint(named[-1]) if named else None

    def all(self) -> list[Checkpoint]:
        """The checkpoints that are kept, oldest first."""
        return [read_checkpoint(folder) for folder in self._named("step")]

    def _named(self, kind: str) -> list[Path]:
        if not self.folder.is_dir():
            return []
        found = [path for path in self.folder.iterdir() if (match := _NAME.fullmatch(path.name)) and match[1] == kind]
        return sorted(found, key=_step_of)

    def _keep_only(self, kind: str, kept: set[Path]) -> None:
        for path in self._named(kind):
            if path not in kept:
                shutil.rmtree(path, ignore_errors=True)

    def _clear_drafts(self) -> None:
        for draft in self.folder.glob(".*.draft"):
            shutil.rmtree(draft)

    def _what_is_left(self) -> str:
        named = self._named("step")
        way = "make room and go on with --resume"
        return f"{way}: {named[-1].name} is whole" if named else "make room and start again"


def _step_of(folder: Path) -> int:
    return int(folder.name.rpartition("-")[2])


def read_checkpoint(folder: Path) -> Checkpoint:
    """The checkpoint in a folder; raises CheckpointError when it is damaged or of another version."""
    try:
        facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        step = int(facts["step"])
        facts["groups"] = list(map(str, facts.get("groups", ["model"])))
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        raise damaged(folder, f"no readable {_FACTS}") from None
    if facts.get("format") != FORMAT:
        raise CheckpointError(f"{folder} must be a checkpoint of format {FORMAT}", got=str(facts.get("format")))
    return Checkpoint(folder, step, facts)


def damaged(folder: Path, got: str) -> CheckpointError:
    """What is told of a checkpoint that cannot be read, with the way out."""
    if folder.name.startswith("best"):
        way = "delete it to end with the newest weights instead"
    elif any(path.name < folder.name for path in folder.parent.glob("step-*")):
        way = "delete it to use an older one"
    else:
        way = "delete it to begin again"
    return CheckpointError(f"{folder} must be a whole checkpoint", got=got, do=way)


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name; one that two modules share stands once."""
    parameters = dict(model.named_parameters())
    owned = {parameter.data_ptr() for parameter in parameters.values()}
    return {
        **{name: parameter.detach() for name, parameter in parameters.items()},
        **{name: tensor for name, tensor in model.state_dict().items() if tensor.data_ptr() not in owned},
    }


def restore(into: Mapping[str, Tensor], saved: Mapping[str, Tensor], *, what: str) -> None:
    """Copy saved tensors into those in place; raises CheckpointError unless names and shapes are the same."""
    for name in sorted(into.keys() | saved.keys()):
        here = str(list(into[name].shape)) if name in into else "none"
        there = str(list(saved[name].shape)) if name in saved else "none"
        if here != there:
            raise CheckpointError(
                f"{what} must fit the model of this run: {name} of shape {here}",
                got=there,
                do="resume with the settings the run began with, or choose another folder",
            )
    with torch.no_grad():
        for name, tensor in into.items():
            tensor.copy_(saved[name])


def _write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)
    flush_one(path)


def _write_facts(path: Path, facts: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    flush_one(path)
