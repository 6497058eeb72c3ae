"""Small pictures of attention weights.

H heads · Q query tokens · K key tokens · R rows of a picture · C columns of a picture
"""

import torch
from torch import Tensor


def largest_in(weights: Tensor, dots: int) -> Tensor:
    """[H, Q, K] to at most [H, dots, dots]: of several weights the largest. As `pooled`, for finite shares."""
    queries, keys = (windows(size, min(size, dots)) for size in weights.shape[1:])
    rows = torch.stack([weights[:, start:stop].amax(1) for start, stop in queries], 1)  # [H, R, K]
    return torch.stack([rows[..., start:stop].amax(2) for start, stop in keys], 2)  # [H, R, C]


def picture_of(weights: Tensor, dots: int) -> Tensor:
    """[H, Q, K] shares to at most [H, dots, dots] bytes, by their square roots, as the page colours them."""
    return (255 * largest_in(weights, dots).clamp(0, 1).sqrt()).round().to(torch.uint8)


def windows(size: int, count: int) -> list[tuple[int, int]]:
    """The windows of torch's adaptive pooling."""
    return [(index * size // count, -(-(index + 1) * size // count)) for index in range(count)]
