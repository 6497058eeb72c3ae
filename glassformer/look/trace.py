"""A run of a model with all its tensors: stored, or computed again when they are asked for.

N positions where the vocabulary is scored
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.errors import ConfigError, UnknownNameError, did_you_mean
from glassformer.look import saved
from glassformer.look.cell import Axes, Words, find_cell, read_cell, split_name
from glassformer.look.explain import explain
from glassformer.look.explanation import Explanation
from glassformer.look.facts import FACT_AXES
from glassformer.look.honesty import Honesty
from glassformer.look.interventions import Intervention, as_python, touched
from glassformer.look.named import Source, axis_names
from glassformer.look.replay import Replay
from glassformer.look.statement import Statement
from glassformer.look.verify import LIMITS, Verification, check
from glassformer.look.watch import chosen
from glassformer.models.names import parameter_names
from glassformer.models.transformer import Transformer

REPEATED = 12
"""How many words of a text fit into the line that describes a trace."""


@dataclass(frozen=True)
class Trace(Mapping[str, Tensor]):
    """Every tensor of one run by name. `kept(name)` is False for what is computed again when it is asked for.

    `original` is the model as it was given, `run_again` makes the same run with other interventions, and
    `measure_honesty` measures the honesty gate; a trace read from a file without its model has none of the three.
    """

    statement: Statement
    stored: Mapping[str, Tensor]
    facts: Mapping[str, Tensor]
    scored_at: Tensor | None
    words: Words
    config: ModelConfig
    replay: Replay | None = None
    original: Transformer | None = None
    run_again: Callable[[tuple[Intervention, ...]], Trace] | None = None
    measure_honesty: Callable[[], Honesty] | None = None
    interventions: tuple[Intervention, ...] = ()
    versions: tuple[int, ...] = ()
    gradients: Mapping[str, Tensor] = field(default_factory=dict)
    saved_honesty: Honesty | None = None

    def __repr__(self) -> str:
        sides = {"inputs": self.words.inputs, "decoder_inputs": self.words.decoder_inputs}
        texts = [shortened(words) for words in sides.values() if words]
        if not texts:
            shapes = [self.facts[f"{side}.positions"].shape[1] for side in sides if f"{side}.positions" in self.facts]
            texts = [f"{tokens} tokens" for tokens in shapes]
        kept = f"{len(self.stored)} stored" if len(self.stored) < len(self) else "all stored"
        return f"Trace({self.config.family}, {' → '.join(texts)}, {len(self)} tensors, {kept})"

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
            found |= self.recompute(unit, wanted)
        return found

    def recompute(self, unit: str, names: Sequence[str]) -> dict[str, Tensor]:
        """Run one unit from its stored input; raises ConfigError when the weights are gone or have changed."""
        if self.replay is None:
            raise ConfigError(
                f"{names[0]} is not stored and this trace has no model to compute it again",
                do="load it with the model, or save it with weights=True",
            )
        if self.versions != tuple(parameter._version for parameter in self.replay.model.parameters()):
            raise ConfigError(
                "the model's weights have changed since this trace", do="trace again, or keep all: keep='*'"
            )
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
        return find_cell(self.described(name), read_cell(asked) if isinstance(asked, str) else asked, self.words)

    # ----------------------------------------------------------------- truth

    def explain(self, name: str, cell: str | Mapping[str, str | int] = "") -> Explanation:
        """One number: its formula in words and MathML, its operands and terms, and the number computed again.

        The cell may be part of the name: `explain("head.logits[place=0,vocabulary=the]")`.
        """
        if "[" in name:
            name, cell = split_name(name)
        formula = self.statement.formulas.get(name)
        named = [name, *(operand.name for operand in formula.rule.operands.values())] if formula is not None else []
        held = self.hold(other for other in named if other in self.statement.formulas)
        asked = read_cell(cell) if isinstance(cell, str) else cell
        return self.explain_cell(name, find_cell(self.described(name, held.tensor(name)), asked, self.words), held)

    def explain_cell(self, name: str, cell: Mapping[str, int], held: Source) -> Explanation:
        """As `explain`, for indices, with the tensors at hand."""
        return explain(name, cell, self.statement.formulas.get(name), held, self.described, self.words)

    def verify(self, names: Iterable[str] | str | None = None) -> Verification:
        """Hold each tensor against its formula, unit by unit, so that little is in memory at once."""
        by_unit: dict[str, list[str]] = {}
        by_hand = []
        for name in chosen(names, self.statement.formulas):
            if touched(self.interventions, name):
                by_hand.append(name)
            else:
                by_unit.setdefault(self.statement.unit(name), []).append(name)
        checks = []
        for unit, members in by_unit.items():
            held = self.hold(name for name in self.statement.formulas if self.statement.unit(name) == unit)
            checks += [check(self.statement.formulas[name], held) for name in members]
        return Verification(tuple(checks), LIMITS[self.dtype], tuple(by_hand))

    def hold(self, names: Iterable[str]) -> Source:
        """Several tensors kept at hand, so that each is computed once."""
        return Source(None if self.scored_at is None else self.scored_at.cpu(), self.tensor, self.fetch(names))

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the run."""
        return next(iter(self.stored.values())).dtype

    @cached_property
    def honesty(self) -> Honesty:
        """The honesty gate, measured once, before interventions."""
        if self.saved_honesty is not None:
            return self.saved_honesty
        if self.measure_honesty is None:
            raise ConfigError("the honesty gate was not measured before this trace was saved", do="trace again")
        return self.measure_honesty()

    # ----------------------------------------------------------------- what if

    def intervene(self, *steps: Intervention) -> Trace:
        """The same run with these interventions after the ones already made; this trace stays as it is."""
        return self.with_interventions(self.interventions + steps)

    def undo(self, count: int = 1) -> Trace:
        """The same run without the last interventions."""
        return self.with_interventions(self.interventions[: max(len(self.interventions) - count, 0)])

    def with_interventions(self, steps: tuple[Intervention, ...]) -> Trace:
        """The same run with exactly these interventions. The gate is measured first: they are no part of it."""
        if self.run_again is None:
            raise ConfigError("interventions need the model", do="load the trace with its model")
        measured = self.honesty
        return replace(self.run_again(steps), saved_honesty=measured)

    @property
    def python(self) -> str:
        """The interventions as Python that makes them again."""
        return as_python(self.interventions)

    # ----------------------------------------------------------------- on disk

    def save(self, path: str | Path, *, weights: bool = False) -> None:
        """Write what is stored to a safetensors file, with the model's fingerprint; its weights only when asked."""
        groups = {"tensor": self.stored, "fact": self.facts, "gradient": self.gradients}
        tensors = {f"{kind}.{name}": tensor for kind, group in groups.items() for name, tensor in group.items()}
        if self.scored_at is not None:
            tensors["scored_at"] = self.scored_at
        if weights and self.replay is not None:
            # A head tied to the word table shares its storage: safetensors wants each tensor on its own.
            tensors |= {f"weight.{name}": weight for name, weight in self.replay.model.state_dict().items()}
        header = saved.Header(
            config=self.config,
            fingerprint=None if self.original is None else saved.fingerprint(self.original),
            words=saved.WordsRecord.of(self.words),
            honesty=self.honesty if self.measure_honesty or self.saved_honesty else None,
            interventions=self.python if self.interventions else None,
        )
        saved.write(Path(path), tensors, header)


def shortened(sentences: Sequence[Sequence[str]]) -> str:
    """The first words of the first sentence, and how much there is beside them."""
    first = sentences[0]
    words = " ".join(first[:REPEATED]) + (f" … ({len(first)} words)" if len(first) > REPEATED else "")
    return f"{words!r}" + (f" and {len(sentences) - 1} more" if len(sentences) > 1 else "")


def heads_of(config: ModelConfig, name: str) -> int:
    """The heads of the attention that a tensor belongs to."""
    side, _, index, attention, _ = name.split(".")
    return int(getattr(getattr(config, side).blocks[int(index)], attention).body.heads)
