"""The texts that travel beside a page: those of the tours, and the list of the documents' pictures."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def tour_texts() -> dict[str, Any]:
    """The texts of each step by its key, of each tour by its name: a file of `tours` is a tour."""
    files = [file for file in resources.files(__package__).joinpath("tours").iterdir() if file.name.endswith(".toml")]
    files.sort(key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8")) for file in files}


def pictures() -> dict[str, Any]:
    """The pictures of the source documents and where each is alive in the page, as `pictures.toml` has them."""
    file = resources.files(__package__).joinpath("pictures.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))
