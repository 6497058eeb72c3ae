"""Block and Stack: the layers of an encoder or a decoder. The config decides which; the code is the same.

B sentences · S tokens · Q query tokens · K key tokens · A asked tokens · W width
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from glassformer.base.errors import ShapeError
from glassformer.config import BlockConfig, StackConfig
from glassformer.models.inputs import Inputs
from glassformer.parts.attention import Attention, CrossAttention
from glassformer.parts.cache import KeyValueCache
from glassformer.parts.context import Context
from glassformer.parts.dropout import Dropout, DropoutKey
from glassformer.parts.embed import Embed
from glassformer.parts.feed_forward import build_feed_forward
from glassformer.parts.mask import Mask, Side, causal, custom, document_mask, padding, visible, window
from glassformer.parts.norm import Sublayer, build_norm
from glassformer.parts.position import RelativeBias, rotary_key, rotary_tables, turns_of


class Block(nn.Module):
    """Self-attention, cross-attention, feed-forward network: each a sublayer, each optional but the first."""

    def __init__(self, config: BlockConfig, width: int) -> None:
        super().__init__()
        self.self_attention = Sublayer(config.self_attention, width, Attention(config.self_attention.body, width))
        self.cross_attention = (
            None
            if config.cross_attention is None
            else Sublayer(config.cross_attention, width, CrossAttention(config.cross_attention.body, width))
        )
        self.feed_forward = (
            None
            if config.feed_forward is None
            else Sublayer(config.feed_forward, width, build_feed_forward(config.feed_forward.body, width))
        )

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """[B, S, W] to [B, S, W], or to [B, A, W] where only some tokens are asked for."""
        x = self.self_attention(x, context)
        context = context.asked_alone()
        for sublayer in (self.cross_attention, self.feed_forward):
            if sublayer is not None:
                x = sublayer(x, context)
        return x


class Stack(nn.Module):
    """Embedding, blocks, last norm. Masks, positions and rotary tables are made here, once per forward."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.embed = Embed(config.embed, config.width)
        self.blocks = nn.ModuleList(Block(block, config.width) for block in config.blocks)
        self.norm = build_norm(config.norm, config.width)
        self.dropout = Dropout(config.dropout)
        attentions = [block.self_attention.body for block in config.blocks]
        self.relative_bias = (
            None
            if config.relative_bias is None
            else RelativeBias(config.relative_bias, attentions[0].heads, both_directions=not config.causal)
        )
        self.reach = reach_rule(config)
        self.hides = config.hide_masked
        self.windows = tuple(dict.fromkeys(attention.window for attention in attentions))
        self.rotary = {
            rotary_key(a.rotary, a.query_size): turns_of(a.rotary, a.query_size)
            for a in attentions
            if a.rotary is not None
        }
        self.max_length = config.max_length
        self.elsewhere: Callable[[Inputs, bool], Tensor | None] = _nowhere
        self.recompute = False  # in training, each block runs a second time in the backward pass, for less memory

    def forward(
        self,
        inputs: Inputs,
        *,
        cache: KeyValueCache | None = None,
        memory: Tensor | None = None,
        memory_real: Tensor | None = None,
        memory_documents: Tensor | None = None,
        asked: Tensor | None = None,
        cross_scores: list[Tensor] | None = None,
    ) -> Tensor:
        """Tokens to states [B, S, W]. Of the tokens `asked` alone, indices [B, A] in each row, to [B, A, W]: the last
        block then computes no other token's query and feed-forward network. Where the documents of the memory's tokens
        are given, [B, K], a token looks at the memory of its own document alone. To a list `cross_scores` the last
        block adds the scores of its cross-attention. Where the hook `elsewhere` returns states of the inputs, these
        are used, and nothing is computed here.
        """
        inputs.check(keys=None if cache is None else cache.keys(inputs.shape[1]))
        known = self.elsewhere(inputs, cache is None and memory is None)  # [B, S, W]
        if known is not None:
            return known if asked is None else known[torch.arange(len(known))[:, None], asked]  # [B, A, W]
        dropout_key = self.dropout_key(inputs)
        x, context = self.enter(inputs, cache, memory, memory_real, dropout_key, memory_documents)
        return self.run_from(0, x, context, cache=cache, asked=asked, cross_scores=cross_scores)

    def enter(
        self,
        inputs: Inputs,
        cache: KeyValueCache | None,
        memory: Tensor | None,
        memory_real: Tensor | None,
        dropout_key: DropoutKey | None,
        memory_documents: Tensor | None = None,
    ) -> tuple[Tensor, Context]:
        """What enters the first block, [B, S, W], and what all blocks know."""
        context, positions = self.context(inputs, cache, memory, memory_real, dropout_key, memory_documents)
        x = self.embed(inputs.ids, inputs.vectors, positions, inputs.segments, inputs.masked_words, dropout_key)
        return x, context

    def run_from(
        self,
        first: int,
        x: Tensor,
        context: Context,
        *,
        cache: KeyValueCache | None = None,
        asked: Tensor | None = None,
        cross_scores: list[Tensor] | None = None,
    ) -> Tensor:
        """The states of `forward` from what enters block `first` (from 0; the number of blocks: the last norm alone),
        [B, S, W], and what `enter` says all blocks know.
        """
        recompute = self.recompute and self.training  # taps are watched in eval mode only
        for index, block in enumerate(self.blocks):
            if index < first:
                continue
            seen = context if cache is None else replace(context, cache=cache.layers[index])
            if asked is not None and index == len(self.blocks) - 1:
                seen = seen.asking(asked)
            if cross_scores is not None and index == len(self.blocks) - 1:
                seen = replace(seen, cross_scores=cross_scores)
                recompute = False  # a second run would add its scores again
            x = checkpoint(block, x, seen, use_reentrant=False) if recompute else block(x, seen)
        return self.dropout(self.norm(x), context.dropout_key, asked)

    def layers(self, inputs: Inputs, *, last: int | None = None) -> Iterator[Tensor]:
        """The states that the first block reads, then those that each block gives, [B, S, W] each, up to block `last`
        (from 1; 0: no block runs, None: all). Those of the last block of all come out of the stack's own norm, as
        `forward` gives them, and as `hidden_states` of transformers has them. In eval mode.
        """
        inputs.check()
        x, context = self.enter(inputs, None, None, None, None)
        yield x
        for number, block in enumerate(self.blocks[:last], start=1):
            x = block(x, context)
            yield self.norm(x) if number == len(self.blocks) else x

    def dropout_key(self, inputs: Inputs) -> DropoutKey | None:
        """The step's dropout key; without one, a fresh one from torch's generator. None in eval mode."""
        if not self.training:
            return None
        return inputs.dropout_key or DropoutKey.from_torch(inputs.shape[0], inputs.device)

    def context(
        self,
        inputs: Inputs,
        cache: KeyValueCache | None,
        memory: Tensor | None,
        memory_real: Tensor | None,
        dropout_key: DropoutKey | None,
        memory_documents: Tensor | None = None,
    ) -> tuple[Context, Tensor]:
        """What the layers need to know, and the position of each token, [B or 1, S]."""
        batch, tokens = inputs.shape
        device = inputs.device
        counted = None if cache is None else cache.facts.get("real")
        reach = tokens if cache is None else cache.reach(tokens) if self.max_length is not None else 0
        if self.max_length is not None and reach > self.max_length:
            raise ShapeError(
                f"this model reads at most {self.max_length} tokens",
                got=f"{reach}",
                do="cut the text into windows, or build the model with a larger max_length",
            )
        facts = inputs.facts
        if cache is None:
            newest = index = torch.arange(tokens, device=device)[None]  # [1, S]
        else:
            index, newest = cache.places(tokens, device)  # [1 or B, K], [1 or B, S]
        # The last check: a refused step must leave the cache as it was.
        known = facts if cache is None else cache.advance(batch, tokens, facts, device)
        positions = _count(newest, inputs.real, counted) if inputs.positions is None else inputs.positions
        key, query = Side(index, **known), Side(newest, **facts)
        # Where nothing is masked by choice every word sees at least itself: then no second mask is made.
        chooses = self.hides or inputs.may_look is not None
        context = Context(
            masks={size: _per_head(self.mask(size, inputs)(query, key)) for size in self.windows},
            reachable={size: _per_head(self.reachable(size)(query, key)) for size in self.windows if chooses},
            rotary={key: rotary_tables(positions, turns) for key, turns in self.rotary.items()},
            bias=None if self.relative_bias is None else self.relative_bias(query.index, key.index),
            memory=memory,
            memory_mask=_per_head(_memory_mask(memory_real, memory_documents, inputs.documents)),
            dropout_key=dropout_key,
        )
        return context, positions

    def reachable(self, size: int | None) -> Mask:
        """Who could look at whom in the layers of this window if nothing were masked by choice."""
        return self.reach if size is None else self.reach & window(size)

    def mask(self, size: int | None, inputs: Inputs) -> Mask:
        """Who may look at whom in the layers of this window: at what is in reach and not masked by choice."""
        rule = self.reachable(size) & visible() if self.hides else self.reachable(size)
        return rule if inputs.may_look is None else rule & custom(inputs.may_look)


def _nowhere(inputs: Inputs, alone: bool) -> Tensor | None:
    """The usual `elsewhere` of a stack: its states are computed by itself."""
    return None


def reach_rule(config: StackConfig) -> Mask:
    """Who is in reach of whom in this stack: never padding or another document, nor the future where it is causal."""
    rule = padding() & document_mask()
    return rule & causal() if config.causal else rule


def _memory_mask(real: Tensor | None, documents: Tensor | None, own: Tensor | None) -> Tensor | None:
    """Who may look at which token of the memory, [B, S or 1, K]: never at padding or at another document."""
    if documents is None or own is None:
        return None if real is None else real[:, None, :]  # [B, 1, K]
    same = own[:, :, None] == documents[:, None, :]  # [B, S, K]
    return same if real is None else same & real[:, None, :]


def _per_head(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else mask[:, None]  # [B or 1, 1, Q or 1, K]


def _count(index: Tensor, real: Tensor | None, counted: Tensor | None) -> Tensor:
    """Positions of the newest tokens: padding is not counted, wherever it is. [B or 1, S]."""
    if real is None and counted is None:
        return index
    newest = torch.ones_like(index) if real is None else real.long()
    start = index[:, :1] if counted is None else counted.sum(dim=1, keepdim=True)
    return (newest.cumsum(dim=1) - 1 + start).clamp(min=0)
