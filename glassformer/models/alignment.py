"""How much each token of the decoder looks at each of the memory, while the model runs.

B sentences · H heads · Q query tokens · K memory tokens
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from glassformer.models.stack import Stack
from glassformer.parts.tap import Watcher, watcher

# The head of a decoder's last block that may learn which words belong together.
ALIGNMENT_HEAD = 0


class CrossWeights:
    """Keeps the cross-attention weights of some blocks, those of one head or the mean of all; all else goes on to
    whoever watches already.
    """

    def __init__(self, owners: Collection[nn.Module], head: int | None, outer: Watcher | None) -> None:
        self.owners, self.head, self.outer = owners, head, outer
        self.seen: list[Tensor] = []

    def wants(self, owner: nn.Module, name: str) -> bool:
        """The weights of these blocks, and what the outer watcher wants."""
        mine = name == "weights" and any(owner is each for each in self.owners)
        return mine or (self.outer is not None and self.outer.wants(owner, name))

    def see(self, owner: nn.Module, name: str, tensor: Tensor) -> Tensor:
        """Keep the weights of the head, or the mean of all."""
        tensor = tensor if self.outer is None else self.outer.see(owner, name, tensor)
        if name == "weights" and any(owner is each for each in self.owners):
            self.seen.append(tensor.mean(dim=1) if self.head is None else tensor[:, self.head])  # [B, Q, K]
        return tensor

    def mean(self) -> Tensor:
        """The mean of the blocks, [B, Q, K]."""
        return torch.stack(self.seen).mean(dim=0)


@contextmanager
def cross_weights(stack: Stack, blocks: Collection[int], head: int | None = None) -> Iterator[CrossWeights]:
    """Within, the cross-attention weights of these blocks of a decoder are kept, of one head or the mean of all."""
    owners = [stack.get_submodule(f"blocks.{block}.cross_attention.body") for block in blocks]
    mine = CrossWeights(owners, head, watcher.get())
    before = watcher.set(mine)
    try:
        yield mine
    finally:
        watcher.reset(before)
