"""Transformers you can see through: train, tune, run and inspect encoders, decoders and encoder–decoders.

Importing this package is cheap: a name is imported from its module when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glassformer.api.estimators.classifier import TextClassifier as TextClassifier
    from glassformer.api.estimators.features import TextFeatures as TextFeatures
    from glassformer.api.estimators.regressor import TextRegressor as TextRegressor
    from glassformer.api.estimators.tagger import Tagger as Tagger
    from glassformer.api.load import load as load
    from glassformer.api.model import Model as Model
    from glassformer.api.trace import Trace as Trace
    from glassformer.api.trace import load_trace as load_trace
    from glassformer.api.trace import trace as trace
    from glassformer.api.train import train as train
    from glassformer.base.errors import GlassformerError as GlassformerError
    from glassformer.config import ModelConfig as ModelConfig
    from glassformer.decode.settings import DecodeSettings as DecodeSettings
    from glassformer.features.search.index import SearchIndex as SearchIndex
    from glassformer.features.search.rerank import Reranker as Reranker
    from glassformer.features.strategies import Mix as Mix
    from glassformer.look.summaries.attributions import attributions as attributions
    from glassformer.look.summaries.contributions import contributions as contributions
    from glassformer.look.summaries.head_jobs import heads as heads
    from glassformer.look.summaries.integrated import integrated_gradients as integrated_gradients
    from glassformer.look.summaries.lens import logit_lens as logit_lens
    from glassformer.look.summaries.rollout import rollout as rollout
    from glassformer.look.summaries.ties import ties as ties
    from glassformer.look.texts.importance import head_importance as head_importance
    from glassformer.look.trace.interventions import ChangeWord as ChangeWord
    from glassformer.look.trace.interventions import MaskWord as MaskWord
    from glassformer.look.trace.interventions import Replace as Replace
    from glassformer.look.trace.interventions import allow as allow
    from glassformer.look.trace.interventions import average_head as average_head
    from glassformer.look.trace.interventions import average_layer as average_layer
    from glassformer.look.trace.interventions import forbid as forbid
    from glassformer.look.trace.interventions import patch as patch
    from glassformer.look.trace.interventions import set_number as set_number
    from glassformer.look.trace.interventions import zero_head as zero_head
    from glassformer.look.trace.interventions import zero_layer as zero_layer
    from glassformer.look.trace.watch import watch as watch
    from glassformer.models.families import family_config as family_config
    from glassformer.models.inputs import Inputs as Inputs
    from glassformer.models.names import tensor_names as tensor_names
    from glassformer.models.transformer import Transformer as Transformer
    from glassformer.models.transformer import build as build
    from glassformer.parts.activity import activity_matrix as activity_matrix
    from glassformer.run.compare import compare as compare
    from glassformer.saved.recipe import Recipe as Recipe
    from glassformer.text.tokenizer import Tokenizer as Tokenizer

__version__ = "1.0.0rc1"

# The public names of each module.
_NAMES = {
    "api.estimators.classifier": "TextClassifier",
    "api.estimators.features": "TextFeatures",
    "api.estimators.regressor": "TextRegressor",
    "api.estimators.tagger": "Tagger",
    "api.load": "load",
    "api.model": "Model",
    "api.trace": "Trace load_trace trace",
    "api.train": "train",
    "base.errors": "GlassformerError",
    "config": "ModelConfig",
    "decode.settings": "DecodeSettings",
    "features.search.index": "SearchIndex",
    "features.search.rerank": "Reranker",
    "features.strategies": "Mix",
    "look.summaries.attributions": "attributions",
    "look.summaries.contributions": "contributions",
    "look.summaries.head_jobs": "heads",
    "look.summaries.integrated": "integrated_gradients",
    "look.summaries.lens": "logit_lens",
    "look.summaries.rollout": "rollout",
    "look.summaries.ties": "ties",
    "look.texts.importance": "head_importance",
    "look.trace.interventions": (
        "ChangeWord MaskWord Replace allow average_head average_layer forbid patch set_number zero_head zero_layer"
    ),
    "look.trace.watch": "watch",
    "models.families": "family_config",
    "models.inputs": "Inputs",
    "models.names": "tensor_names",
    "models.transformer": "Transformer build",
    "parts.activity": "activity_matrix",
    "run.compare": "compare",
    "saved.recipe": "Recipe",
    "text.tokenizer": "Tokenizer",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_MODULES, "__version__"])
