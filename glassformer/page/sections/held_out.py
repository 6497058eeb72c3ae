"""Sentences that no model of the package has learned from, for measuring what is lost without a head."""

import tomllib
from importlib import resources


def held_out() -> tuple[tuple[str, str], ...]:
    """Each sentence in English and in French."""
    text = resources.files("glassformer.page").joinpath("held_out.toml").read_text(encoding="utf-8")
    return tuple((source, target) for source, target in tomllib.loads(text)["pairs"])
