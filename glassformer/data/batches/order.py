"""The order of the rows: a pure function of (fingerprint, seed, epoch, batch), computed without a table.

B rows in a batch
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import DataError
from glassformer.data.batches.batch import Integers

Words = npt.NDArray[np.uint64]

_ALL = (1 << 64) - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def random_bits(*names: int | npt.NDArray[np.integer[Any]]) -> Words:
    """64 random bits for each combination of counters; arrays are broadcast against each other."""
    state = np.zeros((), np.uint64)
    for name in names:
        part = np.array(name & _ALL, np.uint64) if isinstance(name, int) else name.astype(np.uint64)
        state = mixed(state ^ part)
    return state


def mixed(state: Words) -> Words:
    """Hash 64 bits: flipping any bit of `state` flips about half of the result."""
    with np.errstate(over="ignore"):  # the arithmetic is modulo 2^64 on purpose
        state = state + _GOLDEN
        state = (state ^ (state >> np.uint64(30))) * _FIRST
        state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


def uniform(*names: int | npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.float64]:
    """Numbers in [0, 1), one for each combination of counters."""
    return (random_bits(*names) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def below(limit: int | npt.NDArray[np.int64], *names: int | npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Whole numbers in [0, limit), for limits far below 2^53."""
    return (uniform(*names) * limit).astype(np.int64)


_ROUNDS = 6


def key_of(fingerprint: str, seed: int) -> int:
    """A 63-bit key of a data set and a seed."""
    digest = hashlib.blake2b(f"{fingerprint}:{seed}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def shuffled(places: Integers, size: int, *, key: int, epoch: int | Integers = 0) -> Integers:
    """The images of indices under a random permutation of 0 … size-1, any shape: a Feistel network (Luby & Rackoff
    1988), applied again until the result is below `size` (Black & Rogaway 2002).
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
