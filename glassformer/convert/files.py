"""Folders of Hugging Face on the disk: JSON and safetensors in, a whole folder or none out."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from glassformer.errors import CheckpointError

SETTINGS, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; raises CheckpointError when it is missing or is not one."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"a file {path} is needed", got="no such file") from None
    except (ValueError, OSError) as error:
        raise CheckpointError(f"{path} must be JSON", got=str(error)) from None
    if not isinstance(values, dict):
        raise CheckpointError(f"{path} must hold a JSON object", got=type(values).__name__)
    return values


def read_weights(directory: Path) -> dict[str, Tensor]:
    """All tensors of a folder, from one file or from shards, on the CPU and as they were stored.

    Raises CheckpointError when there are none, when a shard is missing or cut short, and for pickles.
    """
    if (directory / WEIGHTS).is_file():
        return _read_safetensors(directory / WEIGHTS)
    if (directory / INDEX).is_file():
        return _read_shards(directory)
    pickles = sorted(path.name for path in directory.iterdir() if path.suffix.lower() in PICKLES)
    if pickles:
        raise CheckpointError(
            f"the weights in {directory} must be safetensors",
            got=f"{pickles[0]}, a pickle, which can run any code when it is opened",
            do="ask whoever made it for safetensors, or write it anew with save_pretrained where you trust it",
        )
    raise CheckpointError(f"weights are needed in {directory}", got=f"neither {WEIGHTS} nor {INDEX}")


def _read_shards(directory: Path) -> dict[str, Tensor]:
    places = read_json(directory / INDEX).get("weight_map")
    if not isinstance(places, dict):
        raise CheckpointError(f"{directory / INDEX} must hold a weight_map", got="none")
    tensors: dict[str, Tensor] = {}
    for shard in sorted(set(places.values())):
        if Path(shard).name != shard:
            raise CheckpointError(f"{directory / INDEX} must name files beside it", got=repr(shard))
        if not (directory / shard).is_file():
            raise CheckpointError(f"all shards named in {directory / INDEX} are needed", got=f"no file {shard}")
        tensors |= _read_safetensors(directory / shard)
    different = sorted(set(places) ^ set(tensors))
    if different:
        raise CheckpointError(
            f"{directory / INDEX} must list what its shards hold", got=f"a difference: {different[0]}"
        )
    return tensors


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except SafetensorError as error:
        raise CheckpointError(
            f"{path} must be a whole safetensors file",
            got=f"one that is cut short or damaged ({error})",
            do="copy or download it again",
        ) from None


def write_whole(directory: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write files into a new folder beside `directory`, flush them, and only then put them in place.

    Raises CheckpointError when the disk does not take them; what was there before is then untouched.
    """
    temporary: Path | None = None
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}-"))
        fill(temporary)
        for path in sorted(temporary.iterdir()):
            _flush(path)
        if directory.is_dir():
            for path in sorted(temporary.iterdir(), key=lambda path: path.name == SETTINGS):
                os.replace(path, directory / path.name)
        else:
            os.chmod(temporary, 0o755)  # a temporary folder is private, a saved model need not be
            os.rename(temporary, directory)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{directory} must be written", got=str(error)) from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
