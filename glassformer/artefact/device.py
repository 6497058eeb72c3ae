"""Where and how precisely a model computes."""

from __future__ import annotations

import torch

from glassformer.errors import ConfigError, DeviceError, did_you_mean

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


def choose_device(name: str | torch.device | None) -> torch.device:
    """The device by name; None or "auto" is the GPU where there is one, else the CPU.

    Raises DeviceError for one that is not there.
    """
    if name is None or name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        there = "cpu" + (f" and cuda ({torch.cuda.device_count()})" if torch.cuda.is_available() else "")
        raise DeviceError(f"the device {str(name)!r} must be there", got=f"a machine with {there}", do="use --device cpu") from None
    return device


def choose_dtype(name: str | torch.dtype | None) -> torch.dtype:
    """The type of the weights, float32 when None; raises ConfigError for another than the three we compute in."""
    if isinstance(name, torch.dtype) and name in DTYPES.values():
        return name
    if name is None:
        return torch.float32
    if name not in DTYPES:
        raise ConfigError("a type of number is needed", got=repr(name), do=did_you_mean(str(name), DTYPES))
    return DTYPES[str(name)]
