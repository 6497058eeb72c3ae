"""What one forward pass knows beside the stream of states. Made once by the stack, read by every layer.

B sentences · Q query tokens · K key tokens · H heads · D query size · W width
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from glassformer.parts.cache import LayerCache
from glassformer.parts.dropout import DropoutKey


@dataclass(frozen=True)
class Context:
    """Masks, positions, memory, cache and dropout key of this pass.

    `masks` holds, for each window in use (None = no window), who may look at whom in self-attention:
    [B or 1, 1, Q or 1, K], True = may look, or None when nothing is forbidden. `reachable` holds the same without what
    is masked by choice (masked words, a mask of the caller), and is empty where nothing can be. `rotary` holds cosines
    and sines [B or 1, 1, Q, D] for each kind of rotation and query size. `bias` is added to scaled scores,
    [1, H, Q, K].
    """

    masks: Mapping[int | None, Tensor | None]
    reachable: Mapping[int | None, Tensor | None] = field(default_factory=dict)
    rotary: Mapping[tuple[str, int], tuple[Tensor, Tensor]] = field(default_factory=dict)
    bias: Tensor | None = None
    memory: Tensor | None = None  # [B, K, W]
    memory_mask: Tensor | None = None  # [B, 1, 1, K]
    cache: LayerCache | None = None
    dropout_key: DropoutKey | None = None
