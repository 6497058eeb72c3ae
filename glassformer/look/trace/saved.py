"""The file of a trace: safetensors. Tensors by name, facts by name, weights only when asked, the rest as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field
from safetensors import SafetensorError, safe_open
from torch import Tensor

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import CheckpointError, ConfigError, from_system
from glassformer.base.settings import Settings, read_settings
from glassformer.config import ModelConfig
from glassformer.convert.files import save_tensors
from glassformer.look.trace.cell import Words
from glassformer.look.trace.honesty import Honesty
from glassformer.look.trace.interventions import Intervention
from glassformer.look.trace.steps import KINDS

FORMAT: Literal["glassformer trace"] = "glassformer trace"
VERSION: Literal[2] = 2
PATCH = "patch."


class WordsRecord(Settings):
    """Words as plain lists; each answer with its sentence and place."""

    inputs: list[list[str]]
    decoder_inputs: list[list[str]]
    vocabulary: list[str]
    labels: list[str]
    answers: list[tuple[int, int, str]]
    candidates: tuple[str, ...] = ()
    source_vocabulary: tuple[str, ...] = ()
    closing: dict[str, int] = Field(default_factory=dict)
    after_scores: tuple[str, ...] = ()

    @staticmethod
    def of(words: Words) -> WordsRecord:
        return WordsRecord(
            inputs=[list(row) for row in words.inputs],
            decoder_inputs=[list(row) for row in words.decoder_inputs],
            vocabulary=list(words.vocabulary),
            labels=list(words.labels),
            answers=[(sentence, place, word) for (sentence, place), word in (words.answers or {}).items()],
            candidates=tuple(words.candidates),
            source_vocabulary=tuple(words.source_vocabulary),
            closing=dict(words.closing),
            after_scores=tuple(words.after_scores),
        )

    def words(self) -> Words:
        answers = {(sentence, place): word for sentence, place, word in self.answers}
        return Words(**{**dict(self), "answers": answers or None})


class StepRecord(Settings):
    """An intervention, its places and tokens read as indices. The tensor of a patch is stored with the others."""

    model_config = ConfigDict(allow_inf_nan=True)

    kind: Literal["ChangeWord", "MaskWord", "Visibility", "Replace"]
    values: dict[str, str | int | float | bool | list[int | None] | None]

    @staticmethod
    def of(step: Intervention) -> StepRecord:
        known = {each.name: getattr(step, each.name) for each in fields(step) if each.name != "tensor"}
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in known.items()}
        return StepRecord.model_validate({"kind": type(step).__name__, "values": values})

    def step(self, tensor: Tensor | None) -> Intervention:
        """And back; raises ConfigError and TypeError for a damaged record."""
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in self.values.items()}
        if tensor is not None:
            values["tensor"] = tensor
        if not isinstance(values.get("where", values.get("attention")), str):
            raise TypeError(f"a name is a string, got {values}")
        kind: type[Intervention] = next(each for each in KINDS if each.__name__ == self.kind)
        return kind(**values)


class Header(Settings):
    """What the file holds in addition to its tensors."""

    model_config = ConfigDict(allow_inf_nan=True)  # a gate may have measured a model that answers with them

    format: Literal["glassformer trace"] = FORMAT
    version: Literal[2] = VERSION
    config: ModelConfig
    fingerprint: str | None
    words: WordsRecord
    honesty: Honesty | None
    interventions: list[StepRecord]

    def steps(self, tensors: Mapping[str, Tensor], path: Path) -> tuple[Intervention, ...]:
        """The interventions of the run; raises CheckpointError for what is none."""
        try:
            return tuple(each.step(tensors.get(f"{PATCH}{place}")) for place, each in enumerate(self.interventions))
        except (ConfigError, TypeError) as error:
            got = f"interventions that are none: {error}"
            raise CheckpointError(f"{path} must be a whole trace", got=got, do="save it again") from None


def patches(steps: Sequence[Intervention]) -> dict[str, Tensor]:
    """The tensors that patches put in the place of others, by the place of the patch among the interventions."""
    found = ((f"{PATCH}{place}", getattr(step, "tensor", None)) for place, step in enumerate(steps))
    return {name: tensor for name, tensor in found if tensor is not None}


def write(path: Path, tensors: Mapping[str, Tensor], header: Header) -> None:
    """Write the file whole or not at all; raises CheckpointError."""
    own = {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}
    wanted = f"the trace could not be written to {path}"
    with from_system(CheckpointError, wanted, also=SafetensorError), atomic_write(path) as draft:
        save_tensors(draft, own, {"glassformer": json.dumps(header.model_dump(mode="json"))})


def read(path: Path) -> tuple[Header, dict[str, Tensor]]:
    """The header and the tensors, on the CPU; raises CheckpointError."""
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {}).get("glassformer", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path} must be a saved trace", got=str(error)) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise CheckpointError(f"{path} must be a saved trace", got="a safetensors file of something else")
    if header.get("version") != VERSION:
        got, do = str(header.get("version")), "open it with the glassformer that saved it"
        raise CheckpointError(f"{path} must be a trace of format version {VERSION}", got=got, do=do)
    try:
        return read_settings(Header, header, where="its header"), tensors
    except ConfigError as error:
        raise CheckpointError(f"{path} must be a whole trace", got=str(error), do="save it again") from None
