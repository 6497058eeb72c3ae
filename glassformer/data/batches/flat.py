"""Many sequences of different lengths in two arrays: millions of them without an object for each.

E sequences · N numbers of all of them
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from glassformer.data.batches.batch import Integers


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
        found: npt.NDArray[np.int32] = self.values[self.offsets[number] : self.offsets[number + 1]]
        return found

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
