"""Rows of nearly equal length side by side: for texts that must stay apart.

R rows in all, B rows in a batch, S places in a row, D documents.
"""

from __future__ import annotations

import numpy as np

from glassformer.data.batch import Batch, Integers
from glassformer.data.order import key_of, shuffled
from glassformer.data.pack import Frame
from glassformer.data.store import TokenStore
from glassformer.errors import ConfigError, DataError

# Few lengths, so that a compiled step meets few shapes; close enough that little is padded.
LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)


def bucket_lengths(length: int) -> Integers:
    """The lengths that rows of at most `length` pieces are padded to; the last is `length` itself."""
    return np.array([bucket for bucket in LENGTHS if bucket < length] + [length], np.int64)


class BucketedRows:
    """Each document a row of its own in its frame; one that is too long becomes several rows of about equal length."""

    def __init__(self, store: TokenStore, length: int, *, frame: Frame, pad_id: int = 0) -> None:
        around = len(frame.before) + len(frame.after)
        if length <= around:
            raise ConfigError(f"a row must be longer than its {around} special pieces", got=f"length {length}")
        self.store, self.length, self.frame, self.pad_id = store, length, frame, pad_id
        sizes = np.diff(store.offsets)  # [D]
        parts = -(-sizes // (length - around))  # [D]
        document = np.repeat(np.arange(store.documents), parts)  # [R]
        part = np.arange(len(document)) - np.repeat(parts.cumsum() - parts, parts)  # [R]
        # Equal parts rather than full ones and a stump: part p of n spans p/n … (p+1)/n of the document.
        self._starts = store.offsets[document] + sizes[document] * part // parts[document]  # [R]
        self._ends = store.offsets[document] + sizes[document] * (part + 1) // parts[document]  # [R]
        self.bucket_lengths = bucket_lengths(length)
        self.bucket_of = np.searchsorted(self.bucket_lengths, self._ends - self._starts + around)  # [R]

    def __len__(self) -> int:
        return len(self._starts)

    def rows(self, numbers: Integers) -> Batch:
        """The rows with these numbers, padded to the bucket of the longest: [B] -> arrays [B, S]."""
        before, after = self.frame.before, self.frame.after
        length = int(self.bucket_lengths[self.bucket_of[numbers].max()])
        starts, sizes = self._starts[numbers, None], (self._ends - self._starts)[numbers, None]  # [B, 1]
        place = np.broadcast_to(np.arange(length), (len(numbers), length))  # [B, S]
        piece = place - len(before)
        text = (piece >= 0) & (piece < sizes)
        real = piece < sizes + len(after)
        index = np.clip(starts + piece, 0, len(self.store) - 1)
        ids = np.where(text, self.store.ids[index], self.pad_id).astype(np.int64)  # [B, S]
        ids[:, : len(before)] = before
        for offset, id_ in enumerate(after):
            ids[piece == sizes + offset] = id_
        word_begins = self.store.words_begin(index) | (piece == 0)
        return Batch(
            ids=ids,
            real=real,
            positions=np.where(real, place, 0),
            documents=np.where(real, 0, -1),
            words=np.where(text, word_begins.cumsum(1), -1),
            special=~text,
        )


class BucketOrder:
    """Batches of rows from one bucket each; which rows, and which batch when, is new in each epoch.

    A pure function of (fingerprint, seed, epoch, batch), as `Order`.
    """

    def __init__(self, rows: BucketedRows, batch: int, *, fingerprint: str, seed: int) -> None:
        if not len(rows):
            raise DataError("training needs at least one row", got="none", do="give more text")
        self.batch, self._key = batch, key_of(fingerprint, seed)
        self._counts = np.bincount(rows.bucket_of, minlength=len(rows.bucket_lengths))  # rows of each bucket
        self._members = np.argsort(rows.bucket_of, kind="stable")  # [R], bucket after bucket
        self._batches = (-(-self._counts // batch)).cumsum()  # batches up to the end of each bucket

    def __len__(self) -> int:
        """Batches in an epoch; the last one of each bucket may be smaller."""
        return int(self._batches[-1])

    def of_epoch(self, epoch: int, number: int) -> Integers:
        """The rows of batch `number` of an epoch: [B]."""
        place = int(shuffled(np.array([number]), len(self), key=self._key, epoch=epoch)[0])
        bucket = int(np.searchsorted(self._batches, place, side="right"))
        count = int(self._counts[bucket])
        begin = (place - int(self._batches[bucket - 1]) if bucket else place) * self.batch
        within = shuffled(np.arange(begin, min(begin + self.batch, count)), count, key=self._key ^ ~bucket, epoch=epoch)
        rows: Integers = self._members[self._counts[:bucket].sum() + within]
        return rows

    def of_step(self, step: int) -> tuple[Integers, Integers]:
        """The rows of a training step and the epoch of each: [B], [B]."""
        epoch, number = divmod(step, len(self))
        rows = self.of_epoch(epoch, number)
        return rows, np.full(rows.shape, epoch)
