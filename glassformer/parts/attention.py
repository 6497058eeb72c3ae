"""Multi-head attention, as in *Attention Is All You Need*, §3.2.

B sentences · S tokens · Q query tokens · K key tokens · W width
H heads · G key-value heads (G = H unless heads share) · D query and key size · E value size
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.config import AttentionConfig
from glassformer.parts.context import Context
from glassformer.parts.dropout import Dropout
from glassformer.parts.mask import SetFill, build_fill
from glassformer.parts.position import rotary_key, rotate
from glassformer.parts.projection import Projection
from glassformer.parts.tap import tap, wanted

# Keys up to which a processor holds the scores of a training step in bf16 rather than compute them twice.
LARGEST_HELD = 512
INSIDE = ("scores", "scaled", "biased", "may_look", "masked", "weights")


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[B, S, H·D] to [B, H, S, D]."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)  # [B, H, S, D]


def merge_heads(x: Tensor) -> Tensor:
    """[B, H, S, E] to [B, S, H·E]."""
    return x.transpose(1, 2).flatten(2)  # [B, S, H·E]


class Attention(nn.Module):
    """softmax(Q Kᵀ / √D) V for several heads at once, then one projection back to the width. The explicit path below is
    the formula. When nobody looks inside and the mask allows it, one fused kernel computes the same `mixed` without
    ever holding the scores.
    """

    def __init__(self, config: AttentionConfig, width: int) -> None:
        super().__init__()
        self.heads, self.key_value_heads = config.heads, config.key_value_heads
        self.window = config.window
        self.query = Projection(width, config.heads * config.query_size, bias=config.bias)
        self.key = Projection(width, config.key_value_heads * config.query_size, bias=config.bias)
        self.value = Projection(width, config.key_value_heads * config.value_size, bias=config.bias)
        self.output = Projection(config.heads * config.value_size, width, bias=config.output_bias)
        self.scale = (1.0 / math.sqrt(config.query_size) if config.scaled else 1.0) / config.divided_by
        self.scaled = config.scaled or config.divided_by > 1
        self.rotary = None if config.rotary is None else rotary_key(config.rotary, config.query_size)
        self.fill = build_fill(config.fill.rule, config.fill.value)
        self.biased = config.relative_bias
        self.dropout = Dropout(config.dropout)
        self.taps = (
            *("query", "key", "value"),
            *(() if config.rotary is None else ("query_rotated", "key_rotated")),
            *("scores", *(("scaled",) if self.scaled else ()), *(("biased",) if config.relative_bias else ())),
            *("may_look", "masked", "weights", "mixed", "merged", "output"),
        )

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """States [B, S, W] to the attention's output, [B, Q, W]: of all tokens, or of those that are asked for."""
        query, key, value = self.queries_keys_values(x, context)
        may_look = self.may_look(context)
        bias = context.bias if self.biased else None
        explicit = self.must_be_explicit(may_look, context) or (self.training and formula_is_faster(query, key))
        mix = self.explicit if explicit else self.fused
        mixed = tap(self, "mixed", mix(query, key, value, may_look, bias, context))  # [B, H, Q, E]
        merged = tap(self, "merged", merge_heads(mixed))  # [B, Q, H·E]
        output = self.output(merged, context.dropout_key, context.positions_of_dropout)
        return tap(self, "output", output)  # [B, Q, W]

    def queries_keys_values(self, x: Tensor, context: Context) -> tuple[Tensor, Tensor, Tensor]:
        """Three views of the same tokens: what each looks for, offers, and gives."""
        seed = context.dropout_key
        asked = self.query(context.streamed(x), seed, context.positions_of_dropout)
        query = tap(self, "query", split_heads(asked, self.heads))  # [B, H, Q, D]
        key = tap(self, "key", split_heads(self.key(x, seed), self.key_value_heads))  # [B, G, S, D]
        value = tap(self, "value", split_heads(self.value(x, seed), self.key_value_heads))  # [B, G, S, E]
        if self.rotary is not None:
            of_keys = context.rotary[self.rotary]
            of_queries = of_keys if context.query_rotary is None else context.query_rotary[self.rotary]
            query = tap(self, "query_rotated", rotate(query, of_queries))
            key = tap(self, "key_rotated", rotate(key, of_keys))
        if context.cache is not None:
            key, value = context.cache.own.extend(key, value)  # [B, G, K, D], [B, G, K, E]
        return query, key, value

    def may_look(self, context: Context) -> Tensor | None:
        """The mask of this layer, [B or 1, 1, Q or 1, K], True = may look."""
        return context.masks[self.window]

    def fill_within(self, context: Context) -> SetFill:
        """What forbidden scores become: the fill, and minus infinity for what the stack says is out of reach."""
        return self.fill.within(context.reachable.get(self.window))

    def explicit(
        self, query: Tensor, key: Tensor, value: Tensor, may_look: Tensor | None, bias: Tensor | None, context: Context
    ) -> Tensor:
        """The formula, one step a line: [B, H, Q, E]."""
        fill = self.fill_within(context)
        key, value = share_heads(key, self.heads), share_heads(value, self.heads)  # [B, H, K, D], [B, H, K, E]
        scores = tap(self, "scores", query @ key.transpose(-1, -2))  # [B, H, Q, K]
        if self.scaled:
            scores = tap(self, "scaled", scores * self.scale)
        if bias is not None:
            scores = tap(self, "biased", scores + bias)
        if wanted(self, "may_look"):
            shown = torch.ones_like(scores[:1, :1], dtype=torch.bool) if may_look is None else may_look
            may_look = tap(self, "may_look", shown)  # [B or 1, 1, Q or 1, K]
        masked = tap(self, "masked", scores if may_look is None else fill(scores, may_look))
        weights = tap(self, "weights", fill.softmax(masked, may_look))
        return self.dropout(weights, context.dropout_key, context.positions_of_dropout) @ value  # [B, H, Q, E]

    def fused(
        self, query: Tensor, key: Tensor, value: Tensor, may_look: Tensor | None, bias: Tensor | None, context: Context
    ) -> Tensor:
        """The same numbers from one kernel that never holds the scores: [B, H, Q, E]."""
        if may_look is None:
            mask = bias
        else:
            mask = self.fill.kernel_mask(may_look, query) if bias is None else self.fill(bias, may_look)
        share = self.heads != self.key_value_heads
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=self.scale, enable_gqa=share)

    def must_be_explicit(self, may_look: Tensor | None, context: Context) -> bool:
        """Whether the explicit formula is needed: an inner tensor is watched, or the kernel cannot do what is asked."""
        drops = self.training and self.dropout.rate > 0
        return drops or (may_look is not None and not self.fill_within(context).fusible) or wanted(self, *INSIDE)


class CrossAttention(Attention):
    """Queries from the decoder, keys and values from the encoder's memory (§3.2.3)."""

    def queries_keys_values(self, x: Tensor, context: Context) -> tuple[Tensor, Tensor, Tensor]:
        """Keys and values are computed once per memory and then come from the cache."""
        seed = context.dropout_key
        query = tap(self, "query", split_heads(self.query(x, seed, context.tokens), self.heads))  # [B, H, Q, D]
        cached = None if context.cache is None else context.cache.memory
        if cached is not None and cached.key is not None and cached.value is not None:
            key, value = cached.key, cached.value
        else:
            assert context.memory is not None, "cross-attention needs the encoder's memory"
            key = tap(self, "key", split_heads(self.key(context.memory, seed), self.key_value_heads))  # [B, G, K, D]
            value = tap(self, "value", split_heads(self.value(context.memory, seed), self.key_value_heads))
            if cached is not None:
                cached.extend(key, value)
        if context.cross_scores is not None:
            scores = query @ share_heads(key, self.heads).transpose(-1, -2)  # [B, H, Q, K]
            context.cross_scores.append(scores * self.scale)
        return query, key, value

    def may_look(self, context: Context) -> Tensor | None:
        """The padding of the memory, and the documents of a packed row, [B, 1, Q or 1, K]."""
        return context.memory_mask

    def fill_within(self, context: Context) -> SetFill:
        """The fill itself: nothing in a memory is masked by choice."""
        return self.fill


def formula_is_faster(query: Tensor, key: Tensor) -> bool:
    """Whether a training step is quicker by the formula than by the kernel, and the scores are small enough to hold.
    Measured (decisions/2026-11-20-the-kernel-in-bf16.md): so it is in bf16 on a processor.
    """
    return query.device.type == "cpu" and query.dtype == torch.bfloat16 and key.shape[-2] <= LARGEST_HELD


def share_heads(x: Tensor, heads: int) -> Tensor:
    """Let each key-value head serve its group of query heads: [B, G, K, D] to [B, H, K, D]."""
    groups = heads // x.shape[1]
    return x if groups == 1 else x.repeat_interleave(groups, dim=1)  # [B, H, K, D]
