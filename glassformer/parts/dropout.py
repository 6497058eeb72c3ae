"""Dropout whose choices come from (seed, place in the network, row, position), never from the batch.

A counter is mixed into a random-looking number, so the same cell of the same row is dropped whatever its
neighbours, its padding, the kernel or the batch size, and nothing has to be stored for the backward pass.
The mixing is the 32-bit finalizer of MurmurHash3 with the better constants found by exhaustive search
(public domain), applied to a linear combination of the coordinates with odd multipliers.

B sentences (rows) · the other axes of x are what they are
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

AXIS_MULTIPLIERS = (0x1B873593, 0x2C1B3C6D, 0x297A2D39, 0x5BD1E995)
FIRST_MIX, SECOND_MIX = 0x7FEB352D, 0x846CA68B - (1 << 32)


@dataclass(frozen=True)
class Noise:
    """The source of one step's random choices: `seed` is a scalar int32 tensor, `rows` [B] int32 numbers each row."""

    seed: Tensor
    rows: Tensor

    @staticmethod
    def from_torch(rows: int, device: torch.device) -> Noise:
        """Noise seeded from torch's own generator, for whoever trains by hand with `torch.manual_seed`."""
        seed = torch.randint(-(1 << 31), (1 << 31) - 1, (), dtype=torch.int64).to(device, torch.int32)
        return Noise(seed, torch.arange(rows, dtype=torch.int32, device=device))


def mix(counter: Tensor) -> Tensor:
    """A bijection of the 32-bit integers that makes neighbours look unrelated."""
    counter = (counter ^ ((counter >> 16) & 0xFFFF)) * FIRST_MIX
    counter = (counter ^ ((counter >> 15) & 0x1FFFF)) * SECOND_MIX
    return counter ^ ((counter >> 16) & 0xFFFF)


class Dropout(nn.Module):
    """Zero each number with probability `rate` in training and scale the rest (Srivastava et al. 2014).

    `site` is this module's number within its model; it is given when the model is built.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.site = 0

    def forward(self, x: Tensor, noise: Noise | None) -> Tensor:
        """[B, ...] to [B, ...]; the identity in eval mode."""
        if not self.training or self.rate == 0.0:
            return x
        assert noise is not None, "training with dropout needs noise"
        return torch.where(self.keep(x, noise), x * (1.0 / (1.0 - self.rate)), torch.zeros((), dtype=x.dtype))

    def keep(self, x: Tensor, noise: Noise) -> Tensor:
        """Which numbers of x stay: bool, the shape of x."""
        counter = mix(noise.rows + mix(noise.seed + self.site * 0x3C6EF372))  # [B]
        counter = counter.view(-1, *[1] * (x.dim() - 1))  # [B, 1, ...]
        for axis, multiplier in zip(range(1, x.dim()), AXIS_MULTIPLIERS, strict=False):
            place = torch.arange(x.shape[axis], dtype=torch.int32, device=x.device) * multiplier
            counter = counter + place.view(-1, *[1] * (x.dim() - 1 - axis))
        return (mix(counter) & 0x7FFFFFFF) >= int(self.rate * (1 << 31))
