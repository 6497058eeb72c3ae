"""What a decoder wrote, step by step: the attention that was kept while it wrote, compared with one run over the text.

H heads · T tokens that were read · n tokens so far · V vocabulary
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, UnknownNameError
from glassformer.decode.attention import KeptAttention
from glassformer.decode.record import Node
from glassformer.look.texts.tree import SearchTree
from glassformer.look.trace.tensors import Tensors
from glassformer.look.trace.verify import LIMITS

PLACE = "#level=tree&picture=words"
"""Where a page opens on which a text is written token by token."""
ROUGH_LIMIT = 0.05  # for bfloat16, which has 8 bits of a number: it is compared with a run in float32


@dataclass(frozen=True)
class Stepwise:
    """The largest differences of weights and log-probabilities (as shares of 1 + their size) between a text written
    token by token with a cache and one run over it: rounding, held to `limit`. `nbytes`: memory of the attention.
    """

    tokens: int
    attention: float
    log_probability: float
    limit: float
    nbytes: int

    @property
    def holds(self) -> bool:
        return max(self.attention, self.log_probability) <= self.limit

    def __str__(self) -> str:
        verdict = "agree with" if self.holds else "DIFFER FROM"
        return (
            f"{self.tokens} tokens written one by one with the cache {verdict} one run over the text: attention "
            f"{self.attention:.1e}, log-probabilities {self.log_probability:.1e} (limit {self.limit:.0e})"
        )


def stepwise(tree: SearchTree, trace: Tensors, *, fast: bool = False) -> Stepwise:
    """Compare a tree's best answer with its trace (`fast`: written in bfloat16). Raises ConfigError."""
    path, kept = path_of(tree), kept_of(tree)
    read = [node.number for node in path[:-1] if node.number in kept.steps]
    size = len(tree.prompt) + len(read)
    attention = 0.0
    for name in kept.names:
        mine, its = kept.whole(name, read), trace[name][0]  # [H, T, T or M]
        attention = max(attention, float((mine - its[:, :size, : mine.shape[2]].cpu()).abs().max()))
    logarithms = trace["head.log_probabilities"].cpu().double()  # [T, V]
    # A search shares the probability of tokens that no answer has among the others.
    logarithms = logarithms - torch.log1p(-logarithms[:, list(tree.never)].exp().sum(dim=1, keepdim=True))
    first = len(tree.prompt) - 1
    off = [
        abs(float(logarithms[first + place, node.token]) - node.log_probability) / (1 + abs(node.log_probability))
        for place, node in enumerate(path)
    ]
    limit = ROUGH_LIMIT if fast else LIMITS[trace.dtype]
    return Stepwise(len(path), attention, max(off, default=0.0), limit, kept.nbytes)


def kept_of(tree: SearchTree) -> KeptAttention:
    if tree.attention is None:
        wanted, do = "attention must be kept while a text is written", "search_tree(..., attention=True)"
        raise ConfigError(wanted, got="none", do=do)
    return tree.attention


def path_of(tree: SearchTree) -> tuple[Node, ...]:
    """The nodes of the best answer; raises ConfigError where there is none."""
    if tree.best is None:
        raise ConfigError("a tree with an answer is needed", got="none", do="ask for more tokens, or other words")
    return tree.path(tree.best)


class Looks:
    """What each step of an answer looked at: one head or the mean of a block's. Raises UnknownNameError."""

    def __init__(self, tree: SearchTree, block: int | None = None, head: int | None = None) -> None:
        kept = kept_of(tree)
        blocks = sum(".self_attention." in name for name in kept.names)
        block = blocks - 1 if block is None else block
        if not 0 <= block < blocks:
            raise UnknownNameError(f"blocks are counted from 0 to {blocks - 1}", got=str(block))
        self.names = [name for name in kept.names if name.startswith(f"decoder.blocks.{block}.")]
        heads = len(kept.prompt[self.names[0]])
        if head is not None and not 0 <= head < heads:
            raise UnknownNameError(f"heads of block {block} are counted from 0 to {heads - 1}", got=str(head))
        self.tree, self.kept, self.block, self.head, self.heads = tree, kept, block, head, heads

    @property
    def in_words(self) -> str:
        if self.head is not None:
            return f"head {self.head} of block {self.block}"
        return f"the mean of the {self.heads} heads of block {self.block}"

    def row(self, node: Node, *, crossing: bool = False) -> Tensor | None:
        """Where the step looked that chose a node: [n], or [M] with `crossing`; None without a source."""
        name = next((name for name in self.names if (".cross_attention." in name) == crossing), None)
        return None if name is None else self._one(self.kept.row(name, node.parent))

    def square(self, path: Sequence[Node]) -> Tensor:
        """The self-attention of the prompt and of the tokens of a path that were read: [T, T]."""
        read = [node.number for node in path if node.number in self.kept.steps]
        return self._one(self.kept.whole(self.names[0], read))

    def _one(self, weights: Tensor) -> Tensor:
        return weights.mean(dim=0) if self.head is None else weights[self.head]
