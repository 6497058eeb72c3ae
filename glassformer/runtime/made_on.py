"""When and on what a figure was measured."""

import os
import platform
import time
from pathlib import Path

import torch

from glassformer.runtime.device import has_fast_bfloat16


def processor() -> str:
    """The processor's name and how many cores this process may use."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        name = names[0] if names else name
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} core{'s' * (cores != 1)}"


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
