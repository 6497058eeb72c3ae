"""A run of a model with all its tensors, explained, verified, changed by hand, and saved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import torch

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.outputs import output_file
from glassformer.base.pickles import NeverPickled
from glassformer.base.plain import counted
from glassformer.look.formulas.explanation import Explanation
from glassformer.look.formulas.named import Source, read_cell, split_name
from glassformer.look.formulas.rules.evaluator import AFTERWARDS
from glassformer.look.trace import saved
from glassformer.look.trace.asked import chosen
from glassformer.look.trace.cell import find_cell
from glassformer.look.trace.explain import explain
from glassformer.look.trace.honesty import Honesty
from glassformer.look.trace.interventions import Intervention, as_python, touched
from glassformer.look.trace.replay import Replay
from glassformer.look.trace.steps import listed
from glassformer.look.trace.tensors import Tensors
from glassformer.look.trace.verify import LIMITS, WITHOUT_WEIGHTS, Check, Verification, check, check_rounded
from glassformer.models.transformer import Transformer, fingerprint


@dataclass(frozen=True)
class Origin:
    """The texts of a run and what reads them: `loads` are Python lines that make `model`, `command` opens the run live.
    `by_word`: words of the vocabulary with blanks between. `mask_id` is [MASK], if any. `scored_by_masks`: the
    vocabulary is scored at masked words, without any everywhere. `name` is the model's, `task` its task, if known.
    `expected` are words that were hidden, each with the ids of its tokens, in the order of the masked words.
    """

    loads: tuple[str, ...]
    texts: tuple[str, ...]
    seconds: tuple[str, ...] | None = None
    choices: tuple[str, ...] | None = None
    target_ids: tuple[tuple[int, ...], ...] | None = None
    command: str = ""
    by_word: bool = False
    mask_id: int | None = None
    scored_by_masks: bool = True
    name: str = ""
    task: str = ""
    expected: tuple[tuple[str, tuple[int, ...]], ...] = ()


REPEATED = 12  # How many words of a text fit into the line that describes a trace


@dataclass(frozen=True, eq=False)
class Trace(NeverPickled, Tensors):
    """Every tensor of one run by name. `kept(name)` is False for what is computed again when it is asked for.
    `original` is the model as it was given, `run_again` makes the same run with other interventions, and
    `measure_honesty` measures the honesty gate; a trace read from a file without its model has none of the three.
    `origin` is what `Model.trace` was asked for; None for a trace of ids and for one from a file.
    """

    written_by = "write it with save(FILE), and read it with gf.load_trace(FILE)"

    original: Transformer | None = None
    run_again: Callable[[tuple[Intervention, ...]], Trace] | None = None
    measure_honesty: Callable[[], Honesty] | None = None
    interventions: tuple[Intervention, ...] = ()
    saved_honesty: Honesty | None = None
    origin: Origin | None = None

    @classmethod
    def of(cls, run: Trace) -> Self:
        """The same run as a trace of this class."""
        return run if isinstance(run, cls) else cls(**{each.name: getattr(run, each.name) for each in fields(run)})

    def __repr__(self) -> str:
        sides = {"inputs": self.words.inputs, "decoder_inputs": self.words.decoder_inputs}
        texts = [shortened(words) for words in sides.values() if words]
        if not texts:
            shapes = [self.facts[f"{side}.positions"].shape[1] for side in sides if f"{side}.positions" in self.facts]
            texts = [f"{tokens} tokens" for tokens in shapes]
        kept = f"{len(self.stored)} stored" if len(self.stored) < len(self) else "all stored"
        count = len(self.interventions)
        changed = f", {count} change{'s' * (count > 1)} by hand" if count else ""
        return f"Trace({self.config.family}, {' → '.join(texts)}, {len(self)} tensors, {kept}{changed})"

    def explain(self, name: str, cell: str | Mapping[str, str | int] | tuple[str | int, ...] = "") -> Explanation:
        """One number: its formula in words and MathML, its operands and terms, and the number computed again. The cell
        may be part of the name, `explain("logits[place=0,vocabulary=the]")`, or an index for each axis. Raises
        UnknownNameError.
        """
        if isinstance(name, str) and "[" in name:
            name, cell = split_name(name)
        name = self.full_name(name)
        formula = self.statement.formulas.get(name)
        named = [name, *(operand.name for operand in formula.rule.operands.values())] if formula is not None else []
        held = self.hold(other for other in named if other in self.statement.formulas)
        asked = read_cell(cell) if isinstance(cell, str) else cell
        return self.explain_cell(name, find_cell(self.described(name, held.tensor(name)), asked, self.words), held)

    def explain_cell(self, name: str, cell: Mapping[str, int], held: Source) -> Explanation:
        """As `explain`, for indices, with the tensors at hand."""
        return explain(name, cell, self.statement.formulas.get(name), held, self.described, self.words)

    def verify(self, names: Iterable[str] | str | None = None) -> Verification:
        """Hold each tensor against its formula, unit by unit, so that little is in memory at once. A stream that was
        stored from a fast kernel may differ from its formula by what both kernels round. Tensors whose formula needs
        what a saved trace does not hold are listed as unchecked.
        """
        by_unit: dict[str, list[str]] = {}
        by_hand, unchecked = [], []
        for name in chosen(names, self.statement.formulas):
            if self.by_hand(name):
                by_hand.append(name)
            elif self.replay is None and not self.has_all_for(name):
                unchecked.append(name)
            else:
                by_unit.setdefault(self.statement.unit(name), []).append(name)
        checks = []
        for unit, members in by_unit.items():
            inside = (name for name in self.statement.formulas if self.statement.unit(name) == unit)
            held = self.hold(name for name in inside if self.replay is not None or name in self.stored)
            for name in members:
                found = check(self.statement.formulas[name], held)
                if LIMITS[self.dtype] < found.error < math.inf and name in self.stored and unit not in AFTERWARDS:
                    found = self.with_rounding(found, unit, held)
                checks.append(found)
        return Verification(tuple(checks), LIMITS[self.dtype], tuple(by_hand), tuple(unchecked))

    def has_all_for(self, name: str) -> bool:
        """Whether a tensor and all that its formula reads are at hand without the model."""
        read = [name, *(operand.name for operand in self.statement.formulas[name].rule.operands.values())]
        return all(each in self.stored or each in self.facts for each in read)

    def with_rounding(self, found: Check, unit: str, held: Source) -> Check:
        """The check of a stored stream, held to what the kernel that made it and the formula's own round."""
        if self.replay is None or self.dtype != torch.float32:
            return found
        names = [name for name in self.statement.formulas if self.statement.unit(name) == unit]
        exact = self.exact
        pairs = []
        for watched in ([found.name], names):  # the fast kernels, then the formula's way
            one = self.replay.unit(unit, watched, self.stored.__getitem__)[found.name]
            two = exact.unit(unit, watched, lambda name: self.stored[name].to(exact.inputs.device, torch.float64))
            pairs.append((one.detach(), two[found.name].detach()))
        return check_rounded(self.statement.formulas[found.name], held, LIMITS[self.dtype], pairs)

    @cached_property
    def exact(self) -> Replay:
        assert self.replay is not None
        return self.replay.exact()

    @cached_property
    def honesty(self) -> Honesty:
        """The honesty gate, measured once, before interventions."""
        if self.saved_honesty is not None:
            return self.saved_honesty
        if self.measure_honesty is None:
            raise ConfigError("the honesty gate was not measured before this trace was saved", do="trace again")
        self.refuse_changed_weights()
        return self.measure_honesty()

    def intervene(self, *steps: Intervention) -> Self:
        """The same run with these interventions after the ones already made; this trace stays as it is."""
        return self.with_interventions(self.interventions + listed(steps))

    def undo(self, count: int = 1) -> Self:
        """The same run without the last interventions; raises ConfigError for a count below 1."""
        left = len(self.interventions) - counted(count, "the number of interventions to undo")
        return self.with_interventions(self.interventions[: max(left, 0)])

    def with_interventions(self, steps: tuple[Intervention, ...]) -> Self:
        """The same run with exactly these interventions. The gate is measured first: they are no part of it."""
        if self.run_again is None:
            raise ConfigError("interventions need the model", do=WITHOUT_WEIGHTS)
        self.refuse_changed_weights()
        measured = replace(self.honesty, before_changes=bool(steps))
        return type(self).of(replace(self.run_again(steps), saved_honesty=measured, origin=self.origin))

    @property
    def changed(self) -> bool:
        """Whether interventions were made in this run."""
        return bool(self.interventions)

    def by_hand(self, name: str) -> bool:
        """Whether interventions set this tensor, or a part of it."""
        return touched(self.interventions, name)

    @property
    def python(self) -> str:
        """The interventions as Python that makes them again."""
        return as_python(self.interventions)

    def save(self, path: str | Path, *, weights: bool = False, overwrite: bool = False) -> None:
        """Write what is stored to a safetensors file, with the model's fingerprint; its weights only when asked. An
        existing file that is no trace is replaced only with `overwrite`, one of a model, an index or a run never.
        Raises CheckpointError.
        """
        file = output_file(path, CheckpointError, overwrite=overwrite)
        groups = {"tensor": self.stored, "fact": self.facts, "gradient": self.gradients}
        tensors = {f"{kind}.{name}": tensor for kind, group in groups.items() for name, tensor in group.items()}
        if self.scored_at is not None:
            tensors["scored_at"] = self.scored_at
        if weights and self.replay is not None:
            # A head tied to the word table shares its storage: safetensors wants each tensor on its own.
            tensors |= {f"weight.{name}": weight for name, weight in self.replay.model.state_dict().items()}
        header = saved.Header(
            config=self.config,
            fingerprint=None if self.original is None else fingerprint(self.original),
            words=saved.WordsRecord.of(self.words),
            honesty=self.honesty if self.measure_honesty or self.saved_honesty else None,
            interventions=[saved.StepRecord.of(step) for step in self.interventions],
        )
        saved.write(file, tensors | saved.patches(self.interventions), header)


def shortened(sentences: Sequence[Sequence[str]]) -> str:
    """The first words of the first sentence, and how many words and sentences follow."""
    first = sentences[0]
    words = " ".join(first[:REPEATED]) + (f" … ({len(first)} words)" if len(first) > REPEATED else "")
    return f"{words!r}" + (f" and {len(sentences) - 1} more" if len(sentences) > 1 else "")
