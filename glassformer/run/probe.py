"""Linear probing before fine-tuning (Kumar et al. 2022): the last layer of the head begins as the best linear model on
the frozen states of the model to start from.

R rows, of a token task its labelled tokens · F numbers that enter the last layer · L outputs of it
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import CheckpointError, GlassformerError
from glassformer.base.json_text import read_sealed_line, sealed_line
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.stores.split import Split
from glassformer.models.fingerprint import fingerprint
from glassformer.models.heads import SentenceHead, TokenHead
from glassformer.models.inputs import Batch, Output
from glassformer.models.transformer import Transformer
from glassformer.run.first_weights import adapt
from glassformer.runtime.device import Log, Machine, choose_machine
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_model
from glassformer.saved.recipe import Recipe
from glassformer.scoring.score import Scores
from glassformer.scoring.verdict import FROZEN
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.task import Source, Task
from glassformer.training.budget import FEW
from glassformer.training.settings import TrainSection

FILE = "linear-probe.safetensors"
"""The last layer that a run began with, in its folder: `weight` [L, F] and `bias` [L]."""

# Rows to learn from and to measure on, the most numbers of their vectors or logits, the seconds to read the former, and
# their share of the minutes: of 5,573 sentences with 60 labels and 4 minutes, the probe of 3,366 has held-out accuracy
# of 78.3 %, that of all 81.1 %, and tuning from 2,220 ended at 79.1 %.
_ROWS, _MEASURED, _NUMBERS, _SECONDS, _SHARE = 20_000, 2_000, 1 << 26, 120.0, 0.5
# Shares of those seconds: to read what is measured on, and to fit all layers.
_OTHERS, _FITTING = 0.1, 0.4
# With fewer held-out examples, or none, what is chosen is chosen by cross-validation in so many folds.
_FOLDS = 5
# Steps to fit a layer, and how many between two looks at the clock.
_STEPS, _AT_ONCE = 60, 6
# Strengths of regularization for standardized vectors (scikit-learn's C); the smallest fits the biases alone.
STRENGTHS = (1e-5, 3e-4, 3e-3, 3e-2, 3e-1)
# A step of a training takes this many times as long as to read its rows.
_COST = 3
# Settings of a task that a probe chooses.
CHOSEN = ("pooling", "direct")


@dataclass(frozen=True)
class Probe:
    """A task with the head that did best, and its last layer. `losses` has the held-out loss of each head by name;
    `rows_per_second` is how many rows, or groups of rows, the frozen model read, `start` its fingerprint, and
    `seconds` how long all took.
    """

    task: Task
    weight: Tensor
    bias: Tensor
    losses: Mapping[str, float] = field(default_factory=dict)
    rows_per_second: float = 0.0
    seconds: float = 0.0
    start: str = ""

    def begin(self, module: Transformer) -> None:
        """Give the last layer of the module's head these values. Raises CheckpointError for a head of other sizes."""
        layer = output_of(module)
        if (self.weight.shape, self.bias.shape) != (layer.weight.shape, layer.bias.shape):
            wanted, got = f"a linear probe must have shape {list(layer.weight.shape)}", str(list(self.weight.shape))
            raise CheckpointError(wanted, got=got, do=f"delete {FILE} of the run: it is made again")
        with torch.no_grad():
            layer.weight.copy_(self.weight)
            layer.bias.copy_(self.bias)

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
            f"{usual}: these would take about {needed} minutes, --minutes {needed}"
        )

    def save(self, folder: Path) -> None:
        section = self.task.section.model_dump(mode="json")
        chosen = {name: section[name] for name in CHOSEN if name in section}
        facts = sealed_line({"chosen": chosen, "start": self.start, "layer": _checksum(self.weight, self.bias)})
        with atomic_write(folder / FILE) as draft:
            save_file({"weight": self.weight, "bias": self.bias}, draft, {"facts": facts})

    @classmethod
    def read(cls, folder: Path, task: Task) -> Probe:
        """The one that was saved in a folder, for a task as it is before it. Raises CheckpointError."""
        try:
            with safe_open(folder / FILE, "pt") as file:
                facts = read_sealed_line(file.metadata()["facts"])
                weight, bias = file.get_tensor("weight"), file.get_tensor("bias")
            chosen, start = facts["chosen"], facts["start"]
            if facts["layer"] != _checksum(weight, bias):
                raise ValueError("other numbers than those that were saved")
            section = type(task.section).model_validate(task.section.model_dump() | chosen)
        except (OSError, SafetensorError, ValueError, KeyError, TypeError):
            wanted, do = "a run needs the linear probe that it began with", f"delete {folder / FILE}: it is made again"
            raise CheckpointError(wanted, got="a damaged one", do=do) from None
        return cls(task.with_settings(**{name: getattr(section, name) for name in chosen}), weight, bias, start=start)


def _checksum(*tensors: Tensor) -> int:
    return zlib.crc32(b"".join(f"{of.dtype}{list(of.shape)}".encode() + of.numpy().tobytes() for of in tensors))


def output_of(module: Transformer) -> nn.Linear:
    """The last layer of the head for labels."""
    head = module.token_head if module.sentence_head is None else module.sentence_head
    assert head is not None
    assert isinstance(head.output, nn.Linear)
    return head.output


def probe(
    start: Transformer, task: Task, sources: Mapping[Split, Source], train: TrainSection, log: Log
) -> Probe | None:
    """The best linear model on the frozen states, of the heads that the task has for it; None where it has none."""
    began, tasks = time.monotonic(), task.probes(start)
    if not tasks:
        return None
    heads = [_head(each, start) for each in tasks]
    most = min(_SECONDS, math.inf if train.minutes is None else _SHARE * 60 * train.minutes)
    log(f"linear probe: reading training records for at most {most:.0f} s")
    machine = choose_machine(train.device, train.precision, train.threads)
    learned = _read(start, heads, TaskFeed(task, sources["train"]), machine, _ROWS, most)
    rate = learned.groups / max(time.monotonic() - began, 1e-9)
    held_out = sources.get("validation")
    if held_out is None or len(held_out) < FEW:
        parts, how = learned.folds(), "cross-validation"
    else:
        parts = [(learned, _read(start, heads, TaskFeed(task, held_out), machine, _MEASURED, _OTHERS * most))]
        how = "held-out text"
    names = [getattr(each.section, "pooling", None) or "states" for each in tasks]
    each_seconds = _FITTING * most / (len(parts) * (len(tasks) + len(STRENGTHS)) + 1)

    def solved(number: int, strengths: Sequence[float]) -> tuple[list[float], list[tuple[float, Tensor, Tensor]]]:
        its = [list(_solutions(tasks[number], start, part, number, strengths, each_seconds)) for part in parts]
        means = np.mean([[loss for loss, _, _ in each] for each in its], axis=0)  # [strengths]
        return np.nan_to_num(means, nan=math.inf, posinf=math.inf).tolist(), its[0]

    losses = [solved(number, STRENGTHS[2:3])[0][0] for number in range(len(tasks))]
    best = int(np.argmin(losses))
    of_strengths, layers = solved(best, STRENGTHS)
    losses[best], chosen = min(of_strengths), int(np.argmin(of_strengths))
    _, weight, bias = layers[chosen]
    if len(parts) > 1:
        strength, whole = STRENGTHS[chosen : chosen + 1], (learned, learned)
        _, weight, bias = next(_solutions(tasks[best], start, whole, best, strength, each_seconds))
    if not (math.isfinite(losses[best]) and weight.isfinite().all()):
        return None
    shown = ", ".join(f"{name} {loss:.4f}" for name, loss in zip(names, losses, strict=True))
    seconds = time.monotonic() - began
    rows = f"linear probe of the frozen states of {len(learned):,} rows"
    log(f"{rows}, loss in {how}: {shown} ({seconds:.0f} s); training starts from it")
    return Probe(tasks[best], weight, bias, dict(zip(names, losses, strict=True)), rate, seconds, fingerprint(start))


def beside_frozen(
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
    if run is None or recipe is None or recipe.model.start is None or not (run / FILE).exists():
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
    return scores.beside(FROZEN, evaluated(found.task, module.eval()))


def _head(task: Task, start: Transformer) -> SentenceHead | TokenHead:
    """The head of a task, with the layers that the model to start from has."""
    config, width = task.model(start.config), start.config.output_stack.width
    if config.sentence_head is None:
        assert config.token_head is not None
        return TokenHead(config.token_head, width).eval()
    head = SentenceHead(config.sentence_head, width)
    if head.pooler is not None and start.sentence_head is not None:
        known = start.sentence_head.state_dict()
        head.load_state_dict({**head.state_dict(), **{k: v for k, v in known.items() if not k.startswith("output.")}})
    return head.eval()


@dataclass(frozen=True)
class _Read:
    """Vectors [R, F] of each head, and the labels and weights of their rows as one batch, of one row for tokens;
    `groups` of rows that belong together were read.
    """

    vectors: Sequence[Tensor]
    batch: Batch
    of_tokens: bool
    groups: int = 0

    def __len__(self) -> int:
        return len(self.vectors[0])

    @property
    def examples(self) -> float:
        """The sum of the weights of all texts, or the number of tokens."""
        weights = self.batch.weights.view(-1, self.batch.rows_of_each)[:, 0]
        return float(len(self) if self.of_tokens else weights.sum())

    def folds(self) -> list[tuple[_Read, _Read]]:
        """For each of five parts of the groups of rows, all others and this part."""
        each = self.batch.rows_of_each
        groups = torch.arange(len(self)).view(-1, each)  # [G, C]
        parts = [groups[fold::_FOLDS] for fold in range(min(_FOLDS, len(groups)))]
        # One group alone is measured on what was learned.
        others = [torch.cat([*parts[:fold], *parts[fold + 1 :]] or [groups]) for fold in range(len(parts))]
        return [
            (self._rows(rest.flatten()), self._rows(part.flatten())) for rest, part in zip(others, parts, strict=True)
        ]

    def _rows(self, rows: Tensor) -> _Read:
        labels = {name: of[:, rows] if self.of_tokens else of[rows] for name, of in self.batch.labels.items()}
        weights = self.batch.weights if self.of_tokens else self.batch.weights[rows]
        batch = replace(self.batch, labels=labels, weights=weights)
        return _Read([each[rows] for each in self.vectors], batch, self.of_tokens)


def _read(
    start: Transformer, heads: Sequence[Any], feed: TaskFeed, machine: Machine, rows: int, seconds: float
) -> _Read:
    """What enters the last layer of each head, of so many rows of an epoch, or of as many as are read in the time."""
    of_tokens, ends, count, groups = isinstance(heads[0], TokenHead), time.monotonic() + seconds, 0, 0
    found: list[list[Tensor]] = [[] for _ in heads]
    labels: dict[str, list[Tensor]] = {}
    weights: list[Tensor] = []
    most = min(rows, _NUMBERS // max(len(heads) * start.config.output_stack.width, _outputs(feed.task, start)))
    with evaluating(start), machine.context():
        for batch in map(feed.batch, range(math.ceil(feed.steps_per_epoch))):
            states = start(batch.inputs, heads=()).states  # [B, S, F]
            real = batch.weights.view(-1, batch.rows_of_each)[:, 0] > 0  # [G]
            groups += int(real.sum())
            counted = real.repeat_interleave(batch.rows_of_each)  # [B]
            if of_tokens:
                counted = counted[:, None] & (next(iter(batch.labels.values())) != IGNORED)  # [B, S]
            for head, its in zip(heads, found, strict=True):
                its.append((states if of_tokens else _pooled(head, states, batch))[counted].float())  # [r, F]
            for name, of in batch.labels.items():
                labels.setdefault(name, []).append(of[counted])
            weights.append(torch.ones(0) if of_tokens else batch.weights[counted])
            count += len(found[0][-1])
            if count >= most or time.monotonic() > ends:
                break
    joined = {name: torch.cat(of) for name, of in labels.items()}  # [R], or [R, M] of sets
    if of_tokens:
        joined = {name: of[None] for name, of in joined.items()}  # [1, R]
    batch = replace(batch, labels=joined, weights=torch.ones(1) if of_tokens else torch.cat(weights))
    return _Read([torch.cat(its) for its in found], batch, of_tokens, groups)


def _pooled(head: SentenceHead, states: Tensor, batch: Batch) -> Tensor:
    """What enters the last layer: [B, S, W] to [B, W]."""
    pooled = head.vector(states, batch.inputs.real)  # [B, W]
    return pooled if head.pooler is None else head.norm(head.activation(head.pooler(pooled)))


def _solutions(
    task: Task, start: Transformer, part: tuple[_Read, _Read], number: int, strengths: Sequence[float], seconds: float
) -> Iterator[tuple[float, Tensor, Tensor]]:
    """For each strength the mean loss on the second of the part, and the layer fitted on the first in these seconds."""
    learned, measured = part
    vectors = learned.vectors[number]  # [R, F]
    mean, spread = vectors.mean(dim=0), vectors.std(dim=0, correction=0).clamp(min=1e-6)  # [F]
    vectors, others = (vectors - mean) / spread, (measured.vectors[number] - mean) / spread
    outputs = _outputs(task, start)
    weight = torch.zeros(outputs, vectors.shape[1], requires_grad=True)  # [L, F]
    bias = torch.zeros(outputs, requires_grad=True)  # [L]
    loss_of, examples = [_mean_loss(task, start, each) for each in part], learned.examples
    for strength in strengths:
        optimizer = torch.optim.LBFGS([weight, bias], max_iter=_AT_ONCE, history_size=10, line_search_fn="strong_wolfe")

        def closure(decay: float = 0.5 / (strength * examples), optimizer: Any = optimizer) -> Tensor:
            optimizer.zero_grad()
            loss = loss_of[0](vectors @ weight.T + bias) + decay * weight.square().sum()
            loss.backward()
            return loss

        ends = time.monotonic() + seconds
        for _ in range(0, _STEPS, _AT_ONCE):
            optimizer.step(closure)
            if time.monotonic() > ends:
                break
        with torch.no_grad():
            loss = float(loss_of[1](others @ weight.T + bias))
            own = weight / spread  # [L, F]
            yield loss, own.clone(), bias - own @ mean


def _outputs(task: Task, start: Transformer) -> int:
    config = task.model(start.config)
    return next(head.labels for head in (config.sentence_head, config.token_head) if head is not None)


def _mean_loss(task: Task, start: Transformer, read: _Read) -> Callable[[Tensor], Tensor]:
    """The task's own loss of logits [R, L], for each unit of the weights."""
    batch, states, examples = read.batch, torch.zeros(0), read.examples

    def loss(logits: Tensor) -> Tensor:
        if read.of_tokens:
            output = Output(states=states, token_logits=logits[None])  # [1, R, L]
        else:
            output = Output(states=states, sentence_logits=logits)  # [R, L]
        return sum(task.losses_of(start, output, batch).values(), logits.new_zeros(())) / examples

    return loss
