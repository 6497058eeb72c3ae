"""A trace on disk: one safetensors file. Tensors by name, facts by name, weights only when asked, the rest as JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import ConfigDict
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from glassformer.config import ModelConfig, Settings, read_settings
from glassformer.errors import CheckpointError, ConfigError
from glassformer.look.cell import Words
from glassformer.look.formulas import state
from glassformer.look.honesty import Honesty
from glassformer.look.replay import Replay, shadow
from glassformer.look.run import Run
from glassformer.look.trace import Trace
from glassformer.models.inputs import Inputs
from glassformer.models.names import HasModule, eager
from glassformer.models.transformer import Transformer
from glassformer.whole import drafted

FORMAT, VERSION = "glassformer trace", 1


class Spoken(Settings):
    """Words as plain lists; each answer with its sentence and place."""

    inputs: list[list[str]]
    target: list[list[str]]
    vocabulary: list[str]
    labels: list[str]
    answers: list[tuple[int, int, str]]


class Told(Settings):
    """What the file says beside its tensors."""

    model_config = ConfigDict(allow_inf_nan=True)  # a gate may have measured a model that answers with them

    format: Literal["glassformer trace"]
    version: Literal[1]
    config: ModelConfig
    fingerprint: str | None
    words: Spoken
    honesty: Honesty | None
    interventions: str | None


def fingerprint(model: Transformer) -> str:
    """A digest of the config and of every weight: two models with the same one compute the same."""
    digest = hashlib.sha256(model.config.model_dump_json().encode())
    for name, weight in sorted(model.state_dict().items()):
        digest.update(f"{name}{weight.dtype}{list(weight.shape)}".encode())
        digest.update(weight.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def save(trace: Trace, path: Path, *, weights: bool) -> None:
    """Write the file whole or not at all."""
    tensors = {f"tensor.{name}": tensor for name, tensor in trace.stored.items()}
    tensors |= {f"fact.{name}": tensor for name, tensor in trace.facts.items()}
    tensors |= {f"gradient.{name}": tensor for name, tensor in trace.gradients.items()}
    if trace.places is not None:
        tensors["places"] = trace.places
    if weights and trace.replay is not None:
        # A head tied to the word table shares its storage: safetensors wants each tensor on its own.
        tensors |= {f"weight.{name}": weight for name, weight in trace.replay.model.state_dict().items()}
    told = {
        "format": FORMAT,
        "version": VERSION,
        "config": trace.config.model_dump(mode="json"),
        "fingerprint": None if trace.run is None else fingerprint(trace.run.original),
        "words": words_as_json(trace.words),
        "honesty": None if trace.run is None and trace.saved_honesty is None else asdict(trace.honesty),
        "interventions": trace.python if trace.interventions else None,
    }
    own = {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}
    try:
        with drafted(path) as draft:
            save_file(own, draft, metadata={"glassformer": json.dumps(told)})
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"the trace could not be written to {path}", got=str(error)) from None


def load(path: Path, model: nn.Module | HasModule | None) -> Trace:
    """Read a trace, onto the device of the model where there is one.

    Raises CheckpointError for another kind of file, or for another model than the traced one.
    """
    told, tensors = read_file(path)
    original = find_model(told, group(tensors, "weight."), model, path)
    if original is not None:
        device = next(original.parameters()).device
        tensors = {name: tensor.to(device) for name, tensor in tensors.items()}
    facts = group(tensors, "fact.")
    stored = group(tensors, "tensor.")
    places = tensors.get("places")
    statement = state(told.config, facts, at_places=places is not None)
    needed = {f"fact.{formula.pieces}.positions" for formula in statement.formulas.values()}
    needed |= {f"tensor.{name}" for name in statement.entering.values()}
    if lost := needed - tensors.keys():
        raise CheckpointError(f"{path} must be a whole trace", got=f"one without {min(lost)}", do="save it again")
    words = words_from(told.words)
    run, replay = None, None
    # Interventions are saved as text for people; a changed run is not computed again from it.
    if original is not None and told.interventions is None:
        dtype = next(iter(stored.values())).dtype
        inputs = side_inputs("inputs", facts)
        target = side_inputs("target", facts) if "target.positions" in facts else None
        own = next(original.parameters()).dtype
        labels = facts.get("labels")
        run = Run(original, shadow(original, dtype), inputs, target, places, labels, words, None, None, own)
        replay = Replay(run.model, statement, inputs, target, places)
    return Trace(
        statement=statement,
        stored=stored,
        facts=facts,
        places=places,
        words=words,
        config=told.config,
        replay=replay,
        run=run,
        versions=() if replay is None else tuple(weight._version for weight in replay.model.parameters()),
        gradients=group(tensors, "gradient."),
        saved_honesty=told.honesty,
    )


def read_file(path: Path) -> tuple[Told, dict[str, Tensor]]:
    """What is told and the tensors, on the CPU; raises CheckpointError."""
    try:
        with safe_open(path, framework="pt") as file:
            told = json.loads((file.metadata() or {}).get("glassformer", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path} must be a saved trace", got=str(error)) from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise CheckpointError(f"{path} must be a saved trace", got="a safetensors file of something else")
    if told.get("version") != VERSION:
        raise CheckpointError(
            f"{path} must be a trace of format version {VERSION}",
            got=str(told.get("version")),
            do="open it with the glassformer that saved it",
        )
    try:
        return read_settings(Told, told, where="what it tells"), tensors
    except ConfigError as error:
        raise CheckpointError(f"{path} must be a whole trace", got=str(error), do="save it again") from None


def find_model(
    told: Told, weights: dict[str, Tensor], model: nn.Module | HasModule | None, path: Path
) -> Transformer | None:
    """The model that was given, if it is the traced one; else one built from saved weights; else none."""
    if model is not None:
        original = eager(model)
        if not isinstance(original, Transformer):
            raise ConfigError("a trace needs a glassformer Transformer", got=type(original).__name__)
        if told.fingerprint is not None and told.fingerprint != fingerprint(original):
            raise CheckpointError(f"{path} was traced from another model", do="load it with the model it was made from")
        return original
    if not weights:
        return None
    original = Transformer(told.config).to(next(iter(weights.values())).dtype)
    try:
        original.load_state_dict(weights)
    except RuntimeError:
        raise CheckpointError(
            f"{path} must hold the weights of the model it tells of", got="others", do="load it with its model"
        ) from None
    return original.eval()


def group(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors under a prefix, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def side_inputs(side: str, facts: dict[str, Tensor]) -> Inputs:
    """The inputs of one text again."""
    found = group(facts, f"{side}.")
    return Inputs(
        ids=found.get("ids"),
        vectors=found.get("vectors"),
        real=found.get("real"),
        positions=found["positions"],
        segments=found.get("segments"),
        hidden=found.get("hidden"),
        documents=found.get("documents"),
        may_look=found.get("may_look"),
    )


def words_as_json(words: Words) -> dict[str, Any]:
    """Words as plain lists; places of answers as text."""
    return {
        "inputs": [list(row) for row in words.inputs],
        "target": [list(row) for row in words.target],
        "vocabulary": list(words.vocabulary),
        "labels": list(words.labels),
        "answers": [[sentence, place, word] for (sentence, place), word in (words.answers or {}).items()],
    }


def words_from(told: Spoken) -> Words:
    """And back."""
    answers = {(sentence, place): word for sentence, place, word in told.answers}
    return Words(told.inputs, told.target, told.vocabulary, told.labels, answers or None)
