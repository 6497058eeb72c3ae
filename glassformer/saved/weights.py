"""Weights on disk: safetensors, with each shared tensor once; never a pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from glassformer.base.errors import CheckpointError
from glassformer.base.json_text import file_checksum
from glassformer.config import ModelConfig
from glassformer.convert.files import read_header, read_safetensors
from glassformer.models.transformer import Transformer
from glassformer.saved.facts import Header

if TYPE_CHECKING:
    from torch import Tensor

# Names of floating-point types in the header of a safetensors file, and the fields of each tensor there.
_FLOATS = ("F16", "BF16", "F32", "F64")


def write_weights(path: Path, module: Transformer) -> None:
    # named_parameters gives a shared parameter once, under its first name.
    state = {name: parameter.detach().cpu().contiguous() for name, parameter in module.named_parameters()}
    try:
        save_file(state, str(path), metadata={"format": "pt"})
    except SafetensorError as error:  # the library wraps the system's error
        raise OSError(str(error)) from None
    os.chmod(path, 0o644)  # the library makes the file private, but a saved model may be read by others


def read_weights_header(path: Path) -> Header:
    """Shapes and number types in a safetensors file; raises CheckpointError if missing, cut short or a pickle."""
    if not path.is_file():
        raise CheckpointError(f"weights are needed at {path}", got="no such file")
    return read_header(path)


def build_with(config: ModelConfig, path: Path, header: Header, *, checksum: str | None = None) -> Transformer:
    """The model with a file's weights, in eval mode. Raises CheckpointError unless parameters and checksum match."""
    try:
        with torch.device("meta"):  # without memory for weights: they come from the file
            module = Transformer(config)
    except (RuntimeError, TypeError, ValueError, OverflowError):
        raise CheckpointError(
            "a model must have sizes that a tensor can have", got="larger ones in its settings " + str(path)
        ) from None
    named = dict(module.named_parameters())
    _compare(named, header, path)
    if checksum is not None and file_checksum(path) != checksum:
        raise CheckpointError(
            f"{path} must be the weights that were saved with the model",
            got="other bytes: the file is damaged, or belongs to another model",
            do="copy or download it again, or use an earlier one",
        )
    state = read_safetensors(path)
    first_name = {id(parameter): name for name, parameter in named.items()}
    shared = module.named_parameters(remove_duplicate=False)
    module.load_state_dict({name: state[first_name[id(parameter)]] for name, parameter in shared}, assign=True)
    return module.eval()


def _compare(named: Mapping[str, Tensor], header: Header, path: Path) -> None:
    missing, unknown = sorted(named.keys() - header.keys()), sorted(header.keys() - named.keys())
    if missing or unknown:
        what = f"without {missing[0]}" if missing else f"with {unknown[0]}, which the model does not have"
        raise CheckpointError(f"{path} must hold the weights of the model in its folder", got=f"a file {what}")
    for name, parameter in named.items():
        shape, kind = header[name]
        if shape != tuple(parameter.shape):
            raise CheckpointError(f"{name} must have shape {list(parameter.shape)}", got=f"{list(shape)} in {path}")
        if kind not in _FLOATS:
            raise CheckpointError(f"{name} must have floating-point numbers", got=f"{kind} in {path}")
