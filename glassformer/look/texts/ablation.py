"""What a model loses with one head switched off, for every head of one batch. What comes before the head is computed
once: a run begins again at the head's block.

B rows · S tokens · N scored tokens · V vocabulary · L labels · W width
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

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
    """A batch and what is asked of it: `labels` [N] are the right tokens at `scored_at` [N], flat indices into B·S, as
    the head's own side counts them; None where no words are predicted.
    """

    inputs: Inputs
    decoder_inputs: Inputs | None = None
    scored_at: Tensor | None = None
    labels: Tensor | None = None


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
    """One batch of a model, begun again at any of its blocks. Nothing but the head that is off is computed otherwise
    than by the model itself.
    """

    model: Transformer
    asked: Asked
    off: HeadOf | None = None
    entering: dict[str, Tensor] = field(default_factory=dict)
    encoder_context: Context | None = None
    decoder_context: Context | None = None

    def states(self) -> Tensor:
        """The last states of a whole run, [B, S, W]; what enters each block is kept for the runs after it."""
        model, inputs = self.model, self.asked.inputs
        if model.encoder is not None:
            x, self.encoder_context = embedded(model.encoder, inputs, None, None)
            x = self.through("encoder", model.encoder, x, self.encoder_context, keep=True)
            if model.decoder is None:
                return x
            return self.decode(x, keep=True)
        assert model.decoder is not None
        x, self.decoder_context = embedded(model.decoder, inputs, None, None)
        return self.through("decoder", model.decoder, x, self.decoder_context, keep=True)

    def without(self, head: HeadOf) -> Tensor:
        """The last states with one head off, from the head's block on, [B, S, W]."""
        side, _, index, _ = head.attention.split(".")
        self.off = head
        try:
            model, begin = self.model, int(index)
            if side == "decoder":
                assert model.decoder is not None
                assert self.decoder_context is not None
                return self.through("decoder", model.decoder, None, self.decoder_context, begin=begin)
            assert model.encoder is not None
            assert self.encoder_context is not None
            x = self.through("encoder", model.encoder, None, self.encoder_context, begin=begin)
            return x if model.decoder is None else self.decode(x, keep=False)
        finally:
            self.off = None

    def decode(self, memory: Tensor, *, keep: bool) -> Tensor:
        """The decoder on this memory."""
        decoder, own = self.model.decoder, self.asked.decoder_inputs
        assert decoder is not None
        assert own is not None
        if keep:
            x, self.decoder_context = embedded(decoder, own, memory, self.asked.inputs)
            return self.through("decoder", decoder, x, self.decoder_context, keep=True)
        assert self.decoder_context is not None
        return self.through("decoder", decoder, None, replace(self.decoder_context, memory=memory))

    def through(
        self, side: str, stack: Stack, x: Tensor | None, context: Context, *, begin: int = 0, keep: bool = False
    ) -> Tensor:
        """The blocks from `begin` on and the last norm; without `x` from what is known to enter that block."""
        x = self.entering[f"{side}.{begin}"] if x is None else x
        for index, block in enumerate(stack.blocks):
            if index < begin:
                continue
            if keep:
                self.entering[f"{side}.{index}"] = x
            x = block(x, context)
        found: Tensor = stack.norm(x)
        return found

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


def embedded(stack: Stack, inputs: Inputs, memory: Tensor | None, source: Inputs | None) -> tuple[Tensor, Context]:
    """What enters the first block, and what all blocks know."""
    real, documents = (None, None) if source is None else (source.real, source.documents)
    context, positions = stack.context(inputs, None, memory, real, None, documents)
    x = stack.embed(inputs.ids, inputs.vectors, positions, inputs.segments, inputs.masked_words, None)
    return x, context


# ------------------------------------------------------------------- what is measured


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
            return self.moved_answers(states)
        return self.moved_vectors(states)

    @property
    def answers(self) -> bool:
        """Whether the model answers with one of several labels of a text."""
        head = self.model.config.sentence_head
        return head is not None and head.probabilities == "softmax"

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

    def moved_answers(self, states: Tensor) -> Tensor:
        """Kullback-Leibler divergence of the labels' probabilities from those of the whole model, in nats."""
        head = self.model.sentence_head
        assert head is not None
        logs = head(states, self.answering.real, None).double().log_softmax(-1).cpu()  # [B, L]
        if self.whole is None:
            self.whole = logs
        return (self.whole.exp() * (self.whole - logs)).sum(-1)

    def moved_vectors(self, states: Tensor) -> Tensor:
        """1 − the cosine of the text's vector, the mean of its states, with that of the whole model."""
        real = self.answering.real
        weights = torch.ones(states.shape[:2]) if real is None else real.cpu().float()  # [B, S]
        vectors = torch.einsum("bsw,bs->bw", states.double().cpu(), weights.double())
        if self.whole is None:
            self.whole = vectors
        return 1 - torch.cosine_similarity(self.whole, vectors, dim=-1)


def ablate(model: Transformer, asked: Asked, advance: Callable[[int], None] | None = None) -> tuple[Tensor, Tensor]:
    """What is measured of one batch with all heads and then without each, [B, 1 + heads], and what each row counts,
    [B]; float64. The heads are those of `heads_of_model`; `advance` is called after each.
    """
    run, ruler = Resumed(model, asked), Ruler(model, asked)
    with run.watched():
        found = [ruler.of(run.states())]
        for head in heads_of_model(model):
            found.append(ruler.of(run.without(head)))
            if advance is not None:
                advance(1)
    return torch.stack(found, 1), ruler.counts
