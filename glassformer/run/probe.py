"""Linear probing before fine-tuning (Kumar et al. 2022): the last layer of the head begins as the best linear model on
the frozen states of the model to start from. Where these states are better with smaller matrices in the blocks, the
blocks begin with these (after "shrink", Ash & Adams 2020).

R rows, of a token task its labelled tokens · F numbers that enter the last layer · L outputs of it
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import CheckpointError, GlassformerError
from glassformer.base.json_text import read_sealed_line, sealed_line
from glassformer.convert.files import save_tensors
from glassformer.data.stores.split import Split
from glassformer.models.heads import SentenceHead
from glassformer.models.transformer import Transformer, fingerprint
from glassformer.run.first_weights import adapt, widened
from glassformer.run.frozen_states import Clock, Read, head_of, read_states, solutions
from glassformer.runtime.device import Log, choose_machine
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_model
from glassformer.saved.recipe import Recipe
from glassformer.saved.store import PROBE
from glassformer.scoring.score import Scores
from glassformer.scoring.verdict import FROZEN
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.records import sources_of
from glassformer.tasks.settings import HeadOutputs
from glassformer.tasks.task import Source, Task
from glassformer.training.budget import FEW
from glassformer.training.settings import TrainSection

# What follows where its file is deleted.
_AGAIN = "a training makes it again, an evaluation leaves frozen features out"

# Rows to learn from and to measure on, the seconds to read the former, and their share of the minutes: of 5,573
# sentences with 60 labels and 4 minutes, the probe of 3,366 has held-out accuracy of 78.3 %, that of all 81.1 %, and
# tuning from 2,220 ended at 79.1 %.
_ROWS, _MEASURED, _SECONDS, _SHARE = 20_000, 2_000, 120.0, 0.5
# Shares of those seconds: to read what is measured on, and to fit all layers.
_OTHERS, _FITTING = 0.1, 0.4
# Strengths of regularization for standardized vectors (scikit-learn's C); the smallest fits the biases alone.
STRENGTHS = (1e-5, 3e-4, 3e-3, 3e-2, 3e-1)
# Rows to learn from and to measure on when smaller matrices are tried, the fewest that say anything, and the share of
# those seconds to read them. The scale with the lowest loss is taken if this falls by a share.
_TRIED, _FEWEST, _TRYING = 1_000, 300, 0.03
_SCALES, _GAIN = (1.0, 0.5, 0.25), 0.02
# A step of a training takes this many times as long as to read its rows.
_COST = 3


@dataclass(frozen=True)
class Probe:
    """A task with the head that did best, and its last layer. `losses` has the held-out loss of each head by name;
    `rows_per_second` is how many rows, or groups of rows, the frozen model read, `start` its fingerprint, and
    `seconds` how long all took. The matrices of the blocks were multiplied by `scale`.
    """

    task: Task
    weight: Tensor
    bias: Tensor
    losses: Mapping[str, float] = field(default_factory=dict)
    rows_per_second: float = 0.0
    seconds: float = 0.0
    start: str = ""
    scale: float = 1.0

    def begin(self, module: Transformer) -> None:
        """Give the last layer of the module's head these values, and its blocks their scale. Raises CheckpointError for
        a head of other sizes.
        """
        layer = output_of(module)
        if (self.weight.shape, self.bias.shape) != (layer.weight.shape, layer.bias.shape):
            wanted, got = f"a linear probe must have shape {list(layer.weight.shape)}", str(list(self.weight.shape))
            raise CheckpointError(wanted, got=got, do=f"delete {PROBE} of the run: {_AGAIN}")
        with torch.no_grad():
            layer.weight.copy_(self.weight)
            layer.bias.copy_(self.bias)
        scale_blocks(module, self.scale)

    def too_few_epochs(self, train: TrainSection, rows: int, steps_per_epoch: float) -> str:
        """A sentence where the minutes allow fewer epochs than the recipe has by default, by the measured speed."""
        rule, minutes = train.epochs_by_data, train.minutes
        if rule is None or minutes is None or not (train.steps is train.epochs is None) or not self.rows_per_second:
            return ""
        spent, epoch = self.seconds / 60, rows * _COST / self.rows_per_second / 60  # minutes
        usual = rule.epochs(steps_per_epoch)
        if minutes >= (needed := math.ceil(spent + usual * epoch)):
            return ""
        return (
            f"{minutes:g} minutes allow about {max(minutes - spent, 0) / epoch:.2g} epochs, where the default is "
            f"{usual}: these would take about {needed} minute{'' if needed == 1 else 's'}, --minutes {needed}"
        )

    def save(self, folder: Path) -> None:
        layer = _checksum(self.weight, self.bias)
        facts = sealed_line(
            {"chosen": self.task.section.chosen, "start": self.start, "scale": self.scale, "layer": layer}
        )
        with atomic_write(folder / PROBE) as draft:
            save_tensors(draft, {"weight": self.weight, "bias": self.bias}, {"facts": facts})

    @classmethod
    def read(cls, folder: Path, task: Task) -> Probe:
        """The one that was saved in a folder, for a task as it is before it. Raises CheckpointError."""
        try:
            with safe_open(folder / PROBE, "pt") as file:
                facts = read_sealed_line(file.metadata()["facts"])
                weight, bias = file.get_tensor("weight"), file.get_tensor("bias")
            chosen, start, scale = facts["chosen"], facts["start"], float(facts.get("scale", 1))
            if facts["layer"] != _checksum(weight, bias):
                raise ValueError("other numbers than those that were saved")
            section = type(task.section).model_validate(task.section.model_dump() | chosen)
        except (OSError, SafetensorError, ValueError, KeyError, TypeError):
            wanted, do = "a run needs the linear probe that it began with", f"delete {folder / PROBE}: {_AGAIN}"
            raise CheckpointError(wanted, got="a damaged one", do=do) from None
        return cls(task.with_settings(**section.chosen), weight, bias, start=start, scale=scale)


def _checksum(*tensors: Tensor) -> int:
    return zlib.crc32(b"".join(f"{of.dtype}{list(of.shape)}".encode() + of.numpy().tobytes() for of in tensors))


def output_of(module: Transformer) -> nn.Linear:
    """The last layer of the head for labels."""
    head = module.token_head if module.sentence_head is None else module.sentence_head
    assert head is not None
    assert isinstance(head.output, nn.Linear)
    return head.output


def in_units(module: Transformer, known: HeadOutputs, now: HeadOutputs) -> None:
    """Have a head for numbers give the same ones with outputs in other units."""
    if (known.scale, known.shift) != (now.scale, now.shift):
        layer = output_of(module)
        with torch.no_grad():
            layer.weight.mul_(known.scale / now.scale)
            layer.bias.copy_((layer.bias * known.scale + known.shift - now.shift) / now.scale)


def scale_blocks(module: Transformer, scale: float) -> None:
    """Multiply the matrices of all blocks by a number, in place."""
    with torch.no_grad():
        for each in module.output_stack.blocks.parameters():
            each.mul_(scale if each.dim() == 2 else 1)


def probe(
    start: Transformer, task: Task, sources: Mapping[Split, Source], train: TrainSection, log: Log, *, scaled: bool
) -> Probe | None:
    """The best linear model on the frozen states, of the heads that the task has for it; None where it has none. With
    `scaled` the blocks may begin with smaller matrices where whole texts are labelled: labels of words gained nothing
    (decisions/2026-11-28-smaller-matrices.md).
    """
    began, tasks = time.monotonic(), task.probes(start)
    if not tasks:
        return None
    widest = tasks[-1]  # that of pairs, where there is one, whose rows number their texts
    print_of, start = fingerprint(start), widened(start, widest.model(start.config))
    heads = [head_of(each, start) for each in tasks]
    most = min(_SECONDS, math.inf if train.minutes is None else _SHARE * 60 * train.minutes)
    limit = "" if train.minutes is None else f" for at most {most:.0f} s"
    log(f"linear probe: reading training records{limit}")
    machine = choose_machine(train.device, train.precision, train.threads)
    clock = Clock(machine, counted=train.minutes is None)
    records = sources_of(widest, sources)
    source, held_out = task.names(records["train"]), records.get("validation")
    crossed = held_out is None or len(held_out) < FEW
    each_seconds = _FITTING * most / ((5 if crossed else 1) * (len(tasks) + len(STRENGTHS)) + 1)

    def read(of: Source, rows: int, seconds: float) -> Read:
        return read_states(start, heads, TaskFeed(widest, of), machine, rows, seconds, clock)

    def parted(learned: Read, rows: int, seconds: float) -> list[tuple[Read, Read]]:
        if held_out is None or crossed:
            return learned.folds(records["train"].copies)
        return [(learned, read(held_out, rows, seconds))]

    def solved(
        parts: list[tuple[Read, Read]], number: int, strengths: Sequence[float]
    ) -> tuple[list[float], list[tuple[float, Tensor, Tensor]]]:
        its = [list(solutions(tasks[number], start, part, number, strengths, each_seconds, clock)) for part in parts]
        means = np.mean([[loss for loss, _, _ in each] for each in its], axis=0)  # [strengths]
        return np.nan_to_num(means, nan=math.inf, posinf=math.inf).tolist(), its[0]

    def losses_of(parts: list[tuple[Read, Read]]) -> list[float]:
        return [solved(parts, number, STRENGTHS[2:3])[0][0] for number in range(len(tasks))]

    def tried() -> float:
        """The loss of the best head on some rows; 0 where they are too few."""
        parts = parted(read(records["train"], _TRIED, _TRYING * most), _TRIED, _TRYING * most)
        return min(losses_of(parts)) if sum(len(part) for _, part in parts) >= _FEWEST else 0.0

    measured = records["train"] if held_out is None or crossed else held_out
    scaled = scaled and len(measured) >= _FEWEST and isinstance(heads[0], SentenceHead)
    tries = {1.0: 0.0}
    for each in _SCALES if scaled else ():
        scale_blocks(start, each)  # exact, as all products with a power of two
        tries[each] = tried()
        scale_blocks(start, 1 / each)
        if not tries[each]:
            break
    scale = min(tries, key=lambda each: tries[each])
    scale = scale if 0 < tries[scale] < (1 - _GAIN) * tries[1] else 1.0
    scale_blocks(start, scale)
    named = None if source is None else read(source, _ROWS, _OTHERS * most)
    left, reading = most - clock.now, time.monotonic()
    learned = read(records["train"], _ROWS, left)
    rate = len(learned.groups.unique()) / max(time.monotonic() - reading, 1e-9)
    parts = [(rest.also(named), part) for rest, part in parted(learned, _MEASURED, _OTHERS * most)]
    losses = losses_of(parts)
    best = int(np.argmin(losses))
    of_strengths, layers = solved(parts, best, STRENGTHS)
    losses[best], chosen = min(of_strengths), int(np.argmin(of_strengths))
    _, weight, bias = layers[chosen]
    if crossed:
        strength, whole = STRENGTHS[chosen : chosen + 1], (learned.also(named), learned)
        _, weight, bias = next(solutions(tasks[best], start, whole, best, strength, each_seconds, clock))
    scale_blocks(start, 1 / scale)
    if not (math.isfinite(losses[best]) and weight.isfinite().all()):
        return None
    names = ["".join(of for of in each.section.chosen.values() if isinstance(of, str)) or "states" for each in tasks]
    shown = ", ".join(f"{name} {loss:.4f}" for name, loss in zip(names, losses, strict=True))
    seconds = time.monotonic() - began
    rows = f"linear probe of the frozen states of {len(learned):,} rows"
    if named is not None:
        rows += f" and the names of {named.different_labels:,} labels"
    how = "cross-validation" if crossed else "held-out text"
    log(f"{rows}, loss in {how}: {shown} ({seconds:.0f} s); training starts from it")
    if scale < 1:
        log(f"the matrices of the blocks are multiplied by {scale:g}, by which the loss of the linear probe fell")
    return Probe(tasks[best], weight, bias, dict(zip(names, losses, strict=True)), rate, seconds, print_of, scale)


def with_frozen_probe(
    scores: Scores,
    run: Path | None,
    recipe: Recipe | None,
    task: Task,
    evaluated: Callable[[Task, Transformer], Scores],
    log: Log,
) -> Scores:
    """The scores with those of the linear probe that the run in a folder began with, on the same examples; unchanged
    where there is none, and with a note where the model to start from cannot be opened any more.
    """
    if run is None or recipe is None or recipe.model.start is None or not (run / PROBE).exists():
        return scores
    try:
        found = Probe.read(run, task.with_settings(**dict(recipe.task)))
        start = open_model(recipe.model.start, Artefact, "cpu").module
        if fingerprint(start) != found.start:
            raise CheckpointError("the model that the run started from is needed", got="other weights")
        module, _ = adapt(start, found.task.model(start.config), seed=0, same_labels=False)
        found.begin(module)
    except GlassformerError as error:
        log(f"no row of {FROZEN}: {error}")
        return scores
    return scores.with_baseline(FROZEN, evaluated(found.task, module.eval()))
