"""What a model loses with one head switched off, for every head of one batch. What comes before the head is computed
once: a run begins again at the head's block.

B rows · S tokens · N scored tokens · V vocabulary · L labels · W width
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from glassformer.look.trace.watch import watch
from glassformer.models.inputs import Inputs
from glassformer.models.stack import Stack
from glassformer.models.transformer import Transformer
from glassformer.parts.context import Context


class HeadOf(NamedTuple):
    """One head: `attention` is `encoder.blocks.0.self_attention`."""

    attention: str
    head: int


@dataclass(frozen=True)
class Asked:
    """A batch; `labels` [N] are the right tokens at `scored_at` [N], flat indices into the head's B·S, if any. Scores
    of labels of texts are divided by `temperature`.
    """

    inputs: Inputs
    decoder_inputs: Inputs | None = None
    scored_at: Tensor | None = None
    labels: Tensor | None = None
    temperature: float = 1.0


def heads_of_model(model: Transformer) -> list[HeadOf]:
    """Every head in the order of the model, self-attention before cross-attention in each block."""
    found: list[HeadOf] = []
    for side in ("encoder", "decoder"):
        stack = getattr(model.config, side)
        for index, block in enumerate(() if stack is None else stack.blocks):
            for name in ("self_attention", "cross_attention"):
                part = getattr(block, name)
                path = f"{side}.blocks.{index}.{name}"
                found.extend(HeadOf(path, head) for head in range(0 if part is None else part.body.heads))
    return found


@dataclass
class Resumed:
    """One batch of a model, begun again at any of its blocks, by the model itself: all but the head that is off. `kept`
    has of each stack what all its blocks know, and what enters each of them, and its last norm.
    """

    model: Transformer
    asked: Asked
    off: HeadOf | None = None
    kept: dict[str, tuple[Context, list[Tensor]]] = field(default_factory=dict)

    def states(self) -> Tensor:
        """The last states of a whole run, [B, S, W]; what enters each block is kept for the runs after it."""
        inputs, own = self.asked.inputs, self.asked.decoder_inputs
        found = None if self.model.encoder is None else self.enter("encoder", inputs)
        if found is None:
            return self.enter("decoder", inputs)
        return found if own is None else self.enter("decoder", own, found, inputs)

    def enter(self, side: str, inputs: Inputs, memory: Tensor | None = None, source: Inputs | None = None) -> Tensor:
        """The last states of a stack; `memory` [B, K, W] is what the encoder has made of `source`."""
        stack: Stack = getattr(self.model, side)
        real, documents = (None, None) if source is None else (source.real, source.documents)
        x, context = stack.enter(inputs, None, memory, real, None, documents)
        self.kept[side] = context, list(accumulate(stack.blocks, lambda x, block: block(x, context), initial=x))
        return self.again(side, len(stack.blocks))

    def again(self, side: str, block: int, memory: Tensor | None = None) -> Tensor:
        """The last states of a run that begins again at a block, [B, S, W], with another memory where one is given."""
        stack: Stack = getattr(self.model, side)
        context, entering = self.kept[side]
        return stack.run_from(block, entering[block], context if memory is None else replace(context, memory=memory))

    def without(self, head: HeadOf) -> Tensor:
        """The last states with one head off, from the head's block on, [B, S, W]."""
        side, _, block, _ = head.attention.split(".")
        self.off = head
        try:
            found = self.again(side, int(block))
            # The decoder reads other states of the encoder, and is run whole.
            return self.again("decoder", 0, found) if side == "encoder" and "decoder" in self.kept else found
        finally:
            self.off = None

    def change(self, name: str, tensor: Tensor) -> Tensor:
        """The mixed values [B, H, Q, E] with 0 for the head that is off: as `gf.zero_head` has them."""
        if self.off is None or name != f"{self.off.attention}.mixed":
            return tensor
        tensor = tensor.clone()
        tensor[:, self.off.head] = 0.0
        return tensor

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Inside, the head that is off gives nothing; the fused kernels stay."""
        with torch.no_grad(), watch(self.model, ["*.mixed"], change=self.change):
            yield


@dataclass
class Ruler:
    """Measures states [B, S, W] row by row. The first states that it sees are those of the whole model."""

    model: Transformer
    asked: Asked
    whole: Tensor | None = None

    @cached_property
    def answering(self) -> Inputs:
        """The side whose states the heads read."""
        other = self.asked.decoder_inputs
        return self.asked.inputs if other is None else other

    def of(self, states: Tensor) -> Tensor:
        """One number for each row, [B] in float64: a loss, summed over its scored tokens, or a distance."""
        if self.asked.labels is not None:
            return self.losses(states)
        if self.answers:
            # Kullback-Leibler divergence of the labels' probabilities from those of the whole model, in nats.
            head, config = self.model.sentence_head, self.model.config.sentence_head
            assert head is not None
            assert config is not None
            scores = head(states, replace(self.answering, dropout_key=None)).double().cpu() / self.asked.temperature
            both = logsigmoid(torch.cat([scores, -scores], -1))  # [B, 2 L]: each of several labels is there or not
            logs = both if config.several else scores.log_softmax(-1)  # [B, 2 L] or [B, L]
            if self.whole is None:
                self.whole = logs
            return (self.whole.exp() * (self.whole - logs)).sum(-1)
        # 1 − the cosine of the text's vector, the mean of its states, with that of the whole model.
        real = self.answering.real
        weights = torch.ones(states.shape[:2]) if real is None else real.cpu().float()  # [B, S]
        vectors = torch.einsum("bsw,bs->bw", states.double().cpu(), weights.double())
        if self.whole is None:
            self.whole = vectors
        return 1 - torch.cosine_similarity(self.whole, vectors, dim=-1)

    @property
    def answers(self) -> bool:
        """Whether the model answers with labels of a text."""
        head = self.model.config.sentence_head
        return head is not None and head.probabilities is not None

    @property
    def counts(self) -> Tensor:
        """What each row counts: its scored tokens, or 1. [B] in float64."""
        rows, tokens = self.answering.shape
        if self.asked.scored_at is None or self.asked.labels is None:
            return torch.ones(rows, dtype=torch.float64)
        return torch.bincount(self.asked.scored_at.cpu() // tokens, minlength=rows).double()

    def losses(self, states: Tensor) -> Tensor:
        """Cross-entropy of the right tokens, in nats."""
        labels, at, head = self.asked.labels, self.asked.scored_at, self.model.head
        assert labels is not None
        assert at is not None
        assert head is not None
        logits = head(states.flatten(0, 1).index_select(0, at), self.model.word_table)  # [N, V]
        losses = torch.nn.functional.cross_entropy(logits.float(), labels, reduction="none")  # [N]
        rows = torch.zeros(len(states), dtype=torch.float64, device=losses.device)
        return rows.index_add(0, at // states.shape[1], losses.double()).cpu()


def ablate(model: Transformer, asked: Asked, advance: Callable[[int], None] | None = None) -> tuple[Tensor, Tensor]:
    """What is measured with all heads and without each, [B, 1 + heads], and what each row counts, [B]; float64."""
    run, ruler = Resumed(model, asked), Ruler(model, asked)
    with run.watched():
        found = [ruler.of(run.states())]
        for head in heads_of_model(model):
            found.append(ruler.of(run.without(head)))
            if advance is not None:
                advance(1)
    return torch.stack(found, 1), ruler.counts
