"""Who may look at whom: an algebra of predicates, made once per forward, outside the layers.

True = may look. `padding() & causal() & window(64)` is a value that can be printed, drawn and turned into
a tensor for the two sides it is asked about.

B sentences · Q query tokens · K key tokens
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Side:
    """What masks know about one row of tokens, each [B or 1, S]; None = the fact does not occur here."""

    index: Tensor
    real: Tensor | None = None
    masked_words: Tensor | None = None
    segments: Tensor | None = None
    documents: Tensor | None = None


Rule = Callable[[Side, Side], Tensor | None]


@dataclass(frozen=True)
class Mask:
    """A predicate over a query token and a key token; None as its answer means that nothing is forbidden."""

    words: str
    rule: Rule

    def __call__(self, query: Side, key: Side) -> Tensor | None:
        """Who may look: [B or 1, Q or 1, K] bool, or None when every query may look at every key."""
        return self.rule(query, key)

    def __and__(self, other: Mask) -> Mask:
        def both(query: Side, key: Side) -> Tensor | None:
            one, two = self(query, key), other(query, key)
            if one is None or two is None:
                return two if one is None else one
            return one & two  # [B or 1, Q or 1, K]

        return Mask(f"{self.words} & {other.words}", both)

    def __or__(self, other: Mask) -> Mask:
        def either(query: Side, key: Side) -> Tensor | None:
            one, two = self(query, key), other(query, key)
            return None if one is None or two is None else one | two  # [B or 1, Q or 1, K]

        return Mask(f"({self.words} | {other.words})", either)

    def __invert__(self) -> Mask:
        def neither(query: Side, key: Side) -> Tensor | None:
            return ~full(self(query, key), query, key)  # [B or 1, Q, K]

        return Mask(f"~({self.words})", neither)

    def __str__(self) -> str:
        return self.words


def full(answer: Tensor | None, query: Side, key: Side) -> Tensor:
    """The answer with a row for each query token, all True where nothing was forbidden: [B or 1, Q, K]."""
    queries, keys = query.index.shape[1], key.index.shape[1]
    if answer is None:
        answer = torch.ones(1, 1, 1, dtype=torch.bool, device=query.index.device)
    return answer.expand(-1, queries, keys)  # [B or 1, Q, K]


def everything() -> Mask:
    return Mask("everything", lambda query, key: None)


def padding() -> Mask:
    return Mask("padding", lambda query, key: None if key.real is None else key.real[:, None, :])


def causal() -> Mask:
    return Mask("causal", lambda query, key: key.index[:, None, :] <= query.index[:, :, None])


def window(reach: int) -> Mask:
    """Look at most `reach` tokens away, to either side."""
    return Mask(f"window({reach})", lambda query, key: (key.index[:, None, :] - query.index[:, :, None]).abs() <= reach)


def segment() -> Mask:
    """A query may look inside its own segment only."""
    return _same("segment", lambda side: side.segments)


def document_mask() -> Mask:
    """A query may look inside its own document only, where several are packed into one row."""
    return _same("document_mask", lambda side: side.documents)


def visible() -> Mask:
    """No query may look at a masked word (the slides)."""
    return Mask("visible", lambda query, key: None if key.masked_words is None else ~key.masked_words[:, None, :])


def prefix(length: int) -> Mask:
    """Every query may look at the first `length` tokens."""
    return Mask(f"prefix({length})", lambda query, key: (key.index < length)[:, None, :])


def custom(matrix: Tensor, name: str = "custom") -> Mask:
    """A matrix [B or 1, Q, K] given by the caller."""
    return Mask(name, lambda query, key: matrix)


def _same(name: str, fact: Callable[[Side], Tensor | None]) -> Mask:
    def rule(query: Side, key: Side) -> Tensor | None:
        one, two = fact(query), fact(key)
        return None if one is None or two is None else one[:, :, None] == two[:, None, :]  # [B or 1, Q, K]

    return Mask(name, rule)


def draw(matrix: Tensor, query_words: Sequence[str], key_words: Sequence[str] | None = None) -> str:
    """One [Q, K] mask as text: rows look, columns are looked at; ■ = may look, · = may not."""
    key_words = query_words if key_words is None else key_words
    side = max(len(word) for word in query_words)
    height = max(len(word) for word in key_words)
    heads = [" " * (side + 1) + " ".join(word.rjust(height)[row] for word in key_words) for row in range(height)]
    rows = [
        word.rjust(side) + " " + " ".join("■" if looks else "·" for looks in line)
        for word, line in zip(query_words, matrix.tolist(), strict=True)
    ]
    return "\n".join(line.rstrip() for line in heads + rows)


def no_key(may_look: Tensor) -> Tensor:
    """Rows that have nothing to look at: [..., Q, 1] bool."""
    return ~may_look.any(dim=-1, keepdim=True)


class SetFill:
    """A forbidden score becomes a finite number (the slides: -1000). A row with no key keeps this: uniform weights. No
    fused kernel knows this rule, so `fusible` is False.
    """

    fusible = False

    def __init__(self, value: float | str) -> None:
        self.value = value

    def __call__(self, scores: Tensor, may_look: Tensor) -> Tensor:
        """[B, H, Q, K] to [B, H, Q, K]."""
        return scores.masked_fill(~may_look, _number(self.value, scores))

    def softmax(self, masked: Tensor, may_look: Tensor | None) -> Tensor:
        """Weights over the keys; rows sum to 1."""
        return masked.softmax(dim=-1)

    def kernel_mask(self, may_look: Tensor, like: Tensor) -> Tensor:
        """What a fused kernel takes for the same arithmetic."""
        raise AssertionError("a fill that is not fusible has no kernel mask")

    def within(self, reachable: Tensor | None) -> SetFill:
        """The fill where some keys are out of reach: [B or 1, 1, Q or 1, K], True = in reach; None = all are."""
        return self if reachable is None else ReachFill(self, reachable)


class AddFill(SetFill):
    """A forbidden score has a finite number added (BERT: -10000). A row with no key becomes softmax(scores)."""

    fusible = True

    def __call__(self, scores: Tensor, may_look: Tensor) -> Tensor:
        """[B, H, Q, K] to [B, H, Q, K]."""
        return scores + self.added(may_look, scores)

    def kernel_mask(self, may_look: Tensor, like: Tensor) -> Tensor:
        return self.added(may_look, like)

    def added(self, may_look: Tensor, like: Tensor) -> Tensor:
        """0 where one may look, the fill where not: [B or 1, 1, Q, K] of the scores' type."""
        zero = torch.zeros((), dtype=like.dtype, device=like.device)
        return torch.where(may_look, zero, _number(self.value, like))


class ForbidFill(AddFill):
    """A forbidden score is minus infinity. A row with no key gives zeros, never NaN, forward and backward. Added rather
    than set: the backward pass of a sum needs no mask, which a compiled step would write to memory.
    """

    def softmax(self, masked: Tensor, may_look: Tensor | None) -> Tensor:
        """Weights over the keys; rows sum to 1, or are all 0 where nothing may be looked at."""
        if may_look is None:
            return masked.softmax(dim=-1)
        empty = no_key(may_look)
        return masked.masked_fill(empty, 0.0).softmax(dim=-1).masked_fill(empty, 0.0)

    def kernel_mask(self, may_look: Tensor, like: Tensor) -> Tensor:
        """The boolean mask itself."""
        return may_look

    def within(self, reachable: Tensor | None) -> SetFill:
        """The same: what is out of reach is forbidden like all else."""
        return self


class ReachFill(ForbidFill):
    """A finite fill for what is masked by choice; minus infinity for what is out of reach. Out of reach are padding,
    other documents and the future. With the finite fill alone a row would look at them where everything in reach is
    masked.
    """

    fusible = False

    def __init__(self, fill: SetFill, reachable: Tensor) -> None:
        super().__init__("-inf")
        self.fill, self.reachable = fill, reachable

    def __call__(self, scores: Tensor, may_look: Tensor) -> Tensor:
        """[B, H, Q, K] to [B, H, Q, K]."""
        return super().__call__(self.fill(scores, may_look), self.in_reach(may_look))

    def softmax(self, masked: Tensor, may_look: Tensor | None) -> Tensor:
        """Weights over the keys in reach; rows sum to 1, or are all 0 where nothing is."""
        return super().softmax(masked, self.in_reach(may_look))

    def in_reach(self, may_look: Tensor | None) -> Tensor:
        """Which keys are in reach; a key that was allowed by hand is, wherever it is."""
        return self.reachable if may_look is None else self.reachable | may_look


def build_fill(rule: str, value: float | str) -> SetFill:
    """The fill a config asks for: minus infinity is the same whether set or added."""
    if value == "-inf" or value == float("-inf"):
        return ForbidFill("-inf")
    return SetFill(value) if rule == "set" else AddFill(value)


def _number(value: float | str, like: Tensor) -> float:
    if value == "-inf":
        return float("-inf")
    return torch.finfo(like.dtype).min if value == "lowest" else float(value)
