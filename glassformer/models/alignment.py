"""How much each token of the decoder looks at each of the memory, while the model runs.

B sentences · H heads · Q query tokens · K memory tokens
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from glassformer.models.stack import Stack
from glassformer.parts.tap import Watcher, watcher


class CrossWeights:
    """Keeps the cross-attention weights of some blocks; all else goes on to whoever watches already."""

    def __init__(self, owners: Collection[nn.Module], outer: Watcher | None) -> None:
        self.owners, self.outer = owners, outer
        self.seen: list[Tensor] = []

    def wants(self, owner: nn.Module, name: str) -> bool:
        """The weights of these blocks, and what the outer watcher wants."""
        mine = name == "weights" and any(owner is each for each in self.owners)
        return mine or (self.outer is not None and self.outer.wants(owner, name))

    def see(self, owner: nn.Module, name: str, tensor: Tensor) -> Tensor:
        """Keep the weights, the mean of the heads."""
        tensor = tensor if self.outer is None else self.outer.see(owner, name, tensor)
        if name == "weights" and any(owner is each for each in self.owners):
            self.seen.append(tensor.mean(dim=1))  # [B, Q, K]
        return tensor

    def mean(self) -> Tensor:
        """The mean of the blocks and their heads, [B, Q, K]."""
        return torch.stack(self.seen).mean(dim=0)


@contextmanager
def cross_weights(stack: Stack, blocks: Collection[int]) -> Iterator[CrossWeights]:
    """Within, the cross-attention weights of these blocks of a decoder are kept."""
    owners = [stack.get_submodule(f"blocks.{block}.cross_attention.body") for block in blocks]
    mine = CrossWeights(owners, watcher.get())
    before = watcher.set(mine)
    try:
        yield mine
    finally:
        watcher.reset(before)
