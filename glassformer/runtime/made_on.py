"""When and on what a figure was measured."""

import time

import torch

from glassformer.base.machine import processor
from glassformer.runtime.device import has_fast_bfloat16


def products() -> str:
    """The type that matrix products are computed in on this machine, unless a row says otherwise."""
    return "bfloat16" if has_fast_bfloat16(torch.device("cpu")) else "float32"


def made_on() -> dict[str, str]:
    """Today, this machine, its torch, and the type of its matrix products."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": processor(),
        "torch": torch.__version__,
        "products": products(),
    }
