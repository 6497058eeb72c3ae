"""Words become vectors: word + position + segment, then norm and dropout.

B sentences · S tokens · W width · V vocabulary
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.config import EmbedConfig
from glassformer.parts.dropout import Dropout, DropoutKey
from glassformer.parts.norm import build_norm
from glassformer.parts.position import POSITIONS
from glassformer.parts.tap import tap


class Table(nn.Module):
    """One trained vector for each id."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(rows, width))

    def forward(self, ids: Tensor) -> Tensor:
        """[B, S] to [B, S, W]."""
        return F.embedding(ids, self.weight)  # [B, S, W]


class Embed(nn.Module):
    """The sum of a token's word, position and segment vectors."""

    def __init__(self, config: EmbedConfig, width: int) -> None:
        super().__init__()
        self.word = Table(config.vocabulary, width)
        kind = POSITIONS[config.position.kind]
        self.position = None if kind is None else kind(config.position, width)
        self.segment = Table(config.segments, width) if config.segments else None
        self.norm = build_norm(config.norm, width)
        self.dropout = Dropout(config.dropout)
        self.scale = math.sqrt(width) if config.scaled else 1.0
        self.zero_word = config.masked_words == "zero_word"
        self.zero_sum = config.masked_words == "zero_sum"
        self.taps = (
            "word",
            *(() if self.position is None else ("position",)),
            *(() if self.segment is None else ("segment",)),
            "sum",
        )

    def forward(
        self,
        ids: Tensor | None,
        vectors: Tensor | None,
        positions: Tensor,
        segments: Tensor | None,
        masked_words: Tensor | None,
        dropout_key: DropoutKey | None,
    ) -> Tensor:
        """Ids [B, S], or word vectors [B, S, W] in their place, to the first states [B, S, W]."""
        word = self.word(ids) if vectors is None else vectors  # [B, S, W]
        if self.scale != 1.0:
            word = word * self.scale
        if self.zero_word and masked_words is not None:
            word = word.masked_fill(masked_words[..., None], 0.0)
        total = word = tap(self, "word", word)
        if self.position is not None:
            total = total + tap(self, "position", self.position(positions, word.dtype))
        if self.segment is not None:
            segments = torch.zeros_like(positions) if segments is None else segments
            total = total + tap(self, "segment", self.segment(segments))
        if self.zero_sum and masked_words is not None:
            total = total.masked_fill(masked_words[..., None], 0.0)
        return self.dropout(self.norm(tap(self, "sum", total)), dropout_key)
