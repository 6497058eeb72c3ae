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
from glassformer.models.transformer import Transformer
from glassformer.tasks.classify import ClassifySection

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
    report, head = found.report, found.config.sentence_head
    task = None
    if report.labels and head is not None:
        task = ClassifySection(labels=report.labels, dropout=head.dropout)
    saved = kind(
        module,
        found.tokenizer,
        task=task,
        length=report.length,
        token_settings=report.token_settings,
        generation=report.generation,
        source=folder,
    )
    return saved, report


def write_foreign(model: Artefact, directory: str | Path) -> None:
    """Write a folder that `transformers` loads as a model with the same outputs.

    Raises ConfigError for a family or a head that Hugging Face does not have, CheckpointError when the folder cannot be
    written, or holds a model, which may be the only copy.
    """
    refuse_a_model(directory, "an export")
    state: Mapping[str, torch.Tensor] = {name: value.detach().cpu() for name, value in model.module.named_parameters()}
    tokenizer = model.tokenizer if model.has_tokenizer else None
    write_huggingface(
        directory,
        model.config,
        state,
        tokenizer,
        token_settings=model.token_settings,
        generation=model.generation,
        labels=model.labels,
        length=model.length,
    )
