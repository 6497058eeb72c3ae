"""Reading and writing models in Hugging Face's format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import torch

from glassformer.artefact.artefact import Artefact
from glassformer.artefact.recipe import HUB
from glassformer.artefact.store import refuse_a_model
from glassformer.config import ModelConfig
from glassformer.convert.heads import LABEL_TASKS, LabelUse
from glassformer.convert.huggingface import Report, read_huggingface, write_huggingface
from glassformer.models.transformer import Transformer
from glassformer.tasks import TASKS, task_named
from glassformer.tasks.task import TaskSection

Kind = TypeVar("Kind", bound=Artefact)
# Settings of a task's section that are chosen on validation data and applied after the model.
FITTED = ("temperature", "threshold")


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
    report = found.report
    saved = kind(
        module,
        found.tokenizer,
        task=section_of(found.config, report.use),
        length=report.length,
        token_settings=report.token_settings,
        generation=report.generation,
        source=folder,
    )
    return saved, report


def section_of(config: ModelConfig, use: LabelUse) -> TaskSection | None:
    """The section of the task whose verb answers with an imported head, with what its file says; None without one."""
    head = config.sentence_head or config.token_head
    if not use.task or use.task not in TASKS or head is None:
        return None
    kind = task_named(use.task).Section
    said: dict[str, object] = {"labels": use.labels, "several": use.several, "dropout": head.dropout}
    own = {name: value for name, value in said.items() if name in kind.model_fields and value not in ((), False)}
    return kind.model_validate({"name": use.task, **own})


def use_of(model: Artefact) -> LabelUse:
    """What the labels of a model are for."""
    section = model.task
    if section is None or section.name not in LABEL_TASKS:
        return LabelUse(labels=model.labels)
    return LabelUse(section.name, model.labels, several=bool(getattr(section, "several", False)))


def write_foreign(model: Artefact, directory: str | Path) -> tuple[str, ...]:
    """Write a folder that `transformers` loads as a model with the same outputs. Returns what stays behind, such as the
    scores of a CRF, in sentences.

    Raises ConfigError for a family or a head that Hugging Face does not have, CheckpointError when the folder cannot be
    written, or holds a model, which may be the only copy.
    """
    refuse_a_model(directory, "an export")
    state = {name: value.detach().cpu() for name, value in model.module.named_parameters()}
    state |= _in_unit_of_data(model.task, state)
    tokenizer = model.tokenizer if model.has_tokenizer else None
    left = write_huggingface(
        directory,
        model.config,
        state,
        tokenizer,
        token_settings=model.token_settings,
        generation=model.generation,
        use=use_of(model),
        length=model.length,
    )
    return (*left, *_fitted(model))


def _in_unit_of_data(section: TaskSection | None, state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights of a head that answers with a number, so that its output is this number and not the standardised one:
    their folders have no place for mean and deviation.
    """
    mean, deviation = getattr(section, "mean", None), getattr(section, "deviation", None)
    if mean is None or deviation is None:
        return {}
    weight, bias = (state[f"sentence_head.output.{name}"] for name in ("weight", "bias"))
    return {"sentence_head.output.weight": weight * deviation, "sentence_head.output.bias": bias * deviation + mean}


def _fitted(model: Artefact) -> tuple[str, ...]:
    """What was chosen on validation and has no place in a folder of theirs: sentences."""
    section = model.task
    if section is None:
        return ()
    fields = type(section).model_fields
    return tuple(
        f"the {name} {getattr(section, name):.4g} stays behind: it was chosen on validation data and is applied to the "
        "scores of this model"
        for name in FITTED
        if name in fields and getattr(section, name) != fields[name].default
    )
