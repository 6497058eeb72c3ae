"""The texts of the tours: what the page says at each step; the page puts the run's own numbers in."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def tour_texts() -> dict[str, Any]:
    """The texts of each step by its key, of each tour by its name: a file of `tours` is a tour."""
    files = [file for file in resources.files(__package__).joinpath("tours").iterdir() if file.name.endswith(".toml")]
    return {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8"))
        for file in sorted(files, key=lambda file: file.name)
    }
