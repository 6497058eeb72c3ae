"""The tensors of a run by name: stored, or computed again when they are asked for; their axes and their cells.

N positions where the vocabulary is scored
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor, nn

from glassformer.base.errors import ConfigError, UnknownNameError
from glassformer.config import ModelConfig
from glassformer.look.formulas.named import Source, axis_names, read_cell
from glassformer.look.formulas.rules.evaluator import Statement
from glassformer.look.trace.asked import chosen, full_name
from glassformer.look.trace.cell import Axes, Words, find_cell
from glassformer.look.trace.facts import FACT_AXES
from glassformer.look.trace.replay import Replay
from glassformer.look.trace.verify import WITHOUT_WEIGHTS
from glassformer.models.names import parameter_names

# The axes of the facts that belong to no text.
OWN_AXES = {"labels": ("place",), "candidates": ("candidate",)}


def check_trace(given: object) -> None:
    """Raise ConfigError for anything but a trace."""
    if not isinstance(given, Tensors):
        raise ConfigError("a trace is needed", got=repr(given)[:60], do="gf.load(MODEL).trace(TEXT) makes one")


@dataclass(frozen=True, eq=False)
class Tensors(Mapping[str, Tensor]):
    """Every tensor of one run by name. `replay` computes again what is not stored; None where there is no model."""

    statement: Statement
    stored: Mapping[str, Tensor]
    facts: Mapping[str, Tensor]
    scored_at: Tensor | None
    words: Words
    config: ModelConfig
    replay: Replay | None = None
    versions: tuple[int, ...] = ()
    gradients: Mapping[str, Tensor] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Tensor:
        if name in self.facts:
            return self.facts[name]
        if name in self.parameters:
            self.refuse_changed_weights()
            return self.parameters[name]
        whole = full_name(name, self.statement.formulas)
        return self.fetch([whole])[whole]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.statement.formulas

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self.statement.formulas)

    def __len__(self) -> int:
        return len(self.statement.formulas)

    def kept(self, name: str) -> bool:
        """True = stored, False = computed again on demand; raises UnknownNameError."""
        return full_name(name, self.statement.formulas) in self.stored

    def tensor(self, name: str) -> Tensor:
        """Any tensor by name: of the run, a weight (`parameters.*`), or a fact (`inputs.ids`)."""
        return self[name]

    def full_name(self, name: str) -> str:
        """The whole name of a tensor of the run, a weight or a fact; raises UnknownNameError."""
        own = isinstance(name, str) and (name in self.facts or name in self.parameters)
        return name if own else full_name(name, self.statement.formulas)

    @cached_property
    def parameters(self) -> Mapping[str, Tensor]:
        """The weights by public name."""
        if self.replay is None:
            return {}
        return {name: weight.detach() for name, weight in parameter_names(self.replay.model).items()}

    def fetch(self, names: Iterable[str] | str) -> dict[str, Tensor]:
        """Several tensors by whole name, each unit run once; also patterns. Raises UnknownNameError."""
        found: dict[str, Tensor] = {}
        missing: dict[str, list[str]] = {}
        for name in chosen(names, self.statement.formulas):
            if name in self.stored:
                found[name] = self.stored[name]
            else:
                missing.setdefault(self.statement.unit(name), []).append(name)
        for unit, wanted in missing.items():
            found |= self.recompute(unit, wanted)
        return found

    def hold(self, names: Iterable[str]) -> Source:
        """Several tensors kept at hand, so that each is computed once."""
        return Source(None if self.scored_at is None else self.scored_at.cpu(), self.tensor, self.fetch(names))

    def recompute(self, unit: str, names: Sequence[str]) -> dict[str, Tensor]:
        """Run one unit from its stored input; raises ConfigError when the weights are gone or have changed."""
        if self.replay is None:
            wanted = f"{names[0]} is not stored and this trace has no model to compute it again"
            raise ConfigError(wanted, do=WITHOUT_WEIGHTS)
        self.refuse_changed_weights()
        seen = self.replay.unit(unit, names, lambda name: self.stored[name])
        return {name: seen[name] for name in names}

    def refuse_changed_weights(self) -> None:
        """Raise ConfigError where the model has other weights than this run had: the two have no numbers in common."""
        if self.replay is not None and self.versions != weight_versions(self.replay.model):
            wanted = "the model's weights have changed since this trace: only what it stores is still known"
            raise ConfigError(wanted, do="trace again, or keep all tensors: keep='*'")

    def gradient(self, name: str) -> Tensor:
        """The gradient with respect to a stored tensor; raises UnknownNameError."""
        if self.gradients:
            name = full_name(name, self.gradients)
        if name not in self.gradients:
            raise UnknownNameError(f"there is no gradient of {name}", do="trace with gradients='loss'")
        return self.gradients[name]

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the run."""
        return next(iter(self.stored.values())).dtype

    @property
    def nbytes(self) -> int:
        """Bytes of what is stored."""
        return sum(tensor.nbytes for tensor in self.stored.values())

    def axes(self, name: str) -> tuple[str, ...]:
        """The names of a tensor's axes."""
        name = self.full_name(name)
        if name in self.facts:
            return OWN_AXES.get(name) or axis_names(FACT_AXES[name.partition(".")[2]])
        if name in self.parameters:
            return ("row", "column")[2 - self.parameters[name].dim() :]
        return axis_names(self.statement.formulas[name].axes)

    def described(self, name: str, tensor: Tensor | None = None) -> Axes:
        """A tensor's axes with their sizes and whose words they count."""
        sizes = tuple((self.tensor(name) if tensor is None else tensor).shape)
        axes = self.axes(name)
        if name in self.statement.formulas:
            formula = self.statement.formulas[name]
            tokens, keys = formula.tokens, formula.keys
        else:
            tokens = keys = name.partition(".")[0]
        shared = self.shared(name, tokens, dict(zip(axes, sizes, strict=True)))
        return Axes(name, axes, sizes, tokens, keys, self.chosen_tokens, shared)

    def shared(self, name: str, side: str, sizes: Mapping[str, int]) -> dict[str, int]:
        """The length of each axis that is stored with size 1, because one number is that of all."""
        if name in self.parameters:
            return {}
        known = next((self.facts[fact] for fact in (f"{side}.ids", f"{side}.vectors") if fact in self.facts), None)
        whole = {} if known is None else {"sentence": known.shape[0], "query": known.shape[1]}
        if name.endswith("_attention.may_look"):
            whole["head"] = heads_of(self.config, name)
        return {axis: count for axis, count in whole.items() if sizes.get(axis) == 1 < count}

    @cached_property
    def chosen_tokens(self) -> tuple[tuple[int, int], ...]:
        """The sentence and token of each place where the vocabulary was scored."""
        if self.scored_at is None or "head.logits" not in self.statement.formulas:
            return ()
        tokens = self.facts[f"{self.statement.formulas['head.logits'].tokens}.positions"].shape[1]
        return tuple(divmod(place, tokens) for place in self.scored_at.tolist())

    def cell(self, name: str, asked: str | Mapping[str, str | int]) -> dict[str, int]:
        """A cell given in words, as the index along each axis; raises UnknownNameError."""
        name = self.full_name(name)
        return find_cell(self.described(name), read_cell(asked) if isinstance(asked, str) else asked, self.words)


def weight_versions(model: nn.Module) -> tuple[int, ...]:
    """How often each weight was changed in place."""
    return tuple(parameter._version for parameter in model.parameters())


def heads_of(config: ModelConfig, name: str) -> int:
    side, _, index, attention, _ = name.split(".")
    return int(getattr(getattr(config, side).blocks[int(index)], attention).body.heads)


def states_of(trace: Tensors, stack: str) -> tuple[str, ...]:
    """The states [sentence, token, channel] of a stack: what enters each of its blocks, and what it ends with."""
    entering = trace.statement.entering
    blocks = [name for unit, name in entering.items() if unit.startswith(f"{stack}.blocks.")]
    return (*blocks, (trace.statement.memory if stack == "encoder" else None) or entering["states"])


def layers_of(trace: Tensors) -> tuple[str, ...]:
    """The states that are features."""
    return states_of(trace, side_of_features(trace))


def side_of_features(trace: Tensors) -> str:
    """The stack whose states are the features: `encoder`, or `decoder` where there is none."""
    return "decoder" if trace.config.encoder is None else "encoder"
