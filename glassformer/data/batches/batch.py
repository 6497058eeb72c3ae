"""Batches of token rows, as arrays.

B rows, S tokens of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Batch:
    """Rows of equal length; each array is [B, S].

    `real` is False at padding; `positions` restart at each document where there is a document mask; `documents`
    numbers the documents of a row (-1 at padding, all 0 without a document mask); `words` numbers its words, -1 for
    special tokens and padding; `special` marks tokens that are not text, padding included; `segments` are 0 and 1 for
    the two texts of a pair.
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


def pad(rows: Sequence[Sequence[int]], length: int, pad_id: int) -> tuple[Integers, Flags]:
    """Rows as one array: ids [B, S] padded with `pad_id`, and which are real [B, S]; longer ones are cut."""
    ids = np.full((len(rows), length), pad_id, np.int64)  # [B, S]
    lengths = np.array([min(len(row), length) for row in rows], np.int64)  # [B]
    for place, row in enumerate(rows):
        ids[place, : lengths[place]] = row[:length]
    return ids, np.arange(length) < lengths[:, None]  # [B, S], [B, S]
