"""The weights of all attentions of a decoder, kept while it runs.

R rows · H heads · Q query tokens · K key tokens
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn

from glassformer.models.stack import Stack
from glassformer.parts.tap import Watcher, watcher


class Weights:
    """Keeps the weights of attentions as they are computed; all else goes on to whoever watches already."""

    def __init__(self, owners: Mapping[nn.Module, str], outer: Watcher | None) -> None:
        self.owners, self.outer = owners, outer
        self.seen: dict[str, Tensor] = {}  # [R, H, Q, K]

    def wants(self, owner: nn.Module, name: str) -> bool:
        """The weights of these attentions, and what the outer watcher wants."""
        return (name == "weights" and owner in self.owners) or (
            self.outer is not None and self.outer.wants(owner, name)
        )

    def see(self, owner: nn.Module, name: str, tensor: Tensor) -> Tensor:
        tensor = tensor if self.outer is None else self.outer.see(owner, name, tensor)
        if name == "weights" and owner in self.owners:
            self.seen[self.owners[owner]] = tensor
        return tensor


@contextmanager
def all_weights(stack: Stack) -> Iterator[dict[str, Tensor]]:
    """Within, the weights of all attentions of a decoder are kept, of the last run: by their names in a trace."""
    owners = {
        sublayer.body: f"decoder.blocks.{number}.{kind}.weights"
        for number, block in enumerate(stack.blocks)
        for kind in ("self_attention", "cross_attention")
        if (sublayer := getattr(block, kind, None)) is not None
    }
    mine = Weights(owners, watcher.get())
    before = watcher.set(mine)
    try:
        yield mine.seen
    finally:
        watcher.reset(before)
