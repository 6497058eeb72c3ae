"""Transformers you can see through: train, tune, run and inspect encoders, decoders and encoder–decoders.

Importing this package is cheap: a name is imported from its module when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glassformer.artefact.model import Model
    from glassformer.artefact.open import load
    from glassformer.artefact.recipe import Recipe
    from glassformer.artefact.train import train
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
    from glassformer.parts.activity import activity_matrix
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
    "activity_matrix",
    "build",
    "family_config",
    "load",
    "load_trace",
    "tensor_names",
    "trace",
    "train",
    "watch",
]

_MODULES = {
    "GlassformerError": "errors",
    "Inputs": "models.inputs",
    "Model": "artefact.model",
    "ModelConfig": "config",
    "Recipe": "artefact.recipe",
    "Tokenizer": "text.tokenizer",
    "Trace": "look.trace",
    "Transformer": "models.transformer",
    "activity_matrix": "parts.activity",
    "build": "models.transformer",
    "family_config": "models.families",
    "load": "artefact.open",
    "load_trace": "look.load",
    "tensor_names": "models.names",
    "trace": "look.run",
    "train": "artefact.train",
    "watch": "look.watch",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
