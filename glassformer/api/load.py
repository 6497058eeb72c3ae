"""`load`: opens a saved model."""

from pathlib import Path

import torch

from glassformer.answering.engines.choice import check_engine
from glassformer.api.model import Model
from glassformer.base.installed import check_torch
from glassformer.saved.opening import open_model


def load(
    path: str | Path,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    fast: bool = False,
    engine: str = "auto",
) -> Model:
    """Open a saved model: a folder in our format or in Hugging Face's (`config.json` and safetensors), or the name of a
    bundled model (`english`), unless the current folder has a model of this name.

    `dtype` is that of the weights, float32 by default; `fast` predicts in bfloat16 where the machine is faster with it.
    With "int8" the matrices are rounded to 8 bits, for texts that are written one at a time on a processor: such a
    model predicts, and is not traced, saved or trained. `engine` is the library that answers many texts: `torch`,
    `ctranslate2` or `onnxruntime`, or with `auto` the fastest of those that are installed, where it gives the same
    answers (`docs/do/engines.md`). The internet is used only for `hub:owner/name`. Raises
    CheckpointError for anything but a model, DeviceError for a device that is not available, ConfigError and
    MissingExtraError for an engine that is not there, PackageError for a torch that is too old.
    """
    check_torch()
    name = check_engine(engine)
    model = open_model(path, Model, device, dtype, fast=fast)
    model.engine = name
    return model
