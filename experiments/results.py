"""Where measured rows are kept, one JSON file each, with the command and the machine that made them."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.base.machine import processor
from glassformer.runtime.made_on import made_on, products

__all__ = ["made_on", "processor", "products", "read", "read_each", "write"]

RESULTS = Path(__file__).parent.parent / "docs" / "results"
# What ends the names of rows that were measured on an x86 without AVX-512.
_AVX2 = "-avx2"


def data_directory() -> Path:
    """The shared data sets: the variable GLASSFORMER_DATA, else ../shared/data next to the checkout."""
    named = os.environ.get("GLASSFORMER_DATA")
    return Path(named) if named else Path(__file__).parent.parent.parent / "shared" / "data"


def write(name: str, command: str, values: Mapping[str, Any], *, of_width: bool = False) -> Path:
    """Write one row, whole or not at all; `of_width`: its name says so where an x86 has no AVX-512."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    name += _AVX2 if of_width and "(AVX2)" in processor() else ""
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


def read_each(name: str) -> list[dict[str, Any]]:
    """The rows that `of_width` has written: with AVX-512, and without."""
    return [row for of in ("", _AVX2) if (row := read(f"{name}{of}")) is not None]
