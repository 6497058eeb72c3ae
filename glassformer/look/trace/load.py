"""Read a saved trace, and connect it again with its model."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.paths import refuse_no_path
from glassformer.look.formulas.named import axis_names
from glassformer.look.formulas.stacks import state
from glassformer.look.trace import saved
from glassformer.look.trace.facts import GIVEN
from glassformer.look.trace.interventions import ChangeWord, Intervention, MaskWord
from glassformer.look.trace.replay import Replay, eval_copy
from glassformer.look.trace.run import Options, Run, transformer
from glassformer.look.trace.trace import Trace
from glassformer.look.trace.verify import LIMITS
from glassformer.models.inputs import Inputs
from glassformer.models.names import HasModule
from glassformer.models.transformer import Transformer, fingerprint


def load_trace(path: str | Path, model: nn.Module | HasModule | None = None) -> Trace:
    """Read a saved trace, onto the device of the model where there is one. With the model, or saved weights, all
    tensors can be computed again and interventions are possible. Raises CheckpointError for another kind of file, or
    for another model than the traced one.
    """
    refuse_no_path(path, CheckpointError)
    path = Path(path)
    header, tensors = saved.read(path)
    original = find_model(header, group(tensors, "weight."), model, path)
    if original is not None:
        device = next(original.parameters()).device
        tensors = {name: tensor.to(device) for name, tensor in tensors.items()}
    facts, stored, scored_at = group(tensors, "fact."), group(tensors, "tensor."), tensors.get("scored_at")
    statement = state(header.config, facts, at_places=scored_at is not None)
    needed = {f"fact.{formula.tokens}.positions" for formula in statement.formulas.values()}
    needed |= {f"tensor.{name}" for name in statement.entering.values()}
    if lost := needed - tensors.keys():
        raise CheckpointError(f"{path} must be a whole trace", got=f"one without {min(lost)}", do="save it again")
    for name, formula in statement.formulas.items():
        if name in stored and stored[name].dim() != len(axis_names(formula.axes)):
            got = f"the shape {list(stored[name].shape)}"
            raise CheckpointError(f"{name} in {path} must have the axes {formula.axes}", got=got, do="save it again")
    found = Trace(
        statement=statement, stored=stored, facts=facts, scored_at=scored_at, words=header.words.words(),
        config=header.config, gradients=group(tensors, "gradient."), saved_honesty=header.honesty,
        interventions=header.steps(tensors, path),
    )  # fmt: skip
    if found.dtype not in LIMITS:
        got = str(found.dtype)
        raise CheckpointError(f"the states of {path} must be of float32 or float64", got=got, do="save it again")
    if original is None:
        return found
    inputs = side_inputs("inputs", facts)
    other = side_inputs("decoder_inputs", facts) if "decoder_inputs.positions" in facts else None
    options = Options(words=found.words, candidates="candidates" in facts)
    run = Run(original, eval_copy(original, found.dtype), inputs, other, scored_at, facts.get("labels"), options)
    if not found.interventions:
        return run.connected(found, Replay(run.model, statement, run.inputs, run.decoder_inputs, scored_at))
    # The inputs of the file are the changed ones: changing their words once more gives the same.
    found = run.connected(found, run.replay(found.interventions)[0])
    words = any(isinstance(step, ChangeWord | MaskWord) for step in found.interventions)
    return replace(found, run_again=refuse_words_that_are_gone) if words else found


def refuse_words_that_are_gone(steps: tuple[Intervention, ...]) -> Trace:
    """Raise ConfigError: a file does not hold the words that a change has replaced."""
    got = "a trace from a file, whose words had been changed"
    do = "trace the text again and make its changes again: they are in its python"
    raise ConfigError("other changes need the words as they were", got=got, do=do)


def find_model(
    header: saved.Header, weights: Mapping[str, Tensor], model: nn.Module | HasModule | None, path: Path
) -> Transformer | None:
    """The given model, if it is the traced one; else one built from saved weights; else none."""
    if model is not None:
        original = transformer(model)
        if header.fingerprint is not None and header.fingerprint != fingerprint(original):
            raise CheckpointError(f"{path} was traced from another model", do="load it with the model it was made from")
        return original
    if not weights:
        return None
    original = Transformer(header.config).to(next(iter(weights.values())).dtype)
    try:
        original.load_state_dict(weights)
    except RuntimeError:
        do = "load it with its model"
        raise CheckpointError(f"{path} must hold the weights of the model in its header", got="others", do=do) from None
    return original.eval()


def group(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors under a prefix, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def side_inputs(side: str, facts: Mapping[str, Tensor]) -> Inputs:
    found: dict[str, Any] = group(facts, f"{side}.")
    return Inputs(**{name: found.get(name) for name in ("positions", "segments", *GIVEN)})
