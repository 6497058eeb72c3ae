"""Rows without padding: concatenated documents, cut into rows of full length; and batches of rows of nearly equal
length, for texts that are not packed into one row.

R rows in all, B rows in a batch, S tokens of a row, D documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glassformer.base.errors import ConfigError, DataError
from glassformer.data.batches.batch import Batch, Integers, key_of, shuffled
from glassformer.data.stores.store import TokenStore
from glassformer.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Frame:
    """Special tokens around each document (or each half of one) and, with `close`, around each row."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    close: bool = True

    @classmethod
    def encoder(cls, tokenizer: Tokenizer) -> Frame:
        """The tokenizer's special tokens, around each document and each row."""
        before, after = tokenizer.frame_ids
        return cls(before, after)

    @classmethod
    def language_model(cls, tokenizer: Tokenizer, *, apart: bool = False) -> Frame:
        """A token for the end of each document, and one for its beginning where this is another token, or where the
        documents are kept `apart`: then the end of the one before is not seen.
        """
        begin, end = tokenizer.begin_id, tokenizer.end_id
        before = () if begin is None or (begin == end and not apart) else (begin,)
        return cls(before, () if end is None else (end,), close=False)


class PackedRows:
    """All documents of a store as rows of `length` tokens; only the very last row may have padding.

    The documents, each in its frame, form one stream. With `frame.close` a row is a slice of this stream inside its own
    frame. With `document_mask` the positions restart at each document and `Batch.documents` numbers them, so that each
    slice of a document can be computed independently of the others. A row begins with the last `overlap` tokens of the
    row before it: with 1, each token of the stream but the first follows another one in some row. With `begins` [D],
    each part of the store that begins at one of these tokens is a document.
    """

    def __init__(
        self, store: TokenStore, length: int, *, frame: Frame, document_mask: bool, pad_id: int = 0, overlap: int = 0,
        begins: Integers | None = None,
    ) -> None:  # fmt: skip
        around = len(frame.before) + len(frame.after)
        self._body = length - around if frame.close else length
        self._overlap, self._step = overlap, self._body - overlap
        if self._step < 1:
            raise ConfigError(f"a row must be longer than its {around} special tokens", got=f"length {length}")
        self.store, self.length, self.frame, self.document_mask, self.pad_id = (
            store,
            length,
            frame,
            document_mask,
            pad_id,
        )
        self._offsets = np.asarray(store.offsets if begins is None else np.append(begins, len(store)))  # [D+1]
        documents = len(self._offsets) - 1
        # Where each document's frame begins in the stream.
        self._starts = self._offsets + np.arange(documents + 1) * around  # [D+1]
        # A closed row adds its own frame: the stream begins after the first opening and ends before the last closing.
        self._skip = len(frame.before) if frame.close else 0
        self._total = max(int(self._starts[-1]) - (around if frame.close else 0), 0) if documents else 0

    def __len__(self) -> int:
        return -(-max(self._total - self._overlap, 0) // self._step)

    @property
    def lengths(self) -> int:
        return self.length

    def rows(self, row_ids: Integers, length: int | None = None) -> Batch:
        """The rows with these numbers: [B] -> arrays [B, S]; all have the same length, and `length` is ignored."""
        frame, store = self.frame, self.store
        opening, closing = (frame.before, frame.after) if frame.close else ((), ())
        places = row_ids[:, None] * self._step + np.arange(self._body)  # [B, body]
        filled = places < self._total  # [B, body]
        places = np.minimum(places, self._total - 1) + self._skip

        # For each position of the stream: its document, its position in the framed document, its token of the text.
        document = np.searchsorted(self._starts, places, side="right") - 1  # [B, body]
        local = places - self._starts[document]
        size = self._offsets[document + 1] - self._offsets[document]
        token = local - len(frame.before)
        text = (token >= 0) & (token < size)
        index = np.clip(self._offsets[document] + token, 0, len(store) - 1)

        ids = np.full((len(row_ids), self.length), self.pad_id, np.int64)  # [B, S]
        special = np.ones_like(ids, np.bool_)
        word_begins = np.ones_like(ids, np.bool_)
        document_begins = np.zeros_like(ids, np.bool_)
        body = slice(len(opening), len(opening) + self._body)

        tokens = store.ids[index].astype(np.int64)
        for offset, id_ in enumerate(frame.before):
            tokens[local == offset] = id_
        for offset, id_ in enumerate(frame.after):
            tokens[token == size + offset] = id_
        ids[:, : len(opening)] = opening
        ids[:, body] = np.where(filled, tokens, self.pad_id)
        special[:, body] = ~(text & filled)
        word_begins[:, body] = ~text | store.words_begin(index)
        word_begins[:, len(opening)] = True  # a word cut in two by the row's edge
        document_begins[:, body] = filled & (local == 0)

        count = filled.sum(1)  # [B]
        real = np.arange(self.length) < (len(opening) + count + len(closing))[:, None]  # [B, S]
        rows = np.arange(len(row_ids))
        for offset, id_ in enumerate(closing):
            ids[rows, len(opening) + count + offset] = id_
        if closing:
            # A document that ends just before the row's end already has its closing: the row's closing belongs to no
            # document.
            ended = (token == size + len(frame.after) - 1)[rows, count - 1]
            document_begins[rows, len(opening) + count] |= ended
        document_begins[:, 0] = False
        positions = np.broadcast_to(np.arange(self.length), ids.shape)  # [B, S]
        documents = np.zeros_like(ids)
        if self.document_mask:
            documents = np.where(real, document_begins.cumsum(1), -1)
            positions = positions - np.maximum.accumulate(np.where(document_begins, positions, 0), axis=1)
        return Batch(
            ids=ids,
            real=real,
            positions=np.where(real, positions, 0),
            documents=documents,
            words=np.where(special, -1, word_begins.cumsum(1)),
            special=special,
        )


# The most lengths of a run: each is compiled once, so there are few.
_MOST_LENGTHS = 12
# Matrix products are fastest at multiples of this.
_STEP = 8
# The most lengths that are considered: more would only take longer to choose from.
_CONSIDERED = 128


def choose_lengths(lengths: Integers, batch: int, most: int = _MOST_LENGTHS) -> Integers:
    """At most `most` lengths for rows [E] with the least padding, by dynamic programming over multiples of 8."""
    if not len(lengths):
        raise DataError("training needs at least one row", got="none", do="give more text")
    longest = int(lengths.max())
    rounded = np.unique(np.minimum(-(-lengths // _STEP) * _STEP, longest))
    if len(rounded) > _CONSIDERED:
        rounded = rounded[np.unique(np.linspace(0, len(rounded) - 1, _CONSIDERED).round().astype(int))]
    rows = np.searchsorted(np.sort(lengths), rounded, side="right")  # rows up to each length
    before = np.concatenate([[0], rows])
    # cost[i, j]: the rows after length i - 1 and up to length j, all padded to length j
    cost = -(-(before[None, 1:] - before[:-1, None]) // batch) * batch * rounded[None, :]
    cost = np.where(
        np.arange(len(rounded))[:, None] <= np.arange(len(rounded))[None, :], cost, np.iinfo(np.int64).max // 4
    )
    best, came_from = cost[0].copy(), [np.zeros(len(rounded), np.int64)]
    totals = [best[-1]]
    for _ in range(1, min(most, len(rounded))):
        through = np.concatenate([[np.iinfo(np.int64).max // 4], best[:-1]])[:, None] + cost  # [i, j]
        came_from.append(through.argmin(axis=0))
        best = through.min(axis=0)
        totals.append(best[-1])
    chosen, place = [], len(rounded) - 1
    for used in range(int(np.argmin(totals)), -1, -1):
        chosen.append(int(rounded[place]))
        place = int(came_from[used][place]) - 1
    return np.array(chosen[::-1], np.int64)


class BucketedRows:
    """Each document becomes one row with its special tokens; a document that is too long becomes several equal rows. Or
    each part of the store that begins at one of `begins` [D], where it has at least `least` tokens.
    """

    def __init__(
        self,
        store: TokenStore,
        length: int,
        *,
        frame: Frame,
        pad_id: int = 0,
        begins: Integers | None = None,
        least: int = 0,
    ) -> None:
        around = len(frame.before) + len(frame.after)
        if length <= around:
            raise ConfigError(f"a row must be longer than its {around} special tokens", got=f"length {length}")
        self.store, self.length, self.frame, self.pad_id = store, length, frame, pad_id
        offsets = store.offsets if begins is None else np.append(begins, len(store))  # [D+1]
        sizes = np.diff(offsets)  # [D]
        parts = -(-sizes // (length - around)) * (sizes >= least)  # [D]
        document = np.repeat(np.arange(len(sizes)), parts)  # [R]
        part = np.arange(len(document)) - np.repeat(parts.cumsum() - parts, parts)  # [R]
        # Parts of equal length instead of full ones and a short rest: part p of n spans p/n … (p+1)/n of the document.
        self._starts = offsets[document] + sizes[document] * part // parts[document]  # [R]
        self._ends = offsets[document] + sizes[document] * (part + 1) // parts[document]  # [R]
        self.lengths: Integers = self._ends - self._starts + around  # [R]

    def __len__(self) -> int:
        return len(self._starts)

    def rows(self, row_ids: Integers, length: int | None = None) -> Batch:
        """The rows with these numbers, padded to `length` or to the longest: [B] -> arrays [B, S]."""
        before, after = self.frame.before, self.frame.after
        length = int(self.lengths[row_ids].max()) if length is None else length
        starts, sizes = self._starts[row_ids, None], (self._ends - self._starts)[row_ids, None]  # [B, 1]
        place = np.broadcast_to(np.arange(length), (len(row_ids), length))  # [B, S]
        token = place - len(before)
        text = (token >= 0) & (token < sizes)
        real = token < sizes + len(after)
        index = np.clip(starts + token, 0, len(self.store) - 1)
        ids = np.where(text, self.store.ids[index], self.pad_id).astype(np.int64)  # [B, S]
        ids[:, : len(before)] = before
        for offset, id_ in enumerate(after):
            ids[token == sizes + offset] = id_
        begins = self.store.words_begin(index) | (token == 0)
        return Batch.of_one_text(ids=ids, real=real, text=text, place=place, begins=begins)


class BucketOrder:
    """Batches of rows from one bucket each, in an order that depends on (fingerprint, seed, epoch) alone."""

    def __init__(self, bucket_of: Integers, batch: int | Integers, *, fingerprint: str, seed: int) -> None:
        if not len(bucket_of):
            raise DataError("training needs at least one row", got="none", do="give more text")
        self._key = key_of(fingerprint, seed)
        self._counts = np.bincount(bucket_of)  # rows of each bucket
        self.rows = np.broadcast_to(np.asarray(batch, np.int64), self._counts.shape)  # rows of a batch of each bucket
        self._members = np.argsort(bucket_of, kind="stable")  # [R], bucket after bucket
        self._batches = (-(-self._counts // self.rows)).cumsum()  # batches up to the end of each bucket

    def __len__(self) -> int:
        """Batches in an epoch; the last one of each bucket may be smaller."""
        return int(self._batches[-1])

    @property
    def slots(self) -> int:
        """The rows of an epoch, with those that fill the last batch of each bucket."""
        return int((-(-self._counts // self.rows) * self.rows).sum())

    def _place(self, epoch: int, number: int) -> tuple[int, int]:
        """The bucket of batch `number` of an epoch, and its place among all batches."""
        place = int(shuffled(np.array([number]), len(self), key=self._key, epoch=epoch)[0])
        return int(np.searchsorted(self._batches, place, side="right")), place

    def bucket_of_step(self, step: int) -> int:
        return self._place(*divmod(step, len(self)))[0]

    def of_epoch(self, epoch: int, number: int) -> Integers:
        """The rows of batch `number` of an epoch: [B]."""
        bucket, place = self._place(epoch, number)
        count, batch = int(self._counts[bucket]), int(self.rows[bucket])
        begin = (place - int(self._batches[bucket - 1]) if bucket else place) * batch
        within = shuffled(np.arange(begin, min(begin + batch, count)), count, key=self._key ^ ~bucket, epoch=epoch)
        return self._members[self._counts[:bucket].sum() + within]

    def of_step(self, step: int) -> tuple[Integers, Integers]:
        """The rows of a training step and the epoch of each: [B], [B]."""
        epoch, number = divmod(step, len(self))
        rows = self.of_epoch(epoch, number)
        return rows, np.full(rows.shape, epoch)
