"""Dropout whose choices come from (seed, dropout module, row, position), never from the batch.

A counter is hashed to a pseudo-random number, so the same cell of the same row is dropped whatever the other rows,
the padding, the kernel or the batch size, and nothing has to be stored for the backward pass.
The mixing is the 32-bit finalizer of MurmurHash3 with the better constants found by exhaustive search
(public domain), applied to a linear combination of the coordinates with odd multipliers.

B sentences (rows) · the other axes of x are what they are
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

AXIS_MULTIPLIERS = (0x1B873593, 0x2C1B3C6D, 0x297A2D39, 0x5BD1E995)
FIRST_MIX, SECOND_MIX = 0x7FEB352D, 0x846CA68B - (1 << 32)
SITE_MULTIPLIER = 0x9E3779B1
# The longest axis whose places are read from a table.
_LONGEST = 1 << 13
# Numbers of a mask that are made together, unless compiled: what a core's cache holds, and torch leaves to one thread.
_BLOCK = 1 << 15


@dataclass(frozen=True)
class DropoutKey:
    """The source of one step's random choices: `seed` is a scalar int32 tensor, `rows` [B] int32 numbers each row.

    `keys` [B] are both mixed. They are made here, once a step and before anything compiled, so that a mask is little
    enough work for the compiler to do it where it is needed instead of writing it to memory. `places` [A, N] are the
    first N numbers of each axis with its multiplier, read as a table: torch's compiler turns a product with `arange`
    into C++ whose overflow is undefined, and g++ then leaves out the end of rows (torch 2.13, bfloat16, 48 numbers).
    """

    seed: Tensor
    rows: Tensor
    keys: Tensor = field(init=False)
    places: Tensor = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", mix(self.rows + mix(self.seed)))
        numbers = torch.arange(_LONGEST, dtype=torch.int32, device=self.rows.device)  # [N]
        object.__setattr__(self, "places", torch.stack([numbers * each for each in AXIS_MULTIPLIERS]))  # [A, N]

    @staticmethod
    def from_torch(rows: int, device: torch.device) -> DropoutKey:
        """A key from torch's own generator, for training loops that use `torch.manual_seed`."""
        seed = torch.randint(-(1 << 31), (1 << 31) - 1, (), dtype=torch.int64).to(device, torch.int32)
        return DropoutKey(seed, torch.arange(rows, dtype=torch.int32, device=device))


def wrapped(number: int) -> int:
    """The same number modulo 2^32, as int32 holds it."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def mix(counter: Tensor, salt: int = 0) -> Tensor:
    """A bijection of the 32-bit integers that sends adjacent numbers far apart; another one for each `salt`."""
    counter = (counter >> 16).bitwise_and_(0xFFFF).bitwise_xor_(counter).mul_(FIRST_MIX).add_(salt)
    counter = (counter >> 15).bitwise_and_(0x1FFFF).bitwise_xor_(counter).mul_(SECOND_MIX)
    return (counter >> 16).bitwise_and_(0xFFFF).bitwise_xor_(counter)


class Dropout(nn.Module):
    """Dropout (Srivastava et al. 2014) with probability `rate`; `site` is its number within the model."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.site = 0

    def forward(self, x: Tensor, dropout_key: DropoutKey | None, tokens: Tensor | None = None) -> Tensor:
        """[B, ..., S, W] to the same, in eval mode unchanged; `tokens` [B, S]: places in a row if not 0 … S-1."""
        if not self.training or self.rate == 0.0:
            return x
        assert dropout_key is not None, "training with dropout needs a dropout key"
        return torch.where(
            self.keep(x, dropout_key, tokens), x * (1.0 / (1.0 - self.rate)), torch.zeros((), dtype=x.dtype)
        )

    def keep(self, x: Tensor, dropout_key: DropoutKey, tokens: Tensor | None = None) -> Tensor:
        """Which numbers of x stay: bool, the shape of x."""
        *outer, last = range(1, x.dim())
        counter = dropout_key.keys  # [B]
        for axis in outer:
            place = places(dropout_key, axis, x.shape[axis])  # [S]
            if tokens is not None and axis == x.dim() - 2:
                place = (tokens.int() * AXIS_MULTIPLIERS[axis - 1]).view(-1, *[1] * (axis - 1), x.shape[axis])
            counter = counter[..., None] + place  # [B, ..., S]
        place = places(dropout_key, last, x.shape[last])  # [W]
        salt, least = wrapped(self.site * SITE_MULTIPLIER), int(self.rate * (1 << 32)) - (1 << 31)
        if x.device.type != "cpu" or torch.compiler.is_compiling():
            return mix(counter[..., None] + place, salt) >= least  # [B, ..., S, W]
        parts = counter.reshape(-1).split(max(1, _BLOCK // len(place)))
        return torch.cat([mix(part[:, None] + place, salt) >= least for part in parts]).view(x.shape)  # [B, ..., S, W]


def places(dropout_key: DropoutKey, axis: int, count: int) -> Tensor:
    """The first `count` numbers of an axis with its multiplier: [count]."""
    if count <= _LONGEST:
        return dropout_key.places[axis - 1, :count]
    return torch.arange(count, dtype=torch.int32, device=dropout_key.places.device) * AXIS_MULTIPLIERS[axis - 1]
