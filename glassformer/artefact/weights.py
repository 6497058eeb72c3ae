"""Weights on disk: safetensors, each shared tensor once, and no pickle ever."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from glassformer.config import ModelConfig
from glassformer.convert.files import FLOATS, read_safetensors
from glassformer.errors import CheckpointError
from glassformer.models.transformer import Transformer

if TYPE_CHECKING:
    from torch import Tensor


def write_weights(path: Path, module: Transformer) -> None:
    """Write the parameters of a module; raises OSError when the disk does not take them."""
    # named_parameters gives a shared parameter once, under its first name.
    state = {name: parameter.detach().cpu().contiguous() for name, parameter in module.named_parameters()}
    try:
        save_file(state, str(path), metadata={"format": "pt"})
    except SafetensorError as error:  # the library wraps what the system said
        raise OSError(str(error)) from None
    os.chmod(path, 0o644)  # the library keeps it private, a saved model need not be


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file; raises CheckpointError when it is missing, cut short, or something else."""
    if not path.is_file():
        raise CheckpointError(f"weights are needed at {path}", got="no such file")
    return read_safetensors(path)


def build_with(config: ModelConfig, path: Path) -> Transformer:
    """The model of a config with the weights in a file, on the CPU and in eval mode.

    Raises CheckpointError unless the file holds each parameter of the model in its shape and in floating point, and
    nothing else.
    """
    state = read_weights(path)
    with torch.device("meta"):  # shapes alone: the numbers come from the file
        module = Transformer(config)
    named = dict(module.named_parameters())
    missing, unknown = sorted(named.keys() - state.keys()), sorted(state.keys() - named.keys())
    if missing or unknown:
        what = f"without {missing[0]}" if missing else f"with {unknown[0]}, which the model has not"
        raise CheckpointError(f"{path} must hold the weights of the model beside it", got=f"a file {what}")
    for name, parameter in named.items():
        if state[name].shape != parameter.shape:
            raise CheckpointError(
                f"{name} must be {list(parameter.shape)} as the model says", got=f"{list(state[name].shape)} in {path}"
            )
        if state[name].dtype not in FLOATS:
            kind = str(state[name].dtype).removeprefix("torch.")
            raise CheckpointError(f"{name} must be of floating-point numbers", got=f"{kind} in {path}")
    first_name = {id(parameter): name for name, parameter in named.items()}
    shared = module.named_parameters(remove_duplicate=False)
    module.load_state_dict({name: state[first_name[id(parameter)]] for name, parameter in shared}, assign=True)
    return module.eval()
