"""The texts of the tour: what the page says at each step; the page puts the run's own numbers in."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def tour_texts() -> dict[str, Any]:
    """The texts of each step by its key, as `tour.toml` has them."""
    return tomllib.loads(resources.files(__package__).joinpath("tour.toml").read_text(encoding="utf-8"))
