"""The weights of a decoder's attentions, kept while it runs.

R rows · H heads · Q query tokens · K key tokens, or tokens of the memory
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import torch
from torch import Tensor, nn

from glassformer.models.stack import Stack
from glassformer.parts.tap import Watcher, watcher

# The head of a decoder's last block that may learn which words belong together.
ALIGNMENT_HEAD = 0


class Weights:
    """Keeps the `kept` weights of attentions in their last run; the rest goes on to an earlier watcher."""

    def __init__(
        self, owners: Mapping[nn.Module, str], kept: Callable[[Tensor], Tensor], outer: Watcher | None
    ) -> None:
        self.owners, self.kept, self.outer = owners, kept, outer
        self.seen: dict[str, Tensor] = {}

    def wants(self, owner: nn.Module, name: str) -> bool:
        """The weights of these attentions, and what the outer watcher wants."""
        mine = name == "weights" and owner in self.owners
        return mine or (self.outer is not None and self.outer.wants(owner, name))

    def see(self, owner: nn.Module, name: str, tensor: Tensor) -> Tensor:
        tensor = tensor if self.outer is None else self.outer.see(owner, name, tensor)
        if name == "weights" and owner in self.owners:
            self.seen[self.owners[owner]] = self.kept(tensor)
        return tensor

    def mean(self) -> Tensor:
        """The mean over the attentions, of the shape of what is kept of each."""
        return torch.stack(list(self.seen.values())).mean(dim=0)


def all_weights(stack: Stack) -> AbstractContextManager[Weights]:
    """Within, the weights of all attentions of a decoder are kept [R, H, Q, K], by their names in a trace."""
    owners = {
        sublayer.body: f"decoder.blocks.{number}.{kind}.weights"
        for number, block in enumerate(stack.blocks)
        for kind in ("self_attention", "cross_attention")
        if (sublayer := getattr(block, kind, None)) is not None
    }
    return _keeping(owners, lambda weights: weights)


def cross_weights(stack: Stack, blocks: Collection[int], head: int | None = None) -> AbstractContextManager[Weights]:
    """Within, the cross-attention weights of these blocks are kept [R, Q, K]: of one head, or the mean of all."""
    owners = {stack.get_submodule(f"blocks.{block}.cross_attention.body"): str(block) for block in blocks}
    return _keeping(owners, lambda weights: weights.mean(dim=1) if head is None else weights[:, head])


@contextmanager
def _keeping(owners: Mapping[nn.Module, str], kept: Callable[[Tensor], Tensor]) -> Iterator[Weights]:
    mine = Weights(owners, kept, watcher.get())
    before = watcher.set(mine)
    try:
        yield mine
    finally:
        watcher.reset(before)
