"""Batches of token rows, as arrays.

B rows, S tokens of a row.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
