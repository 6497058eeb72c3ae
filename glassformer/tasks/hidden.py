"""Where the hidden words of masked-word prediction come from: drawn anew each epoch, or standing in the data.

B rows · S pieces
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from glassformer.config import TaskSection
from glassformer.data.batch import Batch, Integers
from glassformer.data.corrupt import Corrupted, mask_words
from glassformer.data.given import GivenMasks, given_batch
from glassformer.data.pack import PackedRows
from glassformer.data.store import TokenStore
from glassformer.errors import DataError
from glassformer.tasks.metrics import Unigram
from glassformer.text.fit import check_mask
from glassformer.text.tokenizer import Tokenizer


class Rows(Protocol):
    """Rows of pieces cut from a store, packed or in buckets."""

    store: TokenStore
    length: int

    def __len__(self) -> int: ...

    def rows(self, numbers: Integers) -> Batch:
        """The rows with these numbers: [B] -> arrays [B, S]."""
        ...


class HiddenWords(Protocol):
    """Rows with words to find. With `walls` a row may hold several documents that do not see each other."""

    fingerprint: str
    walls: bool

    def __len__(self) -> int: ...

    def rows(self, numbers: Integers, epochs: Integers) -> tuple[Batch, Corrupted]:
        """The rows with these numbers as they are hidden in these epochs: [B], [B]."""
        ...

    def most(self, length: int) -> int:
        """Words that can be hidden in one row of `length` pieces."""
        ...

    def unigram(self) -> Unigram:
        """How frequent each piece is that could be hidden."""
        ...


class DrawnMasks:
    """Words drawn by chance: the same for (seed, epoch, row), whatever the batch. Special pieces are never drawn, not
    even those that stand in the text or stand for a word that the tokenizer does not know.
    """

    def __init__(self, rows: Rows, tokenizer: Tokenizer, settings: TaskSection, *, seed: int) -> None:
        check_mask(tokenizer)
        self._rows, self._tokenizer, self._seed = rows, tokenizer, seed
        self.walls = isinstance(rows, PackedRows) and rows.walls
        around = sum(tokenizer.frame)
        most = settings.max_predictions or max(1, math.ceil(settings.rate * (rows.length - around)))
        # The limit keeps all batches in one shape. Single pieces never meet it; a whole word that would pass it is
        # left out, as in google-research/bert.
        self._settings = settings.model_copy(update={"max_predictions": most})
        cut = [type(rows).__name__, rows.length, self.walls]
        facts = [rows.store.fingerprint, cut, settings.model_dump(exclude={"name"}), sorted(tokenizer.special_ids)]
        self.fingerprint = hashlib.sha256(repr(facts).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, numbers: Integers, epochs: Integers) -> tuple[Batch, Corrupted]:
        """The rows with these numbers as they are hidden in these epochs: [B], [B]."""
        batch = self._rows.rows(numbers)
        corrupted = mask_words(
            batch.ids,
            ~batch.special,
            batch.words,
            settings=self._settings,
            vocabulary=self._tokenizer.vocabulary_size,
            mask_id=self._tokenizer.mask_id,
            special_ids=self._tokenizer.special_ids,
            seed=self._seed,
            rows=numbers,
            epoch=epochs,
        )
        return batch, corrupted

    def most(self, length: int) -> int:
        """Words that can be hidden in one row of `length` pieces."""
        limit = self._settings.max_predictions
        assert limit is not None
        share = length if self._settings.whole_words else max(1, math.ceil(self._settings.rate * length))
        return min(limit, share)

    def unigram(self) -> Unigram:
        """How frequent each piece of the text is that is not special."""
        tokenizer = self._tokenizer
        return Unigram.count(self._rows.store.ids, tokenizer.vocabulary_size).without(tokenizer.special_ids)


class StandingMasks:
    """Texts whose masks stand in the data with their answers: the same in each epoch. Held in memory.

    Raises DataError for a text of more than `length` pieces, and for an answer that is no piece.
    """

    walls = False

    def __init__(self, examples: Sequence[GivenMasks], tokenizer: Tokenizer, *, length: int | None = None) -> None:
        if not examples:
            raise DataError("masked words need at least one text with [MASK] and its answers", got="none")
        check_mask(tokenizer)
        self._vocabulary = tokenizer.vocabulary_size
        self._batch, self._corrupted = given_batch(examples, tokenizer, length=length)
        self._most = int((self._corrupted.labels >= 0).sum(1).max())
        facts = [tokenizer.fingerprint, [(example.text, example.answers) for example in examples]]
        self.fingerprint = hashlib.sha256(repr(facts).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self._batch.ids)

    def rows(self, numbers: Integers, epochs: Integers) -> tuple[Batch, Corrupted]:
        """The rows with these numbers: [B]."""
        whole, corrupted = self._batch, self._corrupted
        batch = Batch(
            ids=whole.ids[numbers],
            real=whole.real[numbers],
            positions=whole.positions[numbers],
            documents=whole.documents[numbers],
            words=whole.words[numbers],
            special=whole.special[numbers],
        )
        labels = corrupted.labels[numbers]
        return batch, Corrupted(corrupted.ids[numbers], labels, corrupted.hidden[numbers], np.flatnonzero(labels >= 0))

    def most(self, length: int) -> int:
        """Words that are hidden in the row that hides most."""
        return self._most

    def unigram(self) -> Unigram:
        """How frequent each piece of the texts is."""
        return Unigram.count(self._batch.ids[~self._batch.special], self._vocabulary)
