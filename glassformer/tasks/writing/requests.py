"""From the rows of a batch to what is asked of the decoding loop."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence

from glassformer.models.inputs import Batch


def tokens_of(batch: Batch) -> Iterator[tuple[int, ...]]:
    """The tokens of each row without its padding."""
    ids = batch.inputs.ids
    assert ids is not None
    rows: list[list[int]] = ids.tolist()
    lengths = [len(row) for row in rows] if batch.inputs.real is None else batch.inputs.real.sum(dim=1).tolist()
    return (tuple(row[:length]) for row, length in zip(rows, lengths, strict=True))


def number_of(tokens: Sequence[int]) -> int:
    """The number of a request: a hash of its tokens, so that the samples of a text are the same wherever it stands."""
    return int.from_bytes(hashlib.sha256(array("q", tokens).tobytes()).digest()[:8], "little") >> 1
