"""What goes into a model, and what comes out.

B sentences · S pieces · K memory pieces · H heads · W width · V vocabulary · L labels · N chosen places
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from glassformer.errors import ShapeError
from glassformer.parts.cache import Cache
from glassformer.parts.dropout import Noise


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """One batch of pieces. Only `ids` (or `vectors` in their place) is needed; the rest is derived or absent.

    ids [B, S] int64 · vectors [B, S, W] · real [B, S] bool, False = padding · positions [B, S] int64 (default:
    counted over the real pieces) · segments [B, S] int64 · hidden [B, S] bool, True = a hidden word ·
    documents [B, S] int64, equal = same side of the walls · may_look [B or 1, Q, K] bool, True = may look,
    one more mask on top of the model's own · rows [B] int32 and seed (int32 scalar) choose dropout.
    """

    ids: Tensor | None = None
    vectors: Tensor | None = None
    real: Tensor | None = None
    positions: Tensor | None = None
    segments: Tensor | None = None
    hidden: Tensor | None = None
    documents: Tensor | None = None
    may_look: Tensor | None = None
    noise: Noise | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Sentences and pieces."""
        given = self.ids if self.ids is not None else self.vectors
        if given is None:
            raise ShapeError("a model needs ids or vectors", got="neither")
        return given.shape[0], given.shape[1]

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        given = self.ids if self.ids is not None else self.vectors
        assert given is not None
        return given.device

    def check(self) -> None:
        """Refuse tensors whose shapes do not fit together; raises ShapeError."""
        shape = self.shape
        for name in ("real", "positions", "segments", "hidden", "documents"):
            tensor: Tensor | None = getattr(self, name)
            if tensor is not None and tensor.shape not in (shape, (1, shape[1])):
                raise ShapeError(f"inputs.{name} must be {list(shape)} like the ids", got=str(list(tensor.shape)))
        mask = self.may_look
        if mask is not None and (mask.dim() != 3 or mask.shape[0] not in (1, shape[0]) or mask.shape[1] != shape[1]):
            raise ShapeError(
                f"inputs.may_look must be [{shape[0]} or 1, {shape[1]}, keys]: who looks, at whom",
                got=str(list(mask.shape)),
            )

    def to(self, device: torch.device | str) -> Inputs:
        """The same on another device."""
        moved = {name: value.to(device) for name, value in vars(self).items() if isinstance(value, Tensor)}
        noise = None if self.noise is None else Noise(self.noise.seed.to(device), self.noise.rows.to(device))
        return replace(self, **moved, noise=noise)


@dataclass(frozen=True, kw_only=True)
class Output:
    """states [B, S, W] · logits [B, S, V], or [N, V] at chosen places · sentence_logits [B, L] · memory [B, K, W]."""

    states: Tensor
    logits: Tensor | None = None
    sentence_logits: Tensor | None = None
    memory: Tensor | None = None
    cache: Cache | None = None
