"""Folders of Hugging Face on the disk: JSON and safetensors in, a whole folder or none out."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from glassformer.base.atomic import replace_files
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.json_text import read_json
from glassformer.base.paths import check_path
from glassformer.base.pickles import refuse_pickles
from glassformer.base.plain import refuse_strange

SETTINGS, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
# What weights may be stored in. Whole numbers and 8-bit floats are quantised: they say nothing without their scales.
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
# All files of one model in such a folder, by whatever tool: next to other weights they would mislead.
FILES = (
    SETTINGS,
    WEIGHTS,
    INDEX,
    "generation_config.json",
    "tokenizer.json",
    "target_tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "target_vocab.json",
    "merges.txt",
    "source.spm",
    "target.spm",
)


def refuse_other_than_files(directory: Path) -> None:
    """Raise CheckpointError for a pipe, of which there may be no end, or a folder in the place of a model's file."""
    for path in (directory / name for name in FILES):
        if os.path.lexists(path) and not os.path.isfile(path):
            got = "a link to nothing" if path.is_symlink() and not os.path.exists(path) else "something else"
            raise CheckpointError(f"{path} must be a file", got="a folder" if path.is_dir() else got)


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; raises CheckpointError when it is missing, is none, or holds what no setting is."""
    try:
        values = read_json(path)
    except FileNotFoundError:
        raise CheckpointError(f"a file {path} is needed", got="no such file") from None
    except (ValueError, OSError) as error:
        raise CheckpointError(f"{path} must be JSON", got=f"an error: {error}") from None
    if not isinstance(values, dict):
        raise CheckpointError(f"{path} must hold a JSON object", got=type(values).__name__)
    try:
        refuse_strange(values, str(path))
    except ConfigError as error:
        raise CheckpointError(error.wanted, got=error.got, do=error.do) from None
    return values


def read_shapes(directory: Path) -> dict[str, Tensor]:
    """The tensors of a folder without their numbers, on the device `meta`: only the beginnings of its files are read.
    Raises CheckpointError when there are none, when a shard is missing or cut short, and for pickles.
    """
    return {name: tensor for _, tensors in _files(directory) for name, tensor in tensors.items()}


def read_weights(directory: Path) -> dict[str, Tensor]:
    """All tensors of a folder, on the CPU and in the stored type. Raises CheckpointError as `read_shapes` does."""
    return {name: tensor for path, _ in _files(directory) for name, tensor in read_safetensors(path).items()}


def _files(directory: Path) -> list[tuple[Path, dict[str, Tensor]]]:
    """The files of a folder that hold its weights, each with the shapes in it."""
    if (directory / WEIGHTS).is_file():
        return [(directory / WEIGHTS, _shapes(directory / WEIGHTS))]
    if (directory / INDEX).is_file():
        return [(directory / shard, shapes) for shard, shapes in _shards(directory).items()]
    refuse_pickles(directory)
    raise CheckpointError(f"weights are needed in {directory}", got=f"neither {WEIGHTS} nor {INDEX}")


def _shards(directory: Path) -> dict[str, dict[str, Tensor]]:
    index = directory / INDEX
    places = read_object(index).get("weight_map")
    if not isinstance(places, dict):
        raise CheckpointError(f"{index} must hold a weight_map", got="none")
    listed: dict[str, set[str]] = {}
    for name, shard in places.items():
        if not isinstance(shard, str) or Path(shard).name != shard:
            raise CheckpointError(f"{index} must name files of its own folder", got=f"{shard!r} for {name}")
        listed.setdefault(shard, set()).add(name)
    found: dict[str, dict[str, Tensor]] = {}
    for shard in sorted(listed):
        if not os.path.isfile(directory / shard):
            raise CheckpointError(f"all shards named in {index} are needed", got=f"no file {shard}")
        found[shard] = _shapes(directory / shard)
        different = sorted(listed[shard] ^ found[shard].keys())
        if different:
            raise CheckpointError(
                f"{index} must list what its shards hold", got=f"a difference: {different[0]} in {shard}"
            )
    return found


def _shapes(path: Path) -> dict[str, Tensor]:
    shapes = {}
    for name, (shape, kind) in read_header(path).items():
        if kind not in _DTYPES:
            raise CheckpointError(f"{path}: {name} must be of floating-point numbers", got=kind)
        try:
            shapes[name] = torch.empty(shape, dtype=_DTYPES[kind], device="meta")
        except (OverflowError, RuntimeError, TypeError):
            raise CheckpointError(f"{path}: {name} must have a shape that can be", got=str(list(shape))) from None
    return shapes


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of one file, on the CPU, in the stored type; CheckpointError for a damaged file or a pickle."""
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
    """A safetensors file, its beginning checked against its size."""
    check_path(path, CheckpointError, utf8=True)
    refuse_pickles(path)
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(
            f"{path} must be a whole safetensors file",
            got=f"one that is cut short or damaged ({error})",
            do="copy or download it again, or go back to an earlier one",
        ) from None


def save_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """A safetensors file that may be read as the umask says: the library makes it private."""
    path.touch()
    mode = path.stat().st_mode
    save_file(tensors, path, metadata)
    path.chmod(mode)


def write_whole(directory: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write into a new folder, then move its files to `directory` all at once. Raises CheckpointError."""
    try:
        with replace_files(directory, FILES) as folder:
            fill(folder)
    except (OSError, SafetensorError) as error:
        got = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise CheckpointError(f"cannot write {directory}", got=got) from None
