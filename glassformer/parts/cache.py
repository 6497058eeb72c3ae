"""Keys and values already computed, handed in as a value that knows its own position.

B sentences · S newest tokens · K key tokens · G key-value heads · D query size · E value size
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

import torch
from torch import Tensor

from glassformer.errors import ShapeError

# The value of a fact for tokens it was not given for, where other tokens have it. Documents have no such default.
DEFAULT_FACTS: Mapping[str, bool | int] = {"real": True, "masked_words": False, "segments": 0}


@dataclass
class Pairs:
    """The keys [B, G, K, D] and values [B, G, K, E] of one attention."""

    key: Tensor | None = None
    value: Tensor | None = None

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append the newest keys and values and return all of them."""
        if self.key is not None and self.value is not None:
            key = torch.cat((self.key, key), dim=2)  # [B, G, K, D]
            value = torch.cat((self.value, value), dim=2)  # [B, G, K, E]
        self.key, self.value = key, value
        return key, value

    def reorder(self, rows: Tensor) -> None:
        """Keep the given rows in the given order."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self.key.index_select(0, rows), self.value.index_select(0, rows)


@dataclass
class LayerCache:
    """One block: self-attention grows with each step, cross-attention is computed once from the memory."""

    own: Pairs = field(default_factory=Pairs)
    memory: Pairs = field(default_factory=Pairs)


class Cache:
    """One `LayerCache` per block, and the facts of the tokens seen so far: which are real, in which document."""

    def __init__(self, layers: int) -> None:
        self.layers = tuple(LayerCache() for _ in range(layers))
        self.length = 0
        self.facts: dict[str, Tensor] = {}  # each [B, K]

    def advance(
        self, batch: int, tokens: int, newest: Mapping[str, Tensor], device: torch.device
    ) -> Mapping[str, Tensor]:
        """Count `tokens` new ones with these facts, each [B, S]; returns all facts so far, each [B, K].

        Raises ShapeError when documents are given for some tokens and not for others, or for other rows than so far,
        and has then counted nothing.
        """
        key = self.layers[0].own.key
        if key is not None and key.shape[0] != batch:
            raise ShapeError(f"a step must go on with the cache's {key.shape[0]} sentences", got=f"{batch}")
        if self.length:
            names = self.facts.keys() | newest.keys()
            before = _filled(names, self.facts, (batch, self.length), device)
            newest = _filled(names, newest, (batch, tokens), device)
            newest = {name: torch.cat((before[name], newest[name]), dim=1) for name in names}  # [B, K]
        self.facts = dict(newest)
        self.length += tokens
        return self.facts

    def reorder(self, rows: Tensor) -> None:
        """Keep the given rows of the batch in the given order; beams use this to follow their parents."""
        for layer in self.layers:
            layer.own.reorder(rows)
            layer.memory.reorder(rows)
        self.facts = {name: fact.index_select(0, rows) for name, fact in self.facts.items()}


def _filled(
    names: Set[str], facts: Mapping[str, Tensor], shape: tuple[int, int], device: torch.device
) -> dict[str, Tensor]:
    """These facts of some tokens: as they were given, else their defaults."""
    lost = names - facts.keys() - DEFAULT_FACTS.keys()
    if lost:
        raise ShapeError(f"{min(lost)} must be given for all tokens or for none", got="tokens with and tokens without")
    return {
        name: facts[name] if name in facts else torch.full(shape, DEFAULT_FACTS[name], device=device)  # [B, S]
        for name in names
    }
