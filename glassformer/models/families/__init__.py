"""The published families, each a function that returns a config. No forward depends on the family."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from pydantic import ConfigDict, ValidationError, validate_call

from glassformer.base.errors import ConfigError, did_you_mean
from glassformer.config import ModelConfig
from glassformer.models.families.bart import bart as bart
from glassformer.models.families.bert import bert as bert
from glassformer.models.families.distilbert import distilbert as distilbert
from glassformer.models.families.gpt2 import gpt2 as gpt2
from glassformer.models.families.llama import llama as llama
from glassformer.models.families.marian import marian as marian
from glassformer.models.families.mask_matrix import mask_matrix as mask_matrix
from glassformer.models.families.modernbert import modernbert as modernbert
from glassformer.models.families.roberta import roberta as roberta
from glassformer.models.families.slides import SLIDES_DO_NOT_DRAW as SLIDES_DO_NOT_DRAW
from glassformer.models.families.slides import slides as slides
from glassformer.models.families.t5 import t5 as t5
from glassformer.models.families.vaswani import tensor2tensor as tensor2tensor
from glassformer.models.families.vaswani import vaswani2017 as vaswani2017

FAMILIES: dict[str, Callable[..., ModelConfig]] = {
    function.__name__: function
    for function in (
        slides,
        mask_matrix,
        vaswani2017,
        tensor2tensor,
        bert,
        distilbert,
        roberta,
        modernbert,
        gpt2,
        llama,
        marian,
        bart,
        t5,
    )
}


def family_config(name: str, settings: Mapping[str, Any]) -> ModelConfig:
    """The config of a family by name, with its keywords; raises ConfigError for what is unknown or impossible."""
    if name not in FAMILIES:
        raise ConfigError(f"there is no family {name!r}", do=did_you_mean(name, FAMILIES))
    if not isinstance(settings, Mapping):
        raise ConfigError("the settings of a family must be names with values", got=repr(settings)[:60])
    known = inspect.signature(FAMILIES[name]).parameters
    for key in settings:
        if key not in known:
            raise ConfigError(f"the family {name} has no setting {key!r}", do=did_you_mean(key, known))
    try:
        return _strict(FAMILIES[name])(**settings)
    except ValidationError as error:
        reason = error.errors()[0]
        place = "".join(f"{step}: " for step in reason["loc"])
        given = "" if isinstance(reason["input"], dict) else repr(reason["input"])
        raise ConfigError(f"{name}: {place}{reason['msg'].removeprefix('Value error, ')}", got=given) from None


@cache
def _strict(function: Callable[..., ModelConfig]) -> Callable[..., ModelConfig]:
    """The family's function with its keywords checked: the check takes milliseconds to build."""
    return validate_call(config=ConfigDict(strict=True))(function)
