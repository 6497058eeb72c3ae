"""Language modelling: each token is told from those before it (Radford et al. 2019).

B rows · S tokens of a row · N = B·S · V vocabulary · W width
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.data.batches.batch import Integers
from glassformer.data.settings import CorpusSection, DataSection
from glassformer.data.stores.split import Split
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.scoring.blocked_cross_entropy import token_cross_entropy
from glassformer.scoring.score import Scores, Unigram
from glassformer.tasks.settings import CardWords
from glassformer.tasks.task import Preparation, Source
from glassformer.tasks.words.corpus import CorpusTask
from glassformer.tasks.writing.language_model.records import NextTokens
from glassformer.tasks.writing.next_token_scores import MOST_COUNTED, NEXT, NextTokenScores
from glassformer.tasks.writing.settings import StreamSection
from glassformer.tasks.writing.writers import check_writes
from glassformer.text.special import GPT2


class LanguageModelSection(StreamSection):
    """A task without random choices and without settings."""

    compared_by: ClassVar[str] = "-bits_per_byte"  # losses per token are of different tokens where vocabularies differ
    card: ClassVar[CardWords] = CardWords(
        "text",
        cut="scored in overlapping windows, and of a longer prompt the end is read",
        limit="It writes one token after the other and plans nothing; what it tells is made up.",
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
        if isinstance(data, CorpusSection) and not data.pack:
            raise ConfigError(
                "the rows of a language model are packed",
                got="data.pack = false",
                do="leave it out; with data.document_mask = true the documents of a row do not see each other",
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
        counts = preparation.facts.get("unigram_counts")
        unigram = found["train"].unigram() if counts is None else Unigram(np.array(counts, np.int64))
        return cls(section, unigram, tokenizer.byte_counts), sources

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        states = model(batch.inputs, heads=()).states  # [B, S, W]
        return {NEXT: token_cross_entropy(model, states, batch.labels[NEXT])}

    # ------------------------------------------------------------------ measuring

    @property
    def baseline_loss(self) -> float:
        return self.unigram.entropy

    def facts(self) -> dict[str, Any]:
        return {"unigram_counts": self.unigram.counts.tolist()}

    def evaluate(self, model: Transformer, source: NextTokens, *, limit: int | None = None) -> Scores:
        return NextTokenScores(self.unigram, self.bytes_of).measured(model, source, limit)

    def beside(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        stream = stream_of(train, MOST_COUNTED)
        log(f"counting which token follows which two, in {len(stream):,} tokens")
        return NextTokenScores(self.unigram, self.bytes_of).beside_trigram(scores, stream, source, limit)


def stream_of(source: NextTokens, limit: int) -> Integers:
    """The first tokens of the stream that the rows are cut from, about `limit` of them."""
    parts: list[Integers] = []
    numbers = np.arange(min(len(source), max(1, limit // source.lengths)))
    for some in np.array_split(numbers, -(-len(numbers) // _AT_ONCE)):
        rows = source.text.rows(some)
        parts += [rows.ids[:1, :1].ravel()] if not parts else []
        parts.append(rows.ids[:, 1:][rows.real[:, 1:]])
    return np.concatenate(parts)
