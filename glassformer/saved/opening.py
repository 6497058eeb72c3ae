"""Opening a saved model: its folder in our format or Hugging Face's, or the name of a bundled model."""

import os
from pathlib import Path
from typing import TypeVar

import torch

from glassformer.base.atomic import current
from glassformer.base.errors import CheckpointError, ConfigError, did_you_mean
from glassformer.base.paths import check_path
from glassformer.base.pickles import refuse_pickles
from glassformer.bundled.travelling import located, no_model, travelling
from glassformer.runtime.device import check_float64, choose_device
from glassformer.runtime.matrices import to_int8
from glassformer.saved import store
from glassformer.saved.artefact import Artefact
from glassformer.saved.foreign import read_foreign
from glassformer.saved.recipe import HUB, RECIPE

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16, "int8": torch.int8}

Kind = TypeVar("Kind", bound=Artefact)


def open_model(
    path: str | Path,
    kind: type[Kind],
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    *,
    fast: bool = False,
) -> Kind:
    """The model of a folder, else of a bundled name, as this `kind`. Raises CheckpointError, DeviceError."""
    where, numbers = choose_device("auto" if device is None else str(device)), choose_dtype(dtype)
    check_float64(where, numbers)
    model = open_as_saved(path, kind)
    model.module.to(device=where, dtype=torch.float32 if numbers == torch.int8 else numbers)
    if numbers == torch.int8:
        to_int8(model.module)
    model._fast = fast
    return model


def open_as_saved(path: str | Path, kind: type[Kind]) -> Kind:
    """Open a model on the CPU, with the weights in the type in which they were saved, to write them elsewhere."""
    if str(path).startswith(HUB):
        return read_foreign(path, kind)[0]
    check_path(path, CheckpointError)
    path = Path(located(path))
    if not os.path.exists(path):
        near = did_you_mean(path.name, travelling()) if path.parent in (Path(), Path.cwd()) else ""
        raise CheckpointError(no_model(path), do=near if near.startswith("did") else "")
    if not path.is_dir():
        refuse_pickles(path)
        own = path.resolve().parent
        is_in_one = store.is_ours(own) or (own / "config.json").is_file()
        do = f"name its folder: {own}" if is_in_one else "name a folder that train or import wrote"
        raise CheckpointError("a model is a folder", got=f"the file {path}", do=do)
    if store.is_ours(path):
        return store.read(path, kind)
    refuse_pickles(path)
    if (current(path) / "config.json").is_file():
        return read_foreign(path, kind)[0]
    do = "name a folder that train or import wrote"
    if (path / RECIPE).is_file():
        of_seeds = next((each for each in sorted(path.glob("seed-*")) if store.is_ours(each)), None)
        do = f"its training is unfinished: continue with glassformer train --resume --out {path}"
        do = do if of_seeds is None else f"it holds a run for each seed: name one of them, such as {of_seeds}"
    raise CheckpointError(f"{path} is not a saved model: it has neither {store.SETTINGS} nor config.json", do=do)


def choose_dtype(name: str | torch.dtype | None) -> torch.dtype:
    """The type of the weights, float32 when None; raises ConfigError for any but the four supported ones."""
    if isinstance(name, torch.dtype) and name in DTYPES.values():
        return name
    if name is None:
        return torch.float32
    if name not in DTYPES:
        raise ConfigError("a type of number is needed", got=repr(name), do=did_you_mean(str(name), DTYPES))
    return DTYPES[str(name)]
