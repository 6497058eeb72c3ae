"""The texts that travel beside a page: those of the tour, and the list of the documents' pictures."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def tour_texts() -> dict[str, Any]:
    """The texts of each step by its key, as `tour.toml` has them."""
    return _read("tour.toml")


def pictures() -> dict[str, Any]:
    """The pictures of the source documents and where each is alive in the page, as `pictures.toml` has them."""
    return _read("pictures.toml")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
