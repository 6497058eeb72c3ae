"""Language modelling: each token is predicted from those before it (Radford et al. 2019).

B rows · S tokens of a row · N = B·S · V vocabulary · W width
"""

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.data.batches.batch import Integers
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.batches.pack import Frame, PackedRows
from glassformer.data.settings import CorpusSection, DataSection
from glassformer.data.stores.split import Split
from glassformer.data.stores.store import TokenStore
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import token_cross_entropy
from glassformer.scoring.score import Scores, Unigram
from glassformer.tasks.rows import Shape
from glassformer.tasks.settings import CardWords
from glassformer.tasks.task import Preparation, Source
from glassformer.tasks.words.corpus import CorpusTask
from glassformer.tasks.writing.next_token_scores import MOST_COUNTED, NEXT, NextTokenScores
from glassformer.tasks.writing.settings import StreamSection
from glassformer.tasks.writing.writers import check_writes
from glassformer.text.special import GPT2
from glassformer.text.tokenizer import Tokenizer


class NextTokens:
    """All documents as one stream of rows, the same each epoch; `document_mask`: none looks at another."""

    rows_of_each = 1
    total_counts = None  # each token of a step weighs the same

    def __init__(self, store: TokenStore, tokenizer: Tokenizer, data: CorpusSection) -> None:
        mask = bool(data.document_mask)
        frame = Frame.language_model(tokenizer, apart=mask)
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
        """The frequency of each token of the stream, ends of documents included."""
        counted = Unigram.count(self.text.store.ids, self._vocabulary)
        for id_ in (*self.text.frame.before, *self.text.frame.after):
            counted.counts[id_] += self.text.store.documents
        return counted


class LanguageModelSection(StreamSection):
    """A task without random choices and without settings."""

    compared_by: ClassVar[str] = "-bits_per_byte"  # losses per token are of different tokens where vocabularies differ
    card: ClassVar[CardWords] = CardWords(
        "text",
        cut="scored in overlapping windows, and only the end of a longer prompt is read",
        limit="It writes one token after the other and plans nothing; what it writes is made up.",
    )
    name: Literal["language-model"] = "language-model"


# Rows whose tokens are read together.
_AT_ONCE = 4096


class LanguageModel(CorpusTask):
    """The probability of each token of a text after those before it; rows are packed without padding."""

    Section = LanguageModelSection
    verbs: ClassVar[Mapping[str, str]] = {"head": "generate"}
    of_imported = "decoder"
    special: ClassVar = GPT2
    weights: ClassVar[Mapping[str, float]] = {NEXT: 1.0}
    baseline_names = ("unigram", "trigram")
    fits_baselines = True
    of_tokens = ("loss", "perplexity", "accuracy")
    section: LanguageModelSection

    def __init__(self, section: LanguageModelSection, unigram: Unigram, bytes_of: Integers | None) -> None:
        self.section, self.unigram, self.bytes_of = section, unigram, bytes_of

    @classmethod
    def check_data(cls, data: DataSection) -> None:
        if isinstance(data, CorpusSection) and (data.passages or not data.pack):
            raise ConfigError(
                "the rows of a language model are packed",
                got="data.passages = true" if data.passages else "data.pack = false",
                do="leave it out; with data.document_mask = true the documents of a row do not attend to each other",
            )

    @classmethod
    def check_body(cls, section: LanguageModelSection, body: ModelConfig) -> None:
        check_writes(body)

    @classmethod
    def prepared(cls, section: LanguageModelSection, preparation: Preparation) -> tuple[Self, dict[Split, Source]]:
        corpus, data, tokenizer = cls.stores(preparation), preparation.data, preparation.tokenizer
        assert isinstance(data, CorpusSection)
        found = {split: NextTokens(store, tokenizer, data) for split, store in corpus.stores.items()}
        sources: dict[Split, Source] = {split: source for split, source in found.items() if len(source)}
        unigram = Unigram.saved(preparation.facts) or found["train"].unigram()
        return cls(section, unigram, tokenizer.byte_counts), sources

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        states = model(batch.inputs, heads=()).states  # [B, S, W]
        return {NEXT: token_cross_entropy(model, states, batch.labels[NEXT])}

    @property
    def baseline_loss(self) -> float:
        return self.unigram.entropy

    def facts(self) -> dict[str, Any]:
        return self.unigram.facts

    def evaluate(self, model: Transformer, source: NextTokens, *, limit: int | None = None) -> Scores:
        return NextTokenScores(self.unigram, self.bytes_of).measured(model, source, limit)

    def with_baselines(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        stream = stream_of(train)
        log(f"counting which token follows which two, in {len(stream):,} tokens")
        return NextTokenScores(self.unigram, self.bytes_of).with_trigram(scores, stream, source, limit)


def stream_of(source: NextTokens) -> Integers:
    """The first tokens of the stream that the rows are cut from, about MOST_COUNTED of them."""
    parts: list[Integers] = []
    numbers = np.arange(min(len(source), max(1, MOST_COUNTED // source.lengths)))
    for some in np.array_split(numbers, -(-len(numbers) // _AT_ONCE)):
        rows = source.text.rows(some)
        parts += [rows.ids[:1, :1].ravel()] if not parts else []
        parts.append(rows.ids[:, 1:][rows.real[:, 1:]])
    return np.concatenate(parts)
