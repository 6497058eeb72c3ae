"""The order of the rows: a pure function of (fingerprint, seed, epoch, batch), computed without a table.

B rows in a batch
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from glassformer.base.errors import DataError
from glassformer.data.batches.batch import Integers
from glassformer.data.counter_rng import mixed, random_bits

_ROUNDS = 6


def key_of(fingerprint: str, seed: int) -> int:
    """A 63-bit key of a data set and a seed."""
    digest = hashlib.blake2b(f"{fingerprint}:{seed}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def shuffled(places: Integers, size: int, *, key: int, epoch: int | Integers = 0) -> Integers:
    """The images of indices under a random permutation of 0 … size-1; any shape.

    A Feistel network over the next power of four permutes without a table (Luby & Rackoff 1988); it is applied again to
    a result outside 0 … size-1 until it is inside (Black & Rogaway 2002).
    """
    half = np.uint64(max((size - 1).bit_length() + 1, 2) // 2)
    low = np.uint64((1 << int(half)) - 1)
    epochs = np.broadcast_to(np.asarray(epoch, np.int64), places.shape)
    rounds = random_bits(key, epochs[..., None], np.arange(_ROUNDS))  # one key per round [..., 6]
    result = places.astype(np.uint64)
    outside = np.ones(places.shape, np.bool_)
    while outside.any():
        left, right = result[outside] >> half, result[outside] & low
        for turn in range(_ROUNDS):
            left, right = right, left ^ (mixed(rounds[outside, turn] ^ right) & low)
        result[outside] = (left << half) | right
        outside = result >= size
    return result.astype(np.int64)


@dataclass(frozen=True)
class Order:
    """The order of `rows` rows in batches of `batch`: each epoch has its own, and shows each row once."""

    rows: int
    batch: int
    fingerprint: str
    seed: int

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise DataError("training needs at least one row", got="none", do="give more text or a shorter length")

    def __len__(self) -> int:
        """Batches in an epoch; the last one may be smaller."""
        return -(-self.rows // self.batch)

    def of_epoch(self, epoch: int, number: int) -> Integers:
        """The rows of batch `number` of an epoch: [B]."""
        places = np.arange(number * self.batch, min((number + 1) * self.batch, self.rows))
        return shuffled(places, self.rows, key=key_of(self.fingerprint, self.seed), epoch=epoch)

    def of_step(self, step: int) -> tuple[Integers, Integers]:
        """The rows of a training step and the epoch of each: [B], [B]; epochs follow each other without a gap."""
        epochs, places = np.divmod(np.arange(step * self.batch, (step + 1) * self.batch), self.rows)
        return shuffled(places, self.rows, key=key_of(self.fingerprint, self.seed), epoch=epochs), epochs
