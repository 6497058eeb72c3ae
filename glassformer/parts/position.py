"""Positions: added to the embedding, rotated into queries and keys, or added to the scores.

Angles grow with the position and float32 would round those of far ones: waves are computed in double precision.

B sentences · S tokens · Q query tokens · K key tokens · H heads · D query size · W width
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from glassformer.config import PositionConfig, RelativeBiasConfig
from glassformer.parts.tap import tap

# Apple's GPUs: waves are computed on the processor and come over rounded.
WITHOUT_FLOAT64 = ("mps",)


def exact_device(device: torch.device) -> torch.device:
    """Where to compute in double precision for a device: on itself, or on the CPU where it cannot."""
    return torch.device("cpu") if device.type in WITHOUT_FLOAT64 else device


def angles(positions: Tensor, rates: Tensor) -> Tensor:
    """The angle of each wave at each position: [...] and [n] to [..., n], where the rates are."""
    return positions.to(rates.device)[..., None].to(rates.dtype) * rates


def paper_rates(width: int) -> Tensor:
    """1 / 10000^(2i/W) for i = 0 … W/2-1 (Vaswani et al. 2017, §3.5): [W/2]."""
    return 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def tensor2tensor_rates(width: int) -> Tensor:
    """1 / 10000^(i/(n-1)) for i = 0 … n-1 with n = W/2, as tensor2tensor spaces its waves: [W/2]."""
    count = width // 2
    return 10000.0 ** (-torch.arange(count, dtype=torch.float64) / max(count - 1, 1))


def interleaved(positions: Tensor, width: int) -> Tensor:
    """Sine, cosine, sine, cosine … (the paper): [...] to [..., W]."""
    wave = angles(positions, paper_rates(width).to(exact_device(positions.device)))
    return torch.stack((wave.sin(), wave.cos()), dim=-1).flatten(-2)  # [..., W]


def halves(positions: Tensor, width: int) -> Tensor:
    """All sines, then all cosines, with the paper's wave lengths (Marian): [...] to [..., W]."""
    wave = angles(positions, paper_rates(width).to(exact_device(positions.device)))
    return torch.cat((wave.sin(), wave.cos()), dim=-1)  # [..., W]


def tensor2tensor(positions: Tensor, width: int) -> Tensor:
    """All sines, then all cosines, with tensor2tensor's wave lengths: [...] to [..., W]."""
    wave = angles(positions, tensor2tensor_rates(width).to(exact_device(positions.device)))
    return torch.cat((wave.sin(), wave.cos()), dim=-1)  # [..., W]


LAYOUTS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "paper": interleaved,
    "tensor2tensor": tensor2tensor,
    "halves": halves,
}


class Sinusoidal(nn.Module):
    """Fixed waves; any position has a vector."""

    def __init__(self, config: PositionConfig, width: int) -> None:
        super().__init__()
        self.width = width
        self.layout = LAYOUTS[config.layout]

    def forward(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """[B or 1, S] to [B or 1, S, W]."""
        return self.layout(positions, self.width).to(dtype).to(positions.device)


class Learned(nn.Module):
    """A trained vector for each position up to a limit."""

    def __init__(self, config: PositionConfig, width: int) -> None:
        super().__init__()
        self.offset = config.offset
        self.weight = nn.Parameter(torch.empty(config.max_length + config.offset, width))

    def forward(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """[B or 1, S] to [B or 1, S, W]."""
        return nn.functional.embedding(positions + self.offset, self.weight)


POSITIONS: dict[str, Callable[[PositionConfig, int], nn.Module] | None] = {
    "none": None,
    "learned": Learned,
    "sinusoidal": Sinusoidal,
}


def rotary_tables(positions: Tensor, size: int, base: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the angle by which each pair is turned: twice [B or 1, 1, S, D], float64 where there is."""
    device = exact_device(positions.device)
    rates = base ** (-torch.arange(0, size, 2, dtype=torch.float64, device=device) / size)
    wave = angles(positions, rates).repeat(1, 1, 2)[:, None]  # [B or 1, 1, S, D]
    if device != positions.device:
        return wave.cos().float().to(positions.device), wave.sin().float().to(positions.device)
    return wave.cos(), wave.sin()


def rotate(x: Tensor, tables: tuple[Tensor, Tensor]) -> Tensor:
    """Turn each pair by its angle (Su et al. 2021, eq. 34): [B, H, S, D] to the same.

    The paper turns neighbours, (2i, 2i + 1); here, as in Llama and ModernBERT, a pair stands half a head apart,
    (i, i + D/2): the same model with its channels in another order.
    """
    cosine, sine = (table.to(x.dtype) for table in tables)
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine  # [B, H, S, D]


class RelativeBias(nn.Module):
    """A learned number for each head and bucket of distances (Raffel et al. 2020, §2.1).

    Half of the buckets are single distances, the other half grow logarithmically up to `max_distance`.
    """

    taps = ("",)

    def __init__(self, config: RelativeBiasConfig, heads: int, *, both_directions: bool) -> None:
        super().__init__()
        self.buckets, self.max_distance, self.both_directions = config.buckets, config.max_distance, both_directions
        self.weight = nn.Parameter(torch.empty(config.buckets, heads))

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        """Places of the tokens, [1, Q] and [1, K], to a bias [1, H, Q, K]."""
        bucket = self.bucket(key[:, None, :] - query[:, :, None])  # [1, Q, K]
        return tap(self, "", nn.functional.embedding(bucket, self.weight).permute(0, 3, 1, 2))  # [1, H, Q, K]

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of each distance key - query; without both directions, what lies ahead counts as 0."""
        if self.both_directions:
            buckets = self.buckets // 2
            side = (distance > 0).long() * buckets
            distance = distance.abs()
        else:
            buckets, side = self.buckets, torch.zeros_like(distance)
            distance = (-distance).clamp(min=0)
        exact = buckets // 2
        ratio = torch.log(distance.clamp(min=1).float() / exact) / math.log(self.max_distance / exact)
        far = (exact + (ratio * (buckets - exact)).long()).clamp(max=buckets - 1)
        return side + torch.where(distance < exact, distance, far)
