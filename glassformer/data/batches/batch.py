"""Batches of token rows, as arrays, and the order of the rows: a pure function of (fingerprint, seed, epoch, batch),
computed without a table.

B rows (in a batch), S tokens of a row.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import DataError

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Batch:
    """Rows of equal length; each array is [B, S]. `real` is False at padding; `positions` restart at each document
    where there is a document mask; `documents` numbers the documents of a row (-1 at padding, all 0 without a document
    mask); `words` numbers its words, -1 for special tokens and padding; `special` marks tokens that are not text,
    padding included; `segments` are 0 and 1 for the two texts of a pair.
    """

    ids: Integers
    real: Flags
    positions: Integers
    documents: Integers
    words: Integers
    special: Flags
    segments: Integers | None = None

    @classmethod
    def of_one_text(
        cls,
        *,
        ids: Integers,
        real: Flags,
        text: Flags,
        place: Integers,
        begins: Flags,
        segments: Integers | None = None,
    ) -> Batch:
        """Rows of one text or pair each: `text` marks its tokens, `begins` those with which a word begins."""
        return cls(
            ids=ids,
            real=real,
            positions=np.where(real, place, 0),
            documents=np.where(real, 0, -1),
            words=np.where(text, begins.cumsum(1), -1),
            special=~text,
            segments=segments,
        )


class Flat:
    """Sequences of integers: `values` [N] one after the other, and where each begins and the last ends, [E + 1]."""

    def __init__(self, values: npt.NDArray[np.int32], offsets: Integers) -> None:
        self.values, self.offsets = values, offsets

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]]) -> Flat:
        """From sequences, read one by one; numbers of at most 31 bits."""
        values, offsets = array("i"), array("q", [0])
        for sequence in sequences:
            values.extend(sequence)
            offsets.append(len(values))
        return cls(np.frombuffer(values, np.int32), np.frombuffer(offsets, np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> npt.NDArray[np.int32]:
        return self.values[self.offsets[number] : self.offsets[number + 1]]

    @property
    def lengths(self) -> Integers:
        return np.diff(self.offsets)

    def joined(self, chosen: Integers) -> tuple[npt.NDArray[np.int32], Integers, Integers]:
        """The chosen sequences [C] joined: values [n], the place in `chosen` of each [n], and in its sequence [n]."""
        lengths = self.offsets[chosen + 1] - self.offsets[chosen]  # [C]
        of = np.repeat(np.arange(len(chosen)), lengths)  # [n]
        within = np.arange(len(of)) - np.repeat(lengths.cumsum() - lengths, lengths)  # [n]
        return self.values[self.offsets[chosen][of] + within], of, within


class Texts(Sequence[str]):
    """Texts as UTF-8, one after the other."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._bytes, self._offsets = bytearray(), array("q", [0])
        for text in texts:
            self.append(text)

    def append(self, text: str) -> None:
        self._bytes += text.encode("utf-8", "surrogatepass")
        self._offsets.append(len(self._bytes))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> str:  # type: ignore[override]  # no slices: nobody asks for them
        number = range(len(self))[number]
        return self._bytes[self._offsets[number] : self._offsets[number + 1]].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (self[number] for number in range(len(self)))


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
        for key_of_round in rounds[outside].T:
            left, right = right, left ^ (mixed(key_of_round ^ right) & low)
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
