"""Transformers you can see through: train, tune, run and inspect encoders, decoders and encoder–decoders.

Importing this package is cheap: a name is imported from its module when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glassformer.api.estimators.classifier import TextClassifier
    from glassformer.api.estimators.features import TextFeatures
    from glassformer.api.estimators.tagger import Tagger
    from glassformer.api.load import load
    from glassformer.api.model import Model
    from glassformer.api.trace import Trace, load_trace, trace
    from glassformer.api.train import train
    from glassformer.base.errors import GlassformerError
    from glassformer.config import ModelConfig
    from glassformer.decode.settings import DecodeSettings
    from glassformer.features.search.index import SearchIndex
    from glassformer.features.search.rerank import Reranker
    from glassformer.features.strategies import Mix
    from glassformer.look.summaries.attributions import attributions
    from glassformer.look.summaries.contributions import contributions
    from glassformer.look.summaries.head_jobs import heads
    from glassformer.look.summaries.integrated import integrated_gradients
    from glassformer.look.summaries.lens import logit_lens
    from glassformer.look.summaries.rollout import rollout
    from glassformer.look.summaries.ties import ties
    from glassformer.look.texts.importance import head_importance
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
    from glassformer.look.trace.watch import watch
    from glassformer.models.families import family_config
    from glassformer.models.inputs import Inputs
    from glassformer.models.names import tensor_names
    from glassformer.models.transformer import Transformer, build
    from glassformer.parts.activity import activity_matrix
    from glassformer.run.compare import compare
    from glassformer.saved.recipe import Recipe
    from glassformer.text.tokenizer import Tokenizer

__version__ = "1.0.0rc1"

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
    "Reranker",
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
    "contributions",
    "family_config",
    "forbid",
    "head_importance",
    "heads",
    "integrated_gradients",
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
    "ChangeWord": "look.trace.interventions",
    "DecodeSettings": "decode.settings",
    "GlassformerError": "base.errors",
    "Inputs": "models.inputs",
    "MaskWord": "look.trace.interventions",
    "Mix": "features.strategies",
    "Model": "api.model",
    "ModelConfig": "config",
    "Recipe": "saved.recipe",
    "Replace": "look.trace.interventions",
    "Reranker": "features.search.rerank",
    "SearchIndex": "features.search.index",
    "Tagger": "api.estimators.tagger",
    "TextClassifier": "api.estimators.classifier",
    "TextFeatures": "api.estimators.features",
    "Tokenizer": "text.tokenizer",
    "Trace": "api.trace",
    "Transformer": "models.transformer",
    "activity_matrix": "parts.activity",
    "allow": "look.trace.interventions",
    "attributions": "look.summaries.attributions",
    "average_head": "look.trace.interventions",
    "average_layer": "look.trace.interventions",
    "build": "models.transformer",
    "compare": "run.compare",
    "contributions": "look.summaries.contributions",
    "family_config": "models.families",
    "forbid": "look.trace.interventions",
    "head_importance": "look.texts.importance",
    "heads": "look.summaries.head_jobs",
    "integrated_gradients": "look.summaries.integrated",
    "load": "api.load",
    "load_trace": "api.trace",
    "logit_lens": "look.summaries.lens",
    "patch": "look.trace.interventions",
    "rollout": "look.summaries.rollout",
    "set_number": "look.trace.interventions",
    "tensor_names": "models.names",
    "ties": "look.summaries.ties",
    "trace": "api.trace",
    "train": "api.train",
    "watch": "look.trace.watch",
    "zero_head": "look.trace.interventions",
    "zero_layer": "look.trace.interventions",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
