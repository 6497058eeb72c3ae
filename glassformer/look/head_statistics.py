"""What the heads of an attention do in one text: a small picture of each, and how its weights lie.

H heads · Q query tokens · K key tokens · R rows of a picture · C columns of a picture
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

# What is measured of each head, in this order; the page measures the same in `web/src/run/heads.ts`.
STATISTICS = ("entropy", "distance", "previous", "self", "next", "first", "separator", "largest", "even")


def largest_in(weights: Tensor, dots: int) -> Tensor:
    """[H, Q, K] to at most [H, dots, dots]: of several weights the largest. As `pooled`, for finite shares."""
    queries, keys = (windows(size, min(size, dots)) for size in weights.shape[1:])
    rows = torch.stack([weights[:, start:stop].amax(1) for start, stop in queries], 1)  # [H, R, K]
    return torch.stack([rows[..., start:stop].amax(2) for start, stop in keys], 2)  # [H, R, C]


def windows(size: int, count: int) -> list[tuple[int, int]]:
    """The windows of torch's adaptive pooling."""
    return [(index * size // count, -(-(index + 1) * size // count)) for index in range(count)]


def statistics(
    weights: Tensor, may_look: Tensor, real: Tensor | None, separators: Tensor | None, *, crossing: bool
) -> Tensor:
    """What each head does on average over the queries, [H, 9] in the order of STATISTICS.

    The entropy is in bits; the distance is in tokens; the others are shares of the attention: that of the token before,
    the same one, the one after, the first one, separators, the largest one, and what each would get if all that may
    be looked at got the same. NaN = the text of the keys is another, or has no separator known.
    """
    heads, queries, keys = weights.shape
    places = torch.arange(queries)
    may_look = may_look.expand(len(may_look), queries, keys)  # [H or 1, Q, K]
    if real is not None:
        weights, may_look, places = weights[:, real], may_look[:, real], places[real]
    none = torch.full((heads,), math.nan, dtype=torch.float64)

    def mean(of_queries: Tensor) -> Tensor:
        return of_queries.double().mean(-1).expand(heads)  # [H]

    def share(distance: int) -> Tensor:
        if crossing:
            return none
        there = (places + distance >= 0) & (places + distance < keys)  # [Q]
        rows = torch.arange(len(places))[there]
        return weights[:, rows, places[there] + distance].double().sum(-1) / len(places)  # [H]

    least = torch.finfo(weights.dtype).tiny  # 0 · log 0 counts as 0
    apart = (torch.arange(keys)[None] - places[:, None]).abs().to(weights.dtype)  # [Q, K]
    found: Mapping[str, Tensor] = {
        "entropy": mean(-(weights * weights.clamp(min=least).log()).sum(-1)) / math.log(2),
        "distance": none if crossing else mean(torch.einsum("hqk,qk->hq", weights, apart)),
        "previous": share(-1),
        "self": share(0),
        "next": share(1),
        "first": mean(weights[..., 0]),
        "separator": none if separators is None else mean(weights @ separators.to(weights.dtype)),
        "largest": mean(weights.amax(-1)),
        "even": mean(1 / may_look.sum(-1).clamp(min=1)),
    }
    return torch.stack([found[name] for name in STATISTICS], dim=-1).float()  # [H, 9]
