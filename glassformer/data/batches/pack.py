"""Rows without padding: concatenated documents, cut into rows of full length.

B rows, S tokens of a row, D documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glassformer.base.errors import ConfigError
from glassformer.data.batches.batch import Batch, Integers
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
    def language_model(cls, tokenizer: Tokenizer) -> Frame:
        """A token for the end of each document, and one for its beginning where this is another token."""
        begin, end = tokenizer.begin_id, tokenizer.end_id
        before = () if begin is None or begin == end else (begin,)
        return cls(before, () if end is None else (end,), close=False)


class PackedRows:
    """All documents of a store as rows of `length` tokens; only the very last row may have padding.

    The documents, each in its frame, form one stream. With `frame.close` a row is a slice of this stream inside its own
    frame. With `document_mask` the positions restart at each document and `Batch.documents` numbers them, so that each
    slice of a document can be computed independently of the others. A row begins with the last `overlap` tokens of the
    row before it: with 1, each token of the stream but the first follows another one in some row.
    """

    def __init__(
        self, store: TokenStore, length: int, *, frame: Frame, document_mask: bool, pad_id: int = 0, overlap: int = 0
    ) -> None:
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
        documents = store.documents
        # Where each document's frame begins in the stream.
        self._starts = np.asarray(store.offsets) + np.arange(documents + 1) * around  # [D+1]
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
        size = store.offsets[document + 1] - store.offsets[document]
        token = local - len(frame.before)
        text = (token >= 0) & (token < size)
        index = np.clip(store.offsets[document] + token, 0, len(store) - 1)

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
