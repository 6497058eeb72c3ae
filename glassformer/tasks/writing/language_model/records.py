"""Running text as rows in which each token is to be told from those before it.

B rows · S tokens of a row
"""

from __future__ import annotations

import hashlib

import numpy as np
import torch

from glassformer.data.batches.batch import Integers
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.batches.pack import Frame, PackedRows
from glassformer.data.settings import CorpusSection
from glassformer.data.stores.store import TokenStore
from glassformer.models.inputs import Batch, Inputs
from glassformer.scoring.score import Unigram
from glassformer.tasks.rows import Shape
from glassformer.tasks.writing.next_token_scores import NEXT
from glassformer.text.tokenizer import Tokenizer


class NextTokens:
    """All documents as one stream, cut into rows without padding: the model reads a row's tokens, and the token behind
    each of them is its label. The token that ends a document is learned like any other.

    With `document_mask` no token looks at another document. Nothing is random: a row is the same in each epoch.
    """

    rows_of_each = 1
    total_counts = None  # each token of a step weighs the same

    def __init__(self, store: TokenStore, tokenizer: Tokenizer, data: CorpusSection) -> None:
        mask = bool(data.document_mask)
        frame = Frame.language_model(tokenizer)
        self.text = PackedRows(store, data.length + 1, frame=frame, document_mask=mask, overlap=1)
        self._vocabulary, self._document_mask = tokenizer.vocabulary_size, mask
        facts = [type(self).__name__, store.fingerprint, data.length, mask, frame.before, frame.after]
        self.fingerprint = hashlib.sha256(repr(facts).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.text)

    @property
    def lengths(self) -> int:
        return self.text.length - 1

    def batch(self, examples: Integers, epochs: Integers, *, shape: Shape) -> Batch:
        count = shape[0]  # all rows have the same length
        filled = np.concatenate([examples, np.repeat(examples[-1:], count - len(examples))])
        rows = self.text.rows(filled)  # arrays [B, S + 1]
        known = rows.real[:, 1:] & (np.arange(count) < len(examples))[:, None]  # [B, S]
        if self._document_mask:  # a document's first token has nothing before it
            known &= rows.documents[:, 1:] == rows.documents[:, :-1]
        labels = np.where(known, rows.ids[:, 1:], IGNORED)  # [B, S]
        inputs = Inputs(ids=torch.from_numpy(rows.ids[:, :-1].copy()))
        if self._document_mask:
            inputs = Inputs(
                ids=inputs.ids,
                real=torch.from_numpy(rows.real[:, :-1].copy()),
                positions=torch.from_numpy(rows.positions[:, :-1].copy()),
                documents=torch.from_numpy(rows.documents[:, :-1].copy()),
            )
        # Without the mask, padding needs none of its own: it stands at the end, and no token looks ahead.
        return Batch(
            inputs=inputs,
            labels={NEXT: torch.from_numpy(labels)},
            counts={NEXT: float(known.sum())},
            row_ids=torch.arange(count, dtype=torch.int32),
            weights=(torch.arange(count) < len(examples)).float(),
            tokens=int(rows.real[: len(examples), :-1].sum()),
        )

    def unigram(self) -> Unigram:
        """How frequent each token of the stream is, the ends of documents among them."""
        counted = Unigram.count(self.text.store.ids, self._vocabulary)
        for id_ in (*self.text.frame.before, *self.text.frame.after):
            counted.counts[id_] += self.text.store.documents
        return counted
