"""What the last layer of a head reads from a model that is not trained, and the best linear layers on it.

R rows, of a token task its labelled tokens · F numbers that enter the last layer · L outputs of it
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import torch
from torch import Tensor

from glassformer.data.batches.batch import Integers
from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.heads import SentenceHead, TokenHead
from glassformer.models.inputs import Batch, Output
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import Machine
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.task import Task

# The most numbers of the vectors or logits of all rows that one call reads.
_NUMBERS = 1 << 26
# Parts of the rows for cross-validation.
_FOLDS = 5
# Steps to fit a layer, and how many between two looks at the clock.
_STEPS, _AT_ONCE = 60, 6
# Operations a second of a clock that counts them: about those of two cores with AVX2; times as many in bfloat16, and on
# another device than the processor.
_RATE, _BFLOAT16, _DEVICE = 1e11, 4, 1000


class Clock:
    """Seconds that have passed: of the machine's clock, or with `counted` those that the operations take at a fixed
    rate, so that what is bounded by them is the same in each run.
    """

    def __init__(self, machine: Machine, *, counted: bool) -> None:
        self.counted, self._operations, self._began = counted, 0.0, monotonic()
        self._rate = _RATE * (_DEVICE if machine.device.type != "cpu" else _BFLOAT16 if machine.autocast else 1)

    def spend(self, operations: float) -> None:
        self._operations += operations

    @property
    def now(self) -> float:
        return self._operations / self._rate if self.counted else monotonic() - self._began


def head_of(task: Task, start: Transformer) -> SentenceHead | TokenHead:
    """The head of a task, with the layers that the model to start from has."""
    config, width = task.model(start.config), start.config.output_stack.width
    if config.sentence_head is None:
        assert config.token_head is not None
        return TokenHead(config.token_head, width).eval()
    head = SentenceHead(config.sentence_head, width)
    if head.pooler is not None and start.sentence_head is not None:
        known = start.sentence_head.state_dict()
        own = {name: of for name, of in known.items() if not name.startswith(("output.", "words."))}
        head.load_state_dict({**head.state_dict(), **own})
    return head.eval()


@dataclass(frozen=True)
class Read:
    """Vectors [R, F] of each head, labels and weights as one batch, and for each row the number of its group in the
    source: rows that belong together, of a token task those of a text.
    """

    vectors: Sequence[Tensor]
    batch: Batch
    of_tokens: bool
    groups: Tensor  # [R]

    def __len__(self) -> int:
        return len(self.vectors[0])

    @property
    def examples(self) -> float:
        """The sum of the weights of all texts, or the number of tokens."""
        weights = self.batch.weights.view(-1, self.batch.rows_of_each)[:, 0]
        return float(len(self) if self.of_tokens else weights.sum())

    @property
    def different_labels(self) -> int:
        return max(len(of.unique()) for of in self.batch.labels.values())

    def folds(self, copies: Integers) -> list[tuple[Read, Read]]:
        """For each of five parts of the rows, all others and this part. Groups with the same number in `copies` are in
        one part: what was learned from a copy of a text says nothing of other texts.
        """
        texts, number = torch.from_numpy(copies)[self.groups].unique(return_inverse=True)  # [T], [R]
        # Drawn at random: in a file the labels may follow each other in turn, and a part would then have one of them.
        drawn = torch.randperm(len(texts), generator=torch.Generator().manual_seed(0))[number]  # [R]
        parts = [drawn % _FOLDS == fold for fold in range(min(_FOLDS, len(texts)))]  # [R] each
        # One text alone is measured on what was learned.
        others = [~part if len(parts) > 1 else part for part in parts]
        return [
            (self._rows(rest.nonzero()[:, 0]), self._rows(part.nonzero()[:, 0]))
            for rest, part in zip(others, parts, strict=True)
        ]

    def known_to(self, learned: Read) -> Read:
        """Without rows whose label no row of `learned` has: their loss depends only on the steps of the fit.
        All rows where labels are numbers, sets or places, or where none would be left.
        """
        known = torch.ones(len(self), dtype=torch.bool)  # [R]
        for name, of in self.batch.labels.items():
            if self.batch.rows_of_each == 1 and not of.is_floating_point() and of.numel() == len(self):
                known &= torch.isin(of.flatten(), learned.batch.labels[name])
        return self if known.all() or not known.any() else self._rows(known.nonzero()[:, 0])

    def also(self, more: Read | None) -> Read:
        """These rows and more of them, of whole texts."""
        if more is None:
            return self
        vectors = [torch.cat(its) for its in zip(self.vectors, more.vectors, strict=True)]
        labels = {name: torch.cat([of, more.batch.labels[name]]) for name, of in self.batch.labels.items()}
        weights = torch.cat([self.batch.weights, more.batch.weights])
        batch, groups = replace(self.batch, labels=labels, weights=weights), torch.cat([self.groups, more.groups])
        return Read(vectors, batch, self.of_tokens, groups)

    def _rows(self, rows: Tensor) -> Read:
        labels = {name: of[:, rows] if self.of_tokens else of[rows] for name, of in self.batch.labels.items()}
        weights = self.batch.weights if self.of_tokens else self.batch.weights[rows]
        batch = replace(self.batch, labels=labels, weights=weights)
        return Read([each[rows] for each in self.vectors], batch, self.of_tokens, self.groups[rows])


def read_states(
    start: Transformer, heads: Sequence[Any], feed: TaskFeed, machine: Machine, rows: int, seconds: float, clock: Clock
) -> Read:
    """What enters the last layer of each head, of so many rows of an epoch, or of as many as are read in the time."""
    of_tokens, ends, count = isinstance(heads[0], TokenHead), clock.now + seconds, 0
    stacks = [each for each in (start.encoder, start.decoder) if each is not None]
    of_each = 2 * sum(each.numel() for stack in stacks for each in stack.blocks.parameters())  # operations for a token
    found: list[list[Tensor]] = [[] for _ in heads]
    labels: dict[str, list[Tensor]] = {}
    weights: list[Tensor] = []
    groups: list[Tensor] = []
    entering = sum(head.output.in_features for head in heads)
    most = min(rows, _NUMBERS // max(entering, _outputs(feed.task, start)))
    with evaluating(start), machine.context():
        for step in range(math.ceil(feed.steps_per_epoch)):
            batch = feed.batch(step)
            states = start(batch.inputs, heads=()).states  # [B, S, F]
            clock.spend(of_each * math.prod(batch.inputs.shape))
            real = batch.weights.view(-1, batch.rows_of_each)[:, 0] > 0  # [G]
            counted = real.repeat_interleave(batch.rows_of_each)  # [B]
            number = torch.from_numpy(feed.examples(step)).repeat_interleave(batch.rows_of_each)  # [r]
            if of_tokens:
                counted = counted[:, None] & (next(iter(batch.labels.values())) != IGNORED)  # [B, S]
                number = number.repeat_interleave(counted[: len(number)].sum(dim=1))  # [r]
            groups.append(number)
            for head, its in zip(heads, found, strict=True):
                of = states if of_tokens else head.pooled(states, batch.inputs.real, batch.inputs.segments)
                its.append(of[counted].float())  # [r, F]
            for name, of in batch.labels.items():
                labels.setdefault(name, []).append(of[counted])
            weights.append(torch.ones(0) if of_tokens else batch.weights[counted])
            count += len(found[0][-1])
            if count >= most or clock.now > ends:
                break
    joined = {name: torch.cat(of) for name, of in labels.items()}  # [R], or [R, M] of sets
    if of_tokens:
        joined = {name: of[None] for name, of in joined.items()}  # [1, R]
    batch = replace(batch, labels=joined, weights=torch.ones(1) if of_tokens else torch.cat(weights))
    return Read([torch.cat(its) for its in found], batch, of_tokens, torch.cat(groups))


def solutions(
    task: Task,
    start: Transformer,
    part: tuple[Read, Read],
    number: int,
    strengths: Sequence[float],
    seconds: float,
    clock: Clock,
) -> Iterator[tuple[float, Tensor, Tensor]]:
    """For each strength the mean loss on the second of the part, and the layer fitted on the first in these seconds."""
    learned, measured = part[0], part[1].known_to(part[0])
    vectors = learned.vectors[number]  # [R, F]
    mean, spread = vectors.mean(dim=0), vectors.std(dim=0, correction=0)  # [F]
    # A number that is nearly the same in all rows would have a large weight, by which tuning gets out of hand.
    spread = spread.clamp(min=max(float(spread.median()), 1e-6))  # [F]
    vectors, others = (vectors - mean) / spread, (measured.vectors[number] - mean) / spread
    outputs = _outputs(task, start)
    weight = torch.zeros(outputs, vectors.shape[1], requires_grad=True)  # [L, F]
    bias = torch.zeros(outputs, requires_grad=True)  # [L]
    loss_of, examples = [_mean_loss(task, start, each) for each in (learned, measured)], learned.examples
    for strength in strengths:
        optimizer = torch.optim.LBFGS([weight, bias], max_iter=_AT_ONCE, history_size=10, line_search_fn="strong_wolfe")

        def closure(decay: float = 0.5 / (strength * examples), optimizer: Any = optimizer) -> Tensor:
            optimizer.zero_grad()
            loss = loss_of[0](vectors @ weight.T + bias) + decay * weight.square().sum()
            loss.backward()
            clock.spend(4 * vectors.numel() * outputs)  # the product and that of its gradient
            return loss

        ends = clock.now + seconds
        for _ in range(0, _STEPS, _AT_ONCE):
            optimizer.step(closure)
            if clock.now > ends:
                break
        with torch.no_grad():
            loss = float(loss_of[1](others @ weight.T + bias))
            own = weight / spread  # [L, F]
            yield loss, own.clone(), bias - own @ mean


def _outputs(task: Task, start: Transformer) -> int:
    config = task.model(start.config)
    return next(head.labels for head in (config.sentence_head, config.token_head) if head is not None)


def _mean_loss(task: Task, start: Transformer, read: Read) -> Callable[[Tensor], Tensor]:
    """The task's own loss of logits [R, L], for each unit of the weights."""
    batch, states, examples = read.batch, torch.zeros(0), read.examples

    def loss(logits: Tensor) -> Tensor:
        if read.of_tokens:
            output = Output(states=states, token_logits=logits[None])  # [1, R, L]
        else:
            output = Output(states=states, sentence_logits=logits)  # [R, L]
        return sum(task.losses_of(start, output, batch).values(), logits.new_zeros(())) / examples

    return loss
