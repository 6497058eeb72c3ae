"""Where measured rows are kept, one JSON file each, with the command and the machine that made them."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "docs" / "results"


def data_directory() -> Path:
    """The shared data sets: the variable GLASSFORMER_DATA, else ../shared/data beside the checkout."""
    named = os.environ.get("GLASSFORMER_DATA")
    return Path(named) if named else Path(__file__).parent.parent.parent / "shared" / "data"


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
    import torch

    from glassformer.runtime.device import has_fast_bfloat16

    return "bfloat16" if has_fast_bfloat16(torch.device("cpu")) else "float32"


def made_on() -> dict[str, str]:
    """Today, this machine, its torch and its products."""
    import torch

    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": processor(),
        "torch": torch.__version__,
        "products": products(),
    }


def write(name: str, command: str, values: Mapping[str, Any]) -> Path:
    """Write one row, whole or not at all."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    row = {"name": name, "command": command, **made_on(), **values}
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(row, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    partial.replace(path)
    return path


def read(name: str) -> dict[str, Any] | None:
    """One row, None when it has not been measured yet."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
