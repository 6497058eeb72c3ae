"""Positions: added to the embedding, rotated into queries and keys, or added to the scores.

Angles grow with the position and float32 would round those of far ones: waves are computed in double precision.

B sentences · S tokens · Q query tokens · K key tokens · H heads · D query size · W width · P = D/2 pairs
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from glassformer.config import PositionConfig, RelativeBiasConfig, RotaryConfig
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


def plain_rates(positions: Tensor, size: int, base: float) -> Tensor:
    """1 / base^(2i/D) for each pair i (Su et al. 2021, eq. 15): [P], on the device of the positions."""
    return base ** (-torch.arange(0, size, 2, dtype=torch.float64, device=positions.device) / size)


def linear_rates(positions: Tensor, size: int, base: float, *, factor: float) -> Tensor:
    """All rates divided by the factor: [P]."""
    return plain_rates(positions, size, base) / factor


def dynamic_rates(positions: Tensor, size: int, base: float, *, factor: float, original_length: int) -> Tensor:
    """The base grows with a text that is longer than the original length: [B or 1, 1, P]."""
    length = positions.amax(dim=-1)[:, None, None].double() + 1  # [B or 1, 1, 1]
    longer = factor * length.clamp(min=original_length) / original_length - (factor - 1)
    places = torch.arange(0, size, 2, dtype=torch.float64, device=positions.device) / size  # [P]
    return (base * longer ** (size / (size - 2))) ** -places  # [B or 1, 1, P]


def llama3_rates(
    positions: Tensor,
    size: int,
    base: float,
    *,
    factor: float,
    low_frequency_factor: float,
    high_frequency_factor: float,
    original_length: int,
) -> Tensor:
    """Rates of long waves divided by the factor, short waves kept, a blend between them: [P]."""
    rates = plain_rates(positions, size, base)
    turns = original_length * rates / (2 * math.pi)
    kept = ((turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)).clamp(0, 1)
    return rates * (kept + (1 - kept) / factor)


def yarn_rates(
    positions: Tensor,
    size: int,
    base: float,
    *,
    factor: float,
    original_length: int,
    beta_fast: float,
    beta_slow: float,
    truncate: bool,
) -> Tensor:
    """Slow pairs divided by the factor, fast ones kept, a ramp over the pairs between them: [P]."""

    def pair_that_turns(times: float) -> float:
        return size * math.log(original_length / (times * 2 * math.pi)) / (2 * math.log(base))

    first, last = pair_that_turns(beta_fast), pair_that_turns(beta_slow)
    if truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, size - 1)
    last = last + 0.001 if last == first else last
    pairs = torch.arange(size // 2, dtype=torch.float64, device=positions.device)
    stretched = ((pairs - first) / (last - first)).clamp(0, 1)
    return plain_rates(positions, size, base) * (1 - stretched + stretched / factor)


STRETCHES: dict[str, Callable[..., Tensor]] = {
    "linear": linear_rates,
    "dynamic": dynamic_rates,
    "llama3": llama3_rates,
    "yarn": yarn_rates,
}

RotaryKey = tuple[str, int]


def rotary_key(config: RotaryConfig, size: int) -> RotaryKey:
    """Equal for attentions whose queries are turned by equal angles."""
    return config.model_dump_json(), size


class Turns(NamedTuple):
    """`rates` gives the rate of each pair's angle from the positions; cosines and sines are multiplied by `scale`."""

    rates: Callable[[Tensor], Tensor]
    scale: float


def turns_of(config: RotaryConfig, size: int) -> Turns:
    """How queries and keys of a size are turned."""
    if config.stretch is None:
        return Turns(partial(plain_rates, size=size, base=config.base), 1.0)
    numbers = config.stretch.model_dump(exclude={"kind"})
    scale = numbers.pop("attention_factor", 1.0)
    return Turns(partial(STRETCHES[config.stretch.kind], size=size, base=config.base, **numbers), scale)


def rotary_tables(positions: Tensor, turns: Turns) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the angle by which each pair is turned: twice [B or 1, 1, S, D], float64 where there is."""
    device = exact_device(positions.device)
    wave = angles(positions, turns.rates(positions.to(device)))[:, None]  # [B or 1, 1, S, D/2]
    cosine, sine = wave.cos().repeat(1, 1, 1, 2), wave.sin().repeat(1, 1, 1, 2)  # [B or 1, 1, S, D]
    if turns.scale != 1.0:
        cosine, sine = cosine * turns.scale, sine * turns.scale
    if device != positions.device:
        return cosine.float().to(positions.device), sine.float().to(positions.device)
    return cosine, sine


def rotate(x: Tensor, tables: tuple[Tensor, Tensor]) -> Tensor:
    """Turn each pair by its angle (Su et al. 2021, eq. 34): [B, H, S, D] to the same. The paper turns neighbours, (2i,
    2i + 1); here, as in Llama and ModernBERT, a pair stands half a head apart, (i, i + D/2): the same model with its
    channels in another order.
    """
    cosine, sine = (table.to(x.dtype) for table in tables)
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine  # [B, H, S, D]


class RelativeBias(nn.Module):
    """A learned number for each head and bucket of distances (Raffel et al. 2020, §2.1). Half of the buckets are single
    distances, the other half grow logarithmically up to `max_distance`.
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
