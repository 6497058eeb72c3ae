"""The families of Hugging Face that are read and written, and a folder's settings as our tree."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from glassformer.base.errors import CheckpointError, ConfigError, did_you_mean
from glassformer.config import ModelConfig
from glassformer.convert.bart import BART
from glassformer.convert.bert import BERT
from glassformer.convert.distilbert import DISTILBERT
from glassformer.convert.family import Family
from glassformer.convert.gpt2 import GPT2
from glassformer.convert.llama import LLAMA, MISTRAL, QWEN2
from glassformer.convert.marian import MARIAN
from glassformer.convert.modernbert import MODERNBERT
from glassformer.convert.roberta import ROBERTA
from glassformer.convert.settings import Count, read_values
from glassformer.convert.t5 import T5
from glassformer.convert.table import stored_layers
from glassformer.models.families import family_config
from glassformer.models.transformer import Transformer

FAMILY_TABLES: dict[str, Family] = {
    family.name: family for family in (BERT, DISTILBERT, ROBERTA, MODERNBERT, GPT2, LLAMA, MARIAN, BART, T5)
}
"""The families that are written, each as itself."""
_READ = {**FAMILY_TABLES, "mistral": MISTRAL, "qwen2": QWEN2}


def family_of(values: Mapping[str, Any], where: str) -> Family:
    """The table for what `config.json` calls its `model_type`; raises CheckpointError for one we do not have."""
    name = values.get("model_type")
    if not isinstance(name, str) or name not in _READ:
        raise CheckpointError(
            f"{where}: model_type must be a family that is read",
            got=repr(name),
            do=did_you_mean(str(name or ""), _READ),
        )
    return _READ[name]


def read_config(
    family: Family, values: Mapping[str, Any], source: Mapping[str, Tensor], *, where: str
) -> tuple[ModelConfig, dict[str, str]]:
    """Our tree for their settings, with what the tensors tell, and the reason for each setting left aside."""
    keywords, aside = read_values(family.settings, values, where=where)
    _check_layers(family, keywords, source, where)
    body = family.classes.get((False, False))
    if body is not None:
        keywords["vocabulary_head"] = values.get("architectures") != [body]
    for row in family.presence:
        if row.theirs in source:
            keywords[row.ours] = source[row.theirs].shape[0] if row.there is None else row.there
        elif row.absent is not None:
            keywords[row.ours] = row.absent
    try:
        return family_config(family.name, keywords), aside
    except ConfigError as error:
        raise CheckpointError(f"{where} must describe a model that can be built", got=str(error)) from None


def _check_layers(family: Family, keywords: Mapping[str, Any], source: Mapping[str, Tensor], where: str) -> None:
    """Refuse more layers than are stored before one of them is built; raises CheckpointError."""
    for row in family.settings:
        asked = keywords.get(row.ours) if isinstance(row, Count) else None
        if not (isinstance(row, Count) and isinstance(asked, int)):
            continue
        there = stored_layers(family.tensors, row.at, source)
        if asked > there:
            raise CheckpointError(
                f"{where}: {row.theirs} must be the number of layers that are stored", got=f"{asked:,}; {there:,} are"
            )


def parameter_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Shapes by name, shared parameters once, without allocation; CheckpointError for impossible sizes."""
    try:
        with torch.device("meta"):
            return {name: tuple(parameter.shape) for name, parameter in Transformer(config).named_parameters()}
    except (RuntimeError, TypeError, OverflowError):  # torch counts to 2^63
        raise CheckpointError(f"a {config.family} needs sizes that a machine can hold", got="2^63 or more") from None


def full_names(family: Family, source: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors under today's full names, however old the file is and whether or not the body was saved alone."""
    today = {family.today(name): tensor for name, tensor in source.items()}
    if any(name.startswith(family.prefix) for name in today):
        return today
    return {name if name.startswith(family.heads) else family.prefix + name: tensor for name, tensor in today.items()}
