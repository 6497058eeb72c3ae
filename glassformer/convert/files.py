"""Folders of Hugging Face on the disk: JSON and safetensors in, a whole folder or none out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from glassformer.errors import CheckpointError
from glassformer.pickles import refuse_pickles
from glassformer.whole import replacing

SETTINGS, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
# What weights may be stored in. Whole numbers and 8-bit floats are quantised: they say nothing without their scales.
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
# All that belongs to one model in such a folder, whoever wrote it: beside other weights it would mislead.
FILES = (
    SETTINGS,
    WEIGHTS,
    INDEX,
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
)


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
        return read_safetensors(directory / WEIGHTS)
    if (directory / INDEX).is_file():
        return _read_shards(directory)
    refuse_pickles(directory)
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
        tensors |= read_safetensors(directory / shard)
    different = sorted(set(places) ^ set(tensors))
    if different:
        raise CheckpointError(
            f"{directory / INDEX} must list what its shards hold", got=f"a difference: {different[0]}"
        )
    return tensors


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of one file, on the CPU and as they were stored.

    Raises CheckpointError when it is not whole, or a pickle.
    """
    with _opened(path) as file:
        # Copied, so that each tensor begins where torch's own do: kernels round otherwise at other addresses.
        return {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 - it is no dict


def read_header(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and kind of number (`F32`) of each tensor of one file, none of them read; raises as `read_safetensors`."""
    with _opened(path) as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
        return {name: (tuple(part.get_shape()), part.get_dtype()) for name, part in slices.items()}


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    refuse_pickles(path)
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except SafetensorError as error:
        raise CheckpointError(
            f"{path} must be a whole safetensors file",
            got=f"one that is cut short or damaged ({error})",
            do="copy or download it again, or go back to an earlier one",
        ) from None


def write_whole(directory: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write files into a new folder, and then make them those of `directory`, all at once.

    Raises CheckpointError when the disk does not take them; what was there before is then untouched.
    """
    try:
        with replacing(directory, FILES) as folder:
            fill(folder)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{directory} must be written", got=str(error)) from None
