"""Transformers you can see through: train, tune, run and inspect encoders, decoders and encoder–decoders.

Importing this package is cheap: a name is imported from its module when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glassformer.artefact.compare import compare
    from glassformer.artefact.importance import head_importance
    from glassformer.artefact.model import Model
    from glassformer.artefact.open import load
    from glassformer.artefact.recipe import Recipe
    from glassformer.artefact.train import train
    from glassformer.base.errors import GlassformerError
    from glassformer.config import ModelConfig
    from glassformer.decode.settings import DecodeSettings
    from glassformer.estimators.classifier import TextClassifier
    from glassformer.estimators.features import TextFeatures
    from glassformer.estimators.tagger import Tagger
    from glassformer.features.mix import Mix
    from glassformer.look.summaries.attributions import attributions
    from glassformer.look.summaries.head_jobs import heads
    from glassformer.look.summaries.lens import logit_lens
    from glassformer.look.summaries.rollout import rollout
    from glassformer.look.summaries.ties import ties
    from glassformer.look.trace.interventions import (
        ChangeWord,
        MaskWord,
        Replace,
        allow,
        average_head,
        average_layer,
        forbid,
        patch,
        set_number,
        zero_head,
        zero_layer,
    )
    from glassformer.look.trace.load import load_trace
    from glassformer.look.trace.run import trace
    from glassformer.look.trace.trace import Trace
    from glassformer.look.trace.watch import watch
    from glassformer.models.families import family_config
    from glassformer.models.inputs import Inputs
    from glassformer.models.names import tensor_names
    from glassformer.models.transformer import Transformer, build
    from glassformer.parts.activity import activity_matrix
    from glassformer.search.index import SearchIndex
    from glassformer.text.tokenizer import Tokenizer

__version__ = "0.1.0"

__all__ = [
    "ChangeWord",
    "DecodeSettings",
    "GlassformerError",
    "Inputs",
    "MaskWord",
    "Mix",
    "Model",
    "ModelConfig",
    "Recipe",
    "Replace",
    "SearchIndex",
    "Tagger",
    "TextClassifier",
    "TextFeatures",
    "Tokenizer",
    "Trace",
    "Transformer",
    "activity_matrix",
    "allow",
    "attributions",
    "average_head",
    "average_layer",
    "build",
    "compare",
    "family_config",
    "forbid",
    "head_importance",
    "heads",
    "load",
    "load_trace",
    "logit_lens",
    "patch",
    "rollout",
    "set_number",
    "tensor_names",
    "ties",
    "trace",
    "train",
    "watch",
    "zero_head",
    "zero_layer",
]

_MODULES = {
    "ChangeWord": "look.interventions",
    "DecodeSettings": "decode.settings",
    "GlassformerError": "errors",
    "Inputs": "models.inputs",
    "MaskWord": "look.interventions",
    "Mix": "features.mix",
    "Model": "artefact.model",
    "ModelConfig": "config",
    "Recipe": "artefact.recipe",
    "Replace": "look.interventions",
    "SearchIndex": "search.index",
    "Tagger": "estimators.tagger",
    "TextClassifier": "estimators.classifier",
    "TextFeatures": "estimators.features",
    "Tokenizer": "text.tokenizer",
    "Trace": "look.trace",
    "Transformer": "models.transformer",
    "activity_matrix": "parts.activity",
    "allow": "look.interventions",
    "attributions": "look.attributions",
    "average_head": "look.interventions",
    "average_layer": "look.interventions",
    "build": "models.transformer",
    "compare": "artefact.compare",
    "family_config": "models.families",
    "forbid": "look.interventions",
    "head_importance": "artefact.importance",
    "heads": "look.head_jobs",
    "load": "artefact.open",
    "load_trace": "look.load",
    "logit_lens": "look.lens",
    "patch": "look.interventions",
    "rollout": "look.rollout",
    "set_number": "look.interventions",
    "tensor_names": "models.names",
    "ties": "look.ties",
    "trace": "look.run",
    "train": "artefact.train",
    "watch": "look.watch",
    "zero_head": "look.interventions",
    "zero_layer": "look.interventions",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
