"""Reading and writing models in Hugging Face's format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import torch

from glassformer.artefact.artefact import Artefact
from glassformer.artefact.recipe import HUB
from glassformer.artefact.store import refuse_a_model
from glassformer.convert.huggingface import Report, read_huggingface, write_huggingface
from glassformer.errors import ConfigError
from glassformer.models.transformer import Transformer

Kind = TypeVar("Kind", bound=Artefact)


def read_foreign(path: str | Path, kind: type[Kind]) -> tuple[Kind, Report]:
    """The model in a Hugging Face folder, with its weights in the type in which they are stored, and a report of what
    was left aside and why.

    `hub:owner/name` fetches it first. Raises CheckpointError for what cannot be read, MissingExtraError for a hub id
    without huggingface_hub.
    """
    folder = Path(path)
    if str(path).startswith(HUB):
        from glassformer.convert.hub import fetch

        folder = fetch(str(path).removeprefix(HUB))
    found = read_huggingface(folder)
    with torch.device("meta"):  # without memory for weights: they come from the file
        module = Transformer(found.config)
    module.load_state_dict(found.state, assign=True)
    return kind(module, found.tokenizer, token_settings=found.report.token_settings, source=folder), found.report


def write_foreign(model: Artefact, directory: str | Path) -> None:
    """Write a folder that `transformers` loads as a model with the same outputs.

    Raises ConfigError for a family that Hugging Face does not have, CheckpointError when the folder cannot be written,
    or holds a model, which may be the only copy.
    """
    if model.labels:
        raise ConfigError(
            "an export needs a head that can be written in Hugging Face's format",
            got=f"a sentence head with the labels {', '.join(model.labels[:5])}",
            do="use the folder of glassformer: classifiers cannot be exported yet",
        )
    refuse_a_model(directory, "an export")
    state: Mapping[str, torch.Tensor] = {name: value.detach().cpu() for name, value in model.module.named_parameters()}
    tokenizer = model.tokenizer if model.has_tokenizer else None
    write_huggingface(directory, model.config, state, tokenizer, token_settings=model.token_settings)
