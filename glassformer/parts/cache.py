"""Keys and values already computed, handed in as a value that knows its own position.

B sentences · K key pieces · G key-value heads · D query size · E value size
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor


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
    """One `LayerCache` per block, and which of the pieces seen so far are real."""

    def __init__(self, layers: int) -> None:
        self.layers = tuple(LayerCache() for _ in range(layers))
        self.length = 0
        self.real: Tensor | None = None  # [B, K]

    def advance(self, batch: int, pieces: int, real: Tensor | None, device: torch.device) -> Tensor | None:
        """Count `pieces` new ones; returns which of all pieces so far are real, [B, K], None when all are."""
        if real is None and self.real is None:
            self.length += pieces
            return None
        before = self.real if self.real is not None else torch.ones(batch, self.length, dtype=torch.bool, device=device)
        newest = real if real is not None else torch.ones(batch, pieces, dtype=torch.bool, device=device)
        self.real = torch.cat((before, newest), dim=1)  # [B, K]
        self.length += pieces
        return self.real

    def reorder(self, rows: Tensor) -> None:
        """Keep the given rows of the batch in the given order; beams use this to follow their parents."""
        for layer in self.layers:
            layer.own.reorder(rows)
            layer.memory.reorder(rows)
        if self.real is not None:
            self.real = self.real.index_select(0, rows)
