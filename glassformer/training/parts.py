"""Tensors that several processes write together, by torch's distributed checkpoint: each writes its part of every
tensor into a file of its own, and any number of processes reads them.

The files are safetensors, as Hugging Face's are; torch's own format is a pickle.
"""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

# Where in a checkpoint they are.
FOLDER = "parts"


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
