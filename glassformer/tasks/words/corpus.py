"""Tasks on running text: documents become a token store, the store is cut into rows, and words of the rows are masked.

B rows · S tokens of a row · A masked words of a row, padded to the same number in each row of a shape · P pairs
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from glassformer.base.counting import number_of
from glassformer.base.errors import ConfigError, DataError
from glassformer.data.batches.batch import Integers
from glassformer.data.batches.corrupt import IGNORED, MaskingSection, mask_words
from glassformer.data.batches.pack import BucketedRows, PackedRows
from glassformer.data.batches.pairs import SentencePairs
from glassformer.data.readers.files import files_of
from glassformer.data.settings import CorpusSection, DataSection
from glassformer.data.stores.corpus import Corpus, prepare, resolve_shares, training_texts
from glassformer.data.stores.split import Split
from glassformer.models.inputs import Batch, Inputs
from glassformer.scoring.score import Measure, Unigram, losses_and_shares
from glassformer.tasks.rows import Shape
from glassformer.tasks.task import Preparation, Source, Task
from glassformer.text.compatible import check_mask
from glassformer.text.tokenizer import Tokenizer

# The epoch of evaluation: its masks differ from those of every training epoch.
HELD_OUT_EPOCH = -1
# With fewer held-out tokens, the 15 % that are masked are too few to compare two models by.
_FEW = 2000


class MaskedRows:
    """Rows with masked words, chosen by (seed, epoch, row) alone; special tokens are never masked. `labels` are further
    ones by loss, [R] each. `cut` says how the rows were made, where their length does not.
    """

    rows_of_each = 1
    total_counts = None  # each masked word of a step weighs the same

    def __init__(
        self,
        rows: BucketedRows | PackedRows | SentencePairs,
        tokenizer: Tokenizer,
        masking: MaskingSection,
        *,
        seed: int,
        document_mask: bool = False,
        labels: Mapping[str, Integers] | None = None,
        cut: str = "",
    ) -> None:
        check_mask(tokenizer)
        self.text, self._tokenizer, self._seed = rows, tokenizer, seed
        self._document_mask, self.row_labels = document_mask, dict(labels or {})
        around = sum(tokenizer.frame)
        most = masking.max_predictions or max(1, math.ceil(masking.rate * (rows.length - around)))
        # The limit keeps all batches in one shape. Single tokens never reach it; a whole word that would exceed it is
        # left out, as in google-research/bert.
        self._masking = masking.model_copy(update={"max_predictions": most})
        made = [type(rows).__name__, rows.length, document_mask]
        # The hash decides the order of the rows: with other names here, recorded runs would see other batches.
        hashed = {name: getattr(masking, name) for name in _HASHED} | {"given": False}
        facts = [rows.store.fingerprint, made, hashed, sorted(tokenizer.special_ids), *([cut] if cut else [])]
        self.fingerprint = hashlib.sha256(repr(facts).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.text)

    @property
    def lengths(self) -> Integers | int:
        return self.text.lengths

    def batch(self, examples: Integers, epochs: Integers, *, shape: Shape) -> Batch:
        count, length = shape
        missing = count - len(examples)
        filled = np.concatenate([examples, np.repeat(examples[-1:], missing)])
        rows = self.text.rows(filled, length)
        ordinary = ~np.isin(rows.ids, sorted(self._tokenizer.special_ids))  # [B, S]
        corrupted = mask_words(
            rows.ids,
            ordinary & ~rows.special,
            rows.words,
            settings=self._masking,
            vocabulary=self._tokenizer.vocabulary_size,
            mask_id=self._tokenizer.mask_id,
            special_ids=self._tokenizer.special_ids,
            seed=self._seed,
            rows=filled,
            epoch=np.concatenate([epochs, np.repeat(epochs[-1:], missing)]),
        )
        masked = corrupted.places[corrupted.places < len(examples) * length]
        # The same number of tokens to score in each batch of a shape, so that a compiled step sees no other shape.
        # As many in each row: then the last block computes no others.
        row, column = np.divmod(masked, length)
        slot = np.arange(len(masked)) - np.searchsorted(row, row)
        scored_at = np.repeat(np.arange(count)[:, None] * length, self._most(length), axis=1)  # [B, A]
        labels = np.full_like(scored_at, IGNORED)  # [B, A]
        scored_at[row, slot] = masked
        labels[row, slot] = corrupted.labels[row, column]
        of_rows = {
            name: np.where(np.arange(count) < len(examples), of[filled], IGNORED)
            for name, of in self.row_labels.items()
        }
        return Batch(
            inputs=Inputs(
                ids=torch.from_numpy(corrupted.ids),
                real=torch.from_numpy(rows.real),
                positions=torch.from_numpy(rows.positions),
                segments=None if rows.segments is None else torch.from_numpy(rows.segments),
                documents=torch.from_numpy(rows.documents) if self._document_mask else None,
                masked_words=torch.from_numpy(corrupted.masked_words),
            ),
            labels={
                "masked_words": torch.from_numpy(labels.ravel()),
                **{name: torch.from_numpy(values) for name, values in of_rows.items()},
            },
            counts={
                "masked_words": float(len(masked)),
                **{name: float((values != IGNORED).sum()) for name, values in of_rows.items()},
            },
            row_ids=torch.arange(count, dtype=torch.int32),
            weights=(torch.arange(count) < len(examples)).float(),
            tokens=int(rows.real[: len(examples)].sum()),
            scored_at=torch.from_numpy(scored_at),
        )

    def _most(self, length: int) -> int:
        limit = self._masking.max_predictions
        assert limit is not None
        share = length if self._masking.whole_words else max(1, math.ceil(self._masking.rate * length))
        return min(limit, share)

    def unigram(self) -> Unigram:
        """The frequency of each token of the text that can be masked; raises DataError if none can."""
        counted = Unigram.count(self.text.store.ids, self._tokenizer.vocabulary_size)
        found = counted.without(self._tokenizer.special_ids)
        if not found.counts.any():
            raise DataError(
                "text must have words that can be masked",
                got="none that the tokenizer knows",
                do="train a tokenizer on it",
            )
        return found


_HASHED = ("rate", "mask", "random", "keep", "whole_words", "max_predictions", "static", "duplicates")


class CorpusTask(Task):
    """A task on running text: the files are read once into a token store."""

    Data = CorpusSection

    resolve_shares = staticmethod(resolve_shares)  # type: ignore[assignment]  # of a corpus alone
    training_texts = staticmethod(training_texts)  # type: ignore[assignment]

    @classmethod
    def stores(cls, preparation: Preparation) -> Corpus:
        """The text as tokens, from the cache when it is in it. Raises DataError for files that cannot be read."""
        data = preparation.data
        assert isinstance(data, CorpusSection)
        cache = Path(data.cache) if data.cache is not None else preparation.cache
        named = [*data.files, *data.validation_files]
        paths = files_of(named, text=data.text)
        size = sum(path.stat().st_size for path in paths)
        with preparation.stage("splitting the text into tokens", size) as advance:
            corpus = prepare(data, preparation.tokenizer, cache, shares=preparation.shares, advance=advance)
        if preparation.measuring:
            return corpus
        for note in corpus.notes():
            preparation.log(note)
        trained, held_out = corpus.stores["train"], corpus.stores["validation"]
        preparation.log(
            f"{len(trained):,} tokens in {number_of(trained.documents, 'document')} to learn from, "
            f"{len(held_out):,} held out"
        )
        if 0 < len(held_out) < _FEW:
            more = "hold out more with --validation or --validation-file"
            preparation.log(f"too little text is held out for reliable scores: {more}")
        return corpus


Rows = TypeVar("Rows", bound=Source)


class PairsTask(CorpusTask):
    """A task on pairs of texts that are cut from documents: next sentence, or sentence order."""

    of_pairs = True

    @classmethod
    def check_data(cls, data: DataSection) -> None:
        assert isinstance(data, CorpusSection)
        given = {"pack": not data.pack, "document_mask": data.document_mask is not None, "passages": data.passages}
        for name, is_given in given.items():
            if is_given:
                wanted = "the rows of this task are pairs of texts, one in a row"
                raise ConfigError(wanted, got=f"data.{name}", do="leave it out")

    @classmethod
    def cut(
        cls,
        section: Any,
        preparation: Preparation,
        rows: Callable[[SentencePairs, int], Rows],
        *,
        wrong: float,
    ) -> tuple[dict[Split, Rows], LabelCounts, str]:
        """The rows that are made of the pairs of each split and their seed, the counts of the training labels, and the
        text's fingerprint. `wrong`: the share of wrong pairs. Logs which held-out split has too few documents.
        """
        corpus, data = cls.stores(preparation), preparation.data
        swapped = section.negatives == "swapped"
        found: dict[Split, Rows] = {}
        labels: dict[Split, Integers] = {}
        for split, store in corpus.stores.items():
            if split != "train" and not store.documents:
                continue
            seed = preparation.seed if split == "train" else data.seed
            try:
                pairs = SentencePairs.prepare(
                    store,
                    preparation.tokenizer,
                    data.length,
                    seed=seed,
                    duplicates=section.copies,
                    short=section.short,
                    unrelated=wrong,
                    swapped=swapped,
                )
            except DataError as error:
                if split == "train":
                    raise
                preparation.log(f"the {split} text is not used: {error.wanted}, and this has {error.got}")
                continue
            found[split], labels[split] = rows(pairs, seed), pairs.labels
        counts = LabelCounts.of(labels["train"], preparation.facts.get("pair_counts"))
        if not preparation.measuring:
            for note in counts.notes(section.labels, data.length):
                preparation.log(note)
        return found, counts, corpus.stores["train"].fingerprint


# From this share of one label on, a model that always answers it seems good: a note says so.
_ONE_SIDED = 0.6


class LabelCounts:
    """How many training pairs have each label."""

    def __init__(self, counts: Sequence[int]) -> None:
        self.counts = tuple(counts)
        total = sum(counts) + len(counts)
        self.prior = tuple((count + 1) / total for count in counts)

    @classmethod
    def of(cls, labels: Any, saved: Sequence[int] | None = None) -> LabelCounts:
        return cls(saved or np.bincount(labels, minlength=2).tolist())

    @property
    def entropy(self) -> float:
        """The loss of predicting each label by its frequency alone, in nats."""
        return -math.fsum(share * math.log(share) for share in self.prior)

    @property
    def most_frequent(self) -> int:
        return self.prior.index(max(self.prior))

    def guess(self, labels: Any) -> Measure:
        """Loss and accuracy on labels [P] of always choosing the most frequent one."""
        asked = np.asarray(labels)
        return losses_and_shares(-np.log(np.array(self.prior))[asked], asked == self.most_frequent)

    def notes(self, names: Sequence[str], length: int) -> list[str]:
        """Notes on them before training; one more where one label is far more frequent."""
        total = sum(self.counts)
        share = self.counts[1] / total
        notes = [f"{total:,} pairs to learn from, {share:.0%} of them {names[1]}"]
        if share > _ONE_SIDED:
            notes.append(
                f"rows of {length} tokens often hold only one sentence, which then gets a random next one: always "
                f"answering {names[1]} is right in {share:.0%}; raise data.length, or train sentence-order with "
                "task.negatives = swapped"
            )
        return notes
