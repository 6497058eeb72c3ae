"""A trace on disk: one safetensors file. Tensors by name, facts by name, weights only when asked, the rest as JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from glassformer.config import ModelConfig, read_settings
from glassformer.errors import CheckpointError
from glassformer.look.cell import Words
from glassformer.look.formulas import state
from glassformer.look.honesty import Honesty
from glassformer.look.replay import Replay, shadow
from glassformer.look.run import Run
from glassformer.look.trace import Trace
from glassformer.look.watch import eager
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.whole import drafted

VERSION = 1


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
        "format": "glassformer trace",
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


def load(path: Path, model: nn.Module | None) -> Trace:
    """Read a trace; raises CheckpointError for another kind of file, or for another model than the traced one."""
    told, tensors = read_file(path)
    config = read_settings(ModelConfig, told["config"], where=str(path))
    facts = group(tensors, "fact.")
    stored = group(tensors, "tensor.")
    places = tensors.get("places")
    statement = state(config, facts, at_places=places is not None)
    original = find_model(told, group(tensors, "weight."), config, model, path)
    words = words_from_json(told["words"])
    run, replay = None, None
    # Interventions are saved as text for people; a changed run is not computed again from it.
    if original is not None and told["interventions"] is None:
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
        config=config,
        replay=replay,
        run=run,
        versions=() if replay is None else tuple(weight._version for weight in replay.model.parameters()),
        gradients=group(tensors, "gradient."),
        saved_honesty=None if told["honesty"] is None else Honesty(**told["honesty"]),
    )


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What is told and the tensors; raises CheckpointError."""
    try:
        with safe_open(path, framework="pt") as file:
            told = json.loads((file.metadata() or {}).get("glassformer", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path} must be a saved trace", got=str(error)) from None
    if told.get("format") != "glassformer trace" or told.get("version") != VERSION:
        raise CheckpointError(f"{path} must be a trace of format version {VERSION}", got=str(told.get("version")))
    return told, tensors


def find_model(
    told: dict[str, Any], weights: dict[str, Tensor], config: ModelConfig, model: nn.Module | None, path: Path
) -> Transformer | None:
    """The model that was given, if it is the traced one; else one built from saved weights; else none."""
    if model is not None:
        original = eager(model)
        assert isinstance(original, Transformer)
        if told["fingerprint"] not in (None, fingerprint(original)):
            raise CheckpointError(f"{path} was traced from another model", do="load it with the model it was made from")
        return original
    if not weights:
        return None
    original = Transformer(config).to(next(iter(weights.values())).dtype)
    original.load_state_dict(weights)
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


def words_from_json(told: dict[str, Any]) -> Words:
    """And back."""
    answers = {(sentence, place): word for sentence, place, word in told["answers"]}
    return Words(told["inputs"], told["target"], told["vocabulary"], told["labels"], answers or None)
