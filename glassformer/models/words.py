"""What each token adds to the scores of a text's labels by itself, in addition to what the encoder finds.

B sentences · S tokens · L labels · N rows of a table
"""

import torch
from torch import Tensor, nn

from glassformer.base.errors import ShapeError
from glassformer.config import NEIGHBOURS
from glassformer.models.inputs import Inputs
from glassformer.parts.tap import tap


class WordScores(nn.Module):
    """A linear model of the tokens of a text and of its pairs of neighbours (Wang & Manning 2012; hashed pairs: Joulin
    et al. 2017, §2.2). It is fitted, not trained by steps: its tables have no gradient.

    The sum over a text of n tokens is divided by √(2n).
    """

    def __init__(self, vocabulary: int, pairs: int, labels: int) -> None:
        super().__init__()
        self.token, self.neighbours = nn.Embedding(vocabulary, labels), nn.Embedding(pairs, labels)
        self.bias = nn.Parameter(torch.empty(labels))
        for each in self.parameters():
            nn.init.zeros_(each)
            each.requires_grad_(False)
        self.taps = ("token", "neighbours", "both", "added")

    def forward(self, inputs: Inputs) -> Tensor:
        """The scores [B, L] of tokens by their ids; raises ShapeError without these."""
        if inputs.ids is None:
            raise ShapeError("tokens add to the scores by their ids", got="vectors", do="give inputs.ids")
        token = tap(self, "token", self.token(inputs.ids))  # [B, S, L]
        rows = neighbours(inputs.ids, inputs.real, self.neighbours.num_embeddings)
        both = tap(self, "both", token + tap(self, "neighbours", self.neighbours(rows)))  # [B, S, L]
        share = shares(inputs.ids, inputs.real, both.dtype)[..., None]  # [B, S, 1]
        return tap(self, "added", (share * both).sum(dim=1)) + self.bias  # [B, L]


def neighbours(ids: Tensor, real: Tensor | None, rows: int) -> Tensor:
    """For each token the row of it and the one before, the first with itself: [B, S] from 0 to `rows`."""
    before = torch.cat([ids[:, :1], ids[:, :-1]], dim=1)  # [B, S]
    if real is not None:
        there = torch.cat([torch.zeros_like(real[:, :1]), real[:, :-1]], dim=1)  # [B, S]
        before = torch.where(there, before, ids)
    return (before * NEIGHBOURS[0] + ids * NEIGHBOURS[1]) % rows  # [B, S]


def shares(ids: Tensor, real: Tensor | None, dtype: torch.dtype = torch.float64) -> Tensor:
    """How much each token counts: 1 / √(2n) for n tokens that are no padding, 0 for padding. [B, S]"""
    real = torch.ones_like(ids, dtype=torch.bool) if real is None else real
    counts = real.sum(dim=1, keepdim=True).clamp(min=1)  # [B, 1]
    return real.to(dtype) / (2 * counts).to(dtype).sqrt()  # [B, S]
