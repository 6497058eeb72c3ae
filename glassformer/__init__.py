"""Transformers you can see through: train, tune, run and open up encoders, decoders and encoder–decoders.

Importing this costs next to nothing: a name is fetched from its room when it is first used.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glassformer.artefact.model import Model
    from glassformer.artefact.open import load
    from glassformer.artefact.recipe import train
    from glassformer.artefact.resolve import Recipe
    from glassformer.config import ModelConfig
    from glassformer.errors import GlassformerError
    from glassformer.look.load import load_trace
    from glassformer.look.run import trace
    from glassformer.look.trace import Trace
    from glassformer.look.watch import watch
    from glassformer.models.families import family_config
    from glassformer.models.inputs import Inputs
    from glassformer.models.names import tensor_names
    from glassformer.models.transformer import Transformer, build
    from glassformer.text.tokenizer import Tokenizer

__version__ = "0.1.0"

__all__ = [
    "GlassformerError",
    "Inputs",
    "Model",
    "ModelConfig",
    "Recipe",
    "Tokenizer",
    "Trace",
    "Transformer",
    "build",
    "family_config",
    "load",
    "load_trace",
    "tensor_names",
    "trace",
    "train",
    "watch",
]

_ROOMS = {
    "GlassformerError": "errors",
    "Inputs": "models.inputs",
    "Model": "artefact.model",
    "ModelConfig": "config",
    "Recipe": "artefact.resolve",
    "Tokenizer": "text.tokenizer",
    "Trace": "look.trace",
    "Transformer": "models.transformer",
    "build": "models.transformer",
    "family_config": "models.families",
    "load": "artefact.open",
    "load_trace": "look.load",
    "tensor_names": "models.names",
    "trace": "look.run",
    "train": "artefact.recipe",
    "watch": "look.watch",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


class _Package(ModuleType):
    """`train` is a room and also the word people type: importing the room must not cover the word."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _ROOMS and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
