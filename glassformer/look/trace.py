"""A run of a model with every tensor within reach: stored, or computed again when it is asked for.

B sentences · S pieces · N places where the vocabulary is scored
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.errors import ConfigError, ShapeError, UnknownNameError, did_you_mean
from glassformer.look import honesty
from glassformer.look.cell import Axes, Words, find_cell, read_cell, split_name
from glassformer.look.explain import Explanation, explain
from glassformer.look.facts import FACT_AXES, facts
from glassformer.look.formulas import Statement, state
from glassformer.look.interventions import Intervention, as_change, as_python, changed_inputs
from glassformer.look.named import axis_names
from glassformer.look.replay import Replay, shadow
from glassformer.look.verify import LIMITS, Check, Verification, check_all
from glassformer.look.watch import chosen, eager, refuse_sharded
from glassformer.models.inputs import Inputs
from glassformer.models.names import parameter_names
from glassformer.models.transformer import Transformer

if TYPE_CHECKING:
    from glassformer.config import ModelConfig

KEPT = ("*.query", "*.key")
SMALL = 1 << 20  # numbers; a run with fewer is stored whole, which costs less than computing anything twice


def trace(
    model: nn.Module,
    inputs: Inputs,
    target: Inputs | None = None,
    *,
    places: Tensor | None = None,
    labels: Tensor | None = None,
    words: Words | None = None,
    keep: Iterable[str] | str | None = None,
    dtype: torch.dtype | None = None,
    predicts_in: torch.dtype | None = None,
    interventions: Sequence[Intervention] = (),
    gradients: str | None = None,
) -> Trace:
    """Run `model` on one batch in eval mode and put every tensor within reach.

    `places` [N] are flat indices into B·S at which the vocabulary is scored; without them: where there are labels,
    else the hidden pieces, else the last piece of a decoder, else everywhere. `labels` [N] or [B, S] (−100 = none)
    are the right pieces and give `loss`. `keep` names what is stored beside the tensors that enter each block
    (patterns allowed; `()` for no more); by default queries, keys and what is small, and everything of a small run.
    `dtype` is float32 or float64 (default: the model's own, float32 for lower ones); `predicts_in` is what the
    honesty gate compares with (default: the model's). `gradients` is `loss` or one cell, `head.logits[place=0,
    vocabulary=7]`: then the gradients with respect to all that is stored are kept too.
    Raises UnknownNameError, ShapeError, ConfigError, and DeviceError for weights spread over processes.
    """
    original = eager(model)
    if not isinstance(original, Transformer):
        raise ConfigError("a trace needs a glassformer Transformer", got=type(original).__name__, do="import its weights")
    refuse_sharded(original)
    own = next(original.parameters()).dtype
    dtype = dtype or (own if own in LIMITS else torch.float32)
    if dtype not in LIMITS:
        raise ConfigError("a trace runs in float32 or float64", got=str(dtype))
    if inputs.vectors is not None:
        inputs = replace(inputs, vectors=inputs.vectors.to(dtype))
    places, labels = choose_places(original, inputs, target, places, labels)
    setting = Setting(original, shadow(original, dtype), inputs, target, places, labels, words or Words(), keep, gradients, predicts_in or own)
    return setting.run(tuple(interventions))


def choose_places(
    model: Transformer, inputs: Inputs, target: Inputs | None, places: Tensor | None, labels: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """Where the vocabulary is scored, [N], and the right pieces there, [N] or None."""
    side = target if target is not None and model.decoder is not None else inputs
    if labels is not None and labels.dim() == 2:
        flat = labels.flatten()
        places = (flat != -100).nonzero()[:, 0] if places is None else places
        labels = flat[places]
    if labels is not None and (places is None or labels.shape != places.shape):
        raise ShapeError("labels must be [B, S], or [N] beside places [N]", got=str(list(labels.shape)))
    if model.head is None or places is not None:
        return places, labels
    if side.hidden is not None and bool(side.hidden.any()):
        return side.hidden.flatten().nonzero()[:, 0], None
    batch, pieces = side.shape
    if model.decoder is not None:
        order = torch.arange(pieces, device=side.device).expand(batch, -1)
        last = order if side.real is None else order.masked_fill(~side.real, -1)
        return last.amax(dim=1) + torch.arange(batch, device=side.device) * pieces, None
    return torch.arange(batch * pieces, device=side.device), None


@dataclass(frozen=True)
class Setting:
    """What a trace was made from, so that it can be made again with other interventions."""

    original: Transformer
    model: Transformer
    inputs: Inputs
    target: Inputs | None
    places: Tensor | None
    labels: Tensor | None
    words: Words
    keep: Iterable[str] | str | None
    gradients: str | None
    predicts_in: torch.dtype

    def replay(self, interventions: Sequence[Intervention]) -> tuple[Replay, dict[str, Tensor]]:
        """The run with these interventions, and the facts of its inputs."""
        inputs = changed_inputs("inputs", self.inputs, interventions)
        target = self.target and changed_inputs("target", self.target, interventions)
        known = facts(self.model.config, inputs, target)
        if self.labels is not None:
            known["labels"] = self.labels
        statement = state(self.model.config, known, at_places=self.places is not None)
        room = {"inputs": inputs.shape, "target": inputs.shape if target is None else target.shape}

        def full(name: str, tensor: Tensor) -> Sequence[int]:
            """A mask is shared by heads, and by sentences and queries that it does not tell apart."""
            if not name.endswith(".may_look"):
                return tensor.shape
            formula = statement.formulas[name]
            batch, queries = room[formula.pieces]
            return batch, heads_of(self.model.config, name), queries, room[formula.keys][1]

        change = as_change(interventions, tuple(statement.formulas), full)
        return Replay(self.model, statement, inputs, target, self.places, change), known

    def run(self, interventions: tuple[Intervention, ...]) -> Trace:
        """One forward, and what is to be kept of it."""
        replay, known = self.replay(interventions)
        statement = replay.statement
        names = [name for name in statement.formulas if name != "loss"]
        kept = dict.fromkeys([*statement.entering.values(), *([statement.memory] if statement.memory else [])])
        if self.keep is None:
            small = size_of_all(replay) <= SMALL
            kept |= dict.fromkeys(names if small else self.worth_keeping(replay))
        else:
            kept |= dict.fromkeys(chosen(self.keep, names) if self.keep else [])
        if self.labels is not None:
            kept["head.log_probabilities"] = None
        by_hand = [name for name in names if any(step.touches(name) for step in interventions)]
        seen = self.forward(replay, [*kept, *by_hand])
        stored = {name: seen[name] for name in statement.formulas if name in kept and name in seen}
        if self.labels is not None:
            stored["loss"] = F.nll_loss(seen["head.log_probabilities"], self.labels)
        found = Trace(
            statement=statement,
            stored={name: tensor.detach() for name, tensor in stored.items()},
            facts=known,
            places=self.places,
            words=self.words,
            config=self.model.config,
            replay=replay,
            setting=self,
            interventions=interventions,
            versions=tuple(parameter._version for parameter in self.model.parameters()),
        )
        return replace(found, gradients=self.differentiate(found, stored)) if self.gradients else found

    def forward(self, replay: Replay, names: Sequence[str]) -> Mapping[str, Tensor]:
        """One forward, with a graph only where gradients are asked for."""
        if self.gradients is None:
            with torch.no_grad():
                return replay.whole(names)[0]

        def with_graph(name: str, tensor: Tensor) -> Tensor:
            tensor = tensor if replay.change is None else replay.change(name, tensor)
            leaf = tensor.is_floating_point() and not tensor.requires_grad
            return tensor.detach().requires_grad_() if leaf else tensor

        with torch.enable_grad():
            return replace(replay, change=with_graph).whole(names)[0]

    def differentiate(self, found: Trace, stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The gradient of the loss, or of one cell, with respect to each stored tensor."""
        assert self.gradients is not None
        name, said = split_name(self.gradients)
        if name not in stored:
            raise UnknownNameError(f"gradients of {name} need it stored", do=did_you_mean(name, stored))
        goal = stored[name][tuple(found.cell(name, said).values())]
        floats = {name: tensor for name, tensor in stored.items() if tensor.requires_grad}
        slopes = torch.autograd.grad(goal, list(floats.values()), allow_unused=True)
        return {
            name: torch.zeros_like(tensor) if slope is None else slope
            for (name, tensor), slope in zip(floats.items(), slopes, strict=True)
        }

    def worth_keeping(self, replay: Replay) -> list[str]:
        """Queries and keys, and the heads when they speak at few places."""
        names = [name for name in replay.statement.formulas if name != "loss"]
        kept = chosen(KEPT, names)
        rows = replay.inputs.shape[0] * replay.inputs.shape[1] if self.places is None else len(self.places)
        if rows * self.model.config.output_stack.embed.vocabulary <= SMALL:
            kept += [name for name in names if name.startswith("head.")]
        return kept + [name for name in names if name.startswith("sentence_head.")]


def heads_of(config: ModelConfig, name: str) -> int:
    """The heads of the attention that a tensor belongs to."""
    side, _, index, attention, _ = name.split(".")
    return int(getattr(getattr(config, side).blocks[int(index)], attention).body.heads)


def size_of_all(replay: Replay) -> int:
    """About how many numbers all tensors of this run hold."""
    total = 0
    for side, inputs in (("encoder", replay.inputs), ("decoder", replay.target or replay.inputs)):
        stack: ModelConfig | object = getattr(replay.model.config, side)
        if stack is not None:
            batch, pieces = inputs.shape
            for block in replay.model.config.output_stack.blocks:
                inner = block.feed_forward.body.width if block.feed_forward is not None else 0
                width = replay.model.config.output_stack.width
                total += batch * pieces * (12 * width + 3 * inner)
                total += batch * block.self_attention.body.heads * pieces * pieces * 6
    rows = replay.inputs.shape[0] * replay.inputs.shape[1] if replay.places is None else len(replay.places)
    return total + 3 * rows * replay.model.config.output_stack.embed.vocabulary


@dataclass(frozen=True)
class Trace(Mapping[str, Tensor]):
    """Every tensor of one run by name. `kept(name)` tells whether it is stored or computed again when asked for."""

    statement: Statement
    stored: Mapping[str, Tensor]
    facts: Mapping[str, Tensor]
    places: Tensor | None
    words: Words
    config: ModelConfig
    replay: Replay | None = None
    setting: Setting | None = None
    interventions: tuple[Intervention, ...] = ()
    versions: tuple[int, ...] = ()
    gradients: Mapping[str, Tensor] = field(default_factory=dict)
    saved_honesty: honesty.Honesty | None = None

    # ----------------------------------------------------------------- tensors

    def __getitem__(self, name: str) -> Tensor:
        return self.fetch([name])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.statement.formulas)

    def __len__(self) -> int:
        return len(self.statement.formulas)

    def kept(self, name: str) -> bool:
        """True = stored, False = computed again on demand; raises UnknownNameError."""
        self.check_name(name)
        return name in self.stored

    def tensor(self, name: str) -> Tensor:
        """Any tensor by name: of the run, a weight (`parameters.*`), or a fact (`inputs.ids`)."""
        if name in self.facts:
            return self.facts[name]
        if name in self.parameters:
            return self.parameters[name]
        return self[name]

    @cached_property
    def parameters(self) -> Mapping[str, Tensor]:
        """The weights by public name."""
        if self.replay is None:
            return {}
        return {name: weight.detach() for name, weight in parameter_names(self.replay.model).items()}

    def fetch(self, names: Iterable[str]) -> dict[str, Tensor]:
        """Several tensors at once; each unit that has to be run again is run once."""
        found: dict[str, Tensor] = {}
        missing: dict[str, list[str]] = {}
        for name in names:
            self.check_name(name)
            if name in self.stored:
                found[name] = self.stored[name]
            else:
                missing.setdefault(self.statement.unit(name), []).append(name)
        for unit, wanted in missing.items():
            found |= self.again(unit, wanted)
        return found

    def again(self, unit: str, names: Sequence[str]) -> dict[str, Tensor]:
        """Run one unit from its stored input; raises ConfigError when the weights are gone or have changed."""
        if self.replay is None:
            raise ConfigError(
                f"{names[0]} is not stored and this trace has no model to compute it again",
                do="load it with the model, or save it with weights=True",
            )
        if self.versions != tuple(parameter._version for parameter in self.replay.model.parameters()):
            raise ConfigError("the model's weights have changed since this trace", do="trace again, or keep all: keep='*'")
        seen = self.replay.unit(unit, names, lambda name: self.stored[name])
        return {name: seen[name] for name in names}

    def gradient(self, name: str) -> Tensor:
        """The gradient with respect to a stored tensor; raises UnknownNameError."""
        if name not in self.gradients:
            do = did_you_mean(name, self.gradients) if self.gradients else "trace with gradients='loss'"
            raise UnknownNameError(f"there is no gradient of {name}", do=do)
        return self.gradients[name]

    @property
    def nbytes(self) -> int:
        """Bytes of what is stored."""
        return sum(tensor.nbytes for tensor in self.stored.values())

    # ----------------------------------------------------------------- axes and cells

    def check_name(self, name: str) -> None:
        """Refuse a name this model does not have."""
        if name not in self.statement.formulas:
            raise UnknownNameError(f"there is no tensor {name!r}", do=did_you_mean(name, self.statement.formulas))

    def axes(self, name: str) -> tuple[str, ...]:
        """The names of a tensor's axes."""
        if name in self.facts:
            return ("place",) if name == "labels" else axis_names(FACT_AXES[name.partition(".")[2]])
        if name in self.parameters:
            return ("row", "column")[2 - self.parameters[name].dim() :]
        self.check_name(name)
        return axis_names(self.statement.formulas[name].axes)

    def described(self, name: str, tensor: Tensor | None = None) -> Axes:
        """A tensor's axes with their sizes and whose words they count."""
        sizes = tuple((self.tensor(name) if tensor is None else tensor).shape)
        if name in self.statement.formulas:
            formula = self.statement.formulas[name]
            return Axes(name, self.axes(name), sizes, formula.pieces, formula.keys)
        side = name.partition(".")[0]
        return Axes(name, self.axes(name), sizes, side, side)

    def cell(self, name: str, said: str | Mapping[str, str | int]) -> dict[str, int]:
        """A cell said in words, as the index along each axis; raises UnknownNameError."""
        return find_cell(self.described(name), read_cell(said) if isinstance(said, str) else said, self.words)

    # ----------------------------------------------------------------- truth

    def explain(self, name: str, cell: str | Mapping[str, str | int] = "") -> Explanation:
        """One number: its formula in words and MathML, its operands and terms, and the number computed again.

        The cell may stand in the name: `explain("head.logits[place=0,vocabulary=the]")`.
        """
        if "[" in name:
            name, cell = split_name(name)
        return explain(self, name, self.cell(name, cell))

    def verify(self, names: Iterable[str] | str | None = None) -> Verification:
        """Hold each tensor against its formula, unit by unit, so that little is in memory at once."""
        by_unit: dict[str, list[str]] = {}
        by_hand = []
        for name in chosen(names, self.statement.formulas):
            if any(step.touches(name) for step in self.interventions):
                by_hand.append(name)
            else:
                by_unit.setdefault(self.statement.unit(name), []).append(name)
        checks: list[Check] = []
        for unit, members in by_unit.items():
            checks += check_all(self.statement.formulas, members, Held(self, self.unit(unit)))
        return Verification(tuple(checks), LIMITS[self.dtype], tuple(by_hand))

    def unit(self, unit: str) -> dict[str, Tensor]:
        """All tensors of a unit."""
        return self.fetch(name for name in self.statement.formulas if self.statement.unit(name) == unit)

    def hold(self, names: Iterable[str]) -> Held:
        """Several tensors kept at hand while they are spoken about."""
        return Held(self, self.fetch(names))

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the run."""
        return next(iter(self.stored.values())).dtype

    @cached_property
    def honesty(self) -> honesty.Honesty:
        """The honesty gate, measured once, before interventions."""
        if self.saved_honesty is not None:
            return self.saved_honesty
        if self.setting is None:
            raise ConfigError("the honesty gate was not measured before this trace was saved", do="trace again")
        return honesty.measure(self.setting.replay(())[0], self.setting.original, self.setting.predicts_in)

    # ----------------------------------------------------------------- what if

    def intervene(self, *steps: Intervention) -> Trace:
        """The same run with these interventions after the ones already made; this trace stays as it is."""
        return self.with_interventions(self.interventions + steps)

    def undo(self, count: int = 1) -> Trace:
        """The same run without the last interventions."""
        return self.with_interventions(self.interventions[: max(len(self.interventions) - count, 0)])

    def with_interventions(self, steps: tuple[Intervention, ...]) -> Trace:
        """The same run with exactly these interventions. The gate is measured first: they are no part of it."""
        if self.setting is None:
            raise ConfigError("interventions need the model", do="load the trace with its model")
        measured = self.honesty
        return replace(self.setting.run(steps), saved_honesty=measured)

    @property
    def python(self) -> str:
        """The interventions as Python that makes them again."""
        return as_python(self.interventions)

    # ----------------------------------------------------------------- on disk

    def save(self, path: str | Path, *, weights: bool = False) -> None:
        """Write what is stored to a safetensors file, with the model's fingerprint; its weights only when asked."""
        from glassformer.look.saved import save

        save(self, Path(path), weights=weights)

    @staticmethod
    def load(path: str | Path, model: nn.Module | None = None) -> Trace:
        """Read a saved trace; with the model, or saved weights, all tensors are within reach again."""
        from glassformer.look.saved import load

        return load(Path(path), model)


@dataclass(frozen=True)
class Held:
    """A source of tensors with some of them at hand; the rest comes from the trace and then stays."""

    trace: Trace
    held: dict[str, Tensor]

    @property
    def places(self) -> Tensor | None:
        """Where the vocabulary was scored, [N]."""
        return self.trace.places

    def tensor(self, name: str) -> Tensor:
        """A tensor, a weight or a fact."""
        if name not in self.held:
            self.held[name] = self.trace.tensor(name).detach()
        return self.held[name]


