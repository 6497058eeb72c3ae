"""The texts that are sent with a page: those of the tours, the list of the documents' pictures, and the quiz."""

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
    return _read("pictures.toml")


def quiz() -> dict[str, Any]:
    """The ten questions, each with its choices, as `quiz.toml` has them."""
    return _read("quiz.toml")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
