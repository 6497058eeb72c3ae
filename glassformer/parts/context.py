"""What one forward pass knows besides the stream of states. Made once by the stack, read by every layer.

B sentences · S tokens · Q query tokens · K key tokens · A asked tokens · H heads · D query size · W width
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import torch
from torch import Tensor

from glassformer.parts.cache import LayerCache, Pairs, SlotPairs
from glassformer.parts.dropout import DropoutKey


@dataclass(frozen=True)
class Context:
    """Masks, positions, memory, cache and dropout key of this pass.

    `masks` holds, for each window in use (None = no window), who may look at whom in self-attention:
    [B or 1, 1, Q or 1, K], True = may look, or None when nothing is forbidden. `reachable` holds the same without what
    is masked by choice (masked words, a mask of the caller), and is empty where nothing can be. `rotary` holds cosines
    and sines [B or 1, 1, Q, D] for each kind of rotation and query size. `bias` is added to scaled scores,
    [1, H, Q, K].

    In the last block only some tokens may be asked for: `asked` [B, A] are their indices in the row. Self-attention
    then reads the whole stream and returns these alone; `tokens` are the same indices for the sublayers after it.
    `query_rotary` is `rotary` for the asked tokens.

    To a list `cross_scores` a block adds the scaled scores of its cross-attention before the mask, [B, H, Q, K].
    """

    masks: Mapping[int | None, Tensor | None]
    reachable: Mapping[int | None, Tensor | None] = field(default_factory=dict)
    rotary: Mapping[tuple[str, int], tuple[Tensor, Tensor]] = field(default_factory=dict)
    bias: Tensor | None = None
    memory: Tensor | None = None  # [B, K, W]
    memory_mask: Tensor | None = None  # [B, 1, Q or 1, K]
    cache: LayerCache[Pairs] | LayerCache[SlotPairs] | None = None
    dropout_key: DropoutKey | None = None
    query_rotary: Mapping[tuple[str, int], tuple[Tensor, Tensor]] | None = None
    asked: Tensor | None = None
    tokens: Tensor | None = None
    cross_scores: list[Tensor] | None = None

    def asking(self, asked: Tensor) -> Self:
        """The context of a self-attention that returns only the tokens asked for, [B, A]."""

        def queries(table: Tensor | None) -> Tensor | None:
            return table if table is None or table.shape[2] == 1 else take_queries(table, asked)

        return replace(
            self,
            masks={size: queries(mask) for size, mask in self.masks.items()},
            reachable={size: queries(mask) for size, mask in self.reachable.items()},
            query_rotary={
                key: (take_queries(cosines, asked), take_queries(sines, asked))
                for key, (cosines, sines) in self.rotary.items()
            },
            bias=queries(self.bias),
            memory_mask=queries(self.memory_mask),
            asked=asked,
        )

    def asked_alone(self) -> Self:
        """The context of the sublayers after it: their stream holds the asked tokens alone."""
        return self if self.asked is None else replace(self, asked=None, tokens=self.asked)

    def streamed(self, x: Tensor) -> Tensor:
        """The tokens that leave a sublayer: [B, S, W] to [B, A, W] where some are asked for, else unchanged."""
        return x if self.asked is None else take_tokens(x, self.asked)

    @property
    def positions_of_dropout(self) -> Tensor | None:
        """The index in the row of each token that leaves a sublayer, [B, A]; None where all do."""
        return self.tokens if self.asked is None else self.asked


def take_tokens(x: Tensor, asked: Tensor) -> Tensor:
    """The asked tokens of each row: [B, S, W] and [B, A] to [B, A, W]."""
    rows = torch.arange(x.shape[0], device=x.device)[:, None] * x.shape[1]  # [B, 1]
    # One flat selection: its gradient is added up in the same order each time.
    return x.flatten(0, 1).index_select(0, (rows + asked).flatten()).unflatten(0, asked.shape)  # [B, A, W]


def take_queries(table: Tensor, asked: Tensor) -> Tensor:
    """The rows of the asked tokens: [B or 1, H or 1, Q, K] and [B, A] to [B, H or 1, A, K]."""
    table = table.expand(asked.shape[0], -1, -1, -1)  # [B, H or 1, Q, K]
    # Not take_along_dim, which does the same: under torch.export it would fix the sizes that are to stay open.
    places = asked[:, None, :, None].expand(-1, table.shape[1], -1, table.shape[3])  # [B, H or 1, A, K]
    return table.gather(2, places)  # [B, H or 1, A, K]
