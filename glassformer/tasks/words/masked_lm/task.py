"""Masked language modelling: words are masked, and the model learns to guess them (Devlin et al. 2019, §3.1).

B rows · S tokens of a row · N masked words, padded to the same number in each batch · V vocabulary
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.data.batches.buckets import BucketedRows
from glassformer.data.batches.corrupt import MaskingSection
from glassformer.data.batches.order import Order
from glassformer.data.batches.pack import Frame, PackedRows
from glassformer.data.settings import CorpusSection
from glassformer.data.stores.split import Split
from glassformer.data.stores.store import TokenStore
from glassformer.models.inputs import Batch, Output
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import cross_entropy
from glassformer.scoring.score import THIS_MODEL, Baseline, Scores, Tally, Unigram, compared, guessed
from glassformer.tasks.card_words import FILLED
from glassformer.tasks.soft_losses import SoftLoss, of_masked_words
from glassformer.tasks.task import Preparation, Source, TaskSection, evaluating
from glassformer.tasks.words.corpus import HELD_OUT_EPOCH, CorpusTask, MaskedRows, check_some_can_be_masked
from glassformer.text.tokenizer import Tokenizer

# Why a loss of masked words may stay where it began.
OF_MASKING = ("lines that repeat thousands of times in the text", "a mask rate far from 0.15")

UNIT = "masked tokens"
# Rows of one forward pass in evaluation.
_ROWS = 32


class MaskedLMSection(TaskSection, MaskingSection):
    """Which words are masked, and how. `training_rate` is the share that is masked in training, by default `rate`, the
    share in every evaluation: more masked words teach more in the same step (Wettig et al. 2023).
    """

    name: Literal["masked-lm"] = "masked-lm"
    training_rate: float | None = Field(default=None, gt=0, lt=1)


class MaskedLM(CorpusTask):
    """Guessing masked words. `baselines` are measured beside the model when it is evaluated."""

    Section = MaskedLMSection
    verbs: ClassVar[Mapping[str, str]] = {"head": "fill"}
    card = FILLED
    soft: ClassVar[Mapping[str, SoftLoss]] = {"masked_words": of_masked_words}
    plateau_causes = OF_MASKING
    weights: ClassVar[Mapping[str, float]] = {"masked_words": 1.0}
    best = "-loss"
    baseline_names = ("unigram",)

    def __init__(
        self, section: MaskedLMSection, unigram: Unigram, baselines: Sequence[Baseline] = (), text_fingerprint: str = ""
    ) -> None:
        self.section, self.unigram, self.baselines = section, unigram, tuple(baselines)
        self.text_fingerprint = text_fingerprint

    @classmethod
    def check_body(cls, section: MaskedLMSection, body: ModelConfig) -> None:
        """Raise ConfigError unless the model is an encoder with a vocabulary head."""
        check_encoder(body)

    @classmethod
    def prepared(cls, section: MaskedLMSection, preparation: Preparation) -> tuple[Self, dict[Split, Source]]:
        """Rows with masked words, drawn by the run's seed in training and by the data's seed in evaluation."""
        corpus, data = cls.stores(preparation), preparation.data
        assert isinstance(data, CorpusSection)

        learned = section
        if section.training_rate is not None and not preparation.measuring:
            learned = section.model_copy(update={"rate": section.training_rate})

        def source(split: Split, store: TokenStore) -> MaskedRows:
            if split == "train":
                return masked_rows(data, store, preparation.tokenizer, learned, seed=preparation.seed)
            return masked_rows(data, store, preparation.tokenizer, section, seed=data.seed)

        # The words that are masked in evaluation depend on the data's seed alone, so that models of other training
        # seeds are measured on the same words.
        sources: dict[Split, Source] = {
            split: source(split, store) for split, store in corpus.stores.items() if store.documents
        }
        unigram = unigram_of(preparation, sources)
        return cls(section, unigram, [unigram], corpus.stores["train"].fingerprint), sources

    @property
    def baseline_loss(self) -> float:
        """The entropy of the text's tokens: the loss of knowing only how frequent each of them is."""
        return self.unigram.entropy

    def facts(self) -> dict[str, Any]:
        """How frequent each token of the training text is, and the fingerprint of the text."""
        return {"text_fingerprint": self.text_fingerprint, "unigram_counts": self.unigram.counts.tolist()}

    def losses_of(self, model: Transformer, output: Output, batch: Batch) -> dict[str, Tensor]:
        """The sum of the cross-entropies at the masked words, of logits [N, V]."""
        return {"masked_words": cross_entropy(output.logits, batch.labels["masked_words"])}

    def evaluate(self, model: Transformer, source: MaskedRows, *, limit: int | None = None) -> Scores:
        """Loss, perplexity and accuracy at the masked words, beside the baselines'."""
        tally = Tally()
        of_baselines = [(baseline, Tally()) for baseline in self.baselines]
        for batch, output in answered(model, source, heads=("head",), limit=limit):
            labels = batch.labels["masked_words"]
            tally.add(*compared(output.logits, labels.to(output.states.device)))
            for baseline, its in of_baselines:
                its.add(*guessed(baseline, batch, labels))
        others = {baseline.name: its.scores() for baseline, its in of_baselines}
        return Scores(tally.targets, UNIT, {THIS_MODEL: tally.scores(), **others})


def answered(
    model: Transformer, source: Source, *, heads: Sequence[str], limit: int | None
) -> Iterator[tuple[Batch, Output]]:
    """All rows of a source, or a fixed choice of `limit` of them, masked as in no training epoch, with the model's
    outputs.
    """
    device = next(model.parameters()).device
    order = Order(len(source), _ROWS, source.fingerprint, 0)
    count = min(limit or len(source), len(source))
    lengths = source.lengths
    with evaluating(model):
        for number in range(math.ceil(count / _ROWS)):
            numbers = order.of_epoch(HELD_OUT_EPOCH, number)[: count - number * _ROWS]
            length = lengths if isinstance(lengths, int) else int(lengths[numbers].max())
            batch = source.batch(numbers, np.full_like(numbers, HELD_OUT_EPOCH), shape=(len(numbers), length))
            moved = batch.to(device)
            yield batch, model(moved.inputs, scored_at=moved.scored_at, heads=heads)


def masked_rows(
    data: CorpusSection, store: TokenStore, tokenizer: Tokenizer, masking: MaskingSection, *, seed: int
) -> MaskedRows:
    """The rows of a store as the `[data]` table cuts them, with masked words."""
    frame, pad_id = Frame.encoder(tokenizer), tokenizer.pad_id or 0
    if not data.pack:
        return MaskedRows(BucketedRows(store, data.length, frame=frame, pad_id=pad_id), tokenizer, masking, seed=seed)
    # An encoder attends in both directions: without this mask it would also use other documents of the row.
    document_mask = True if data.document_mask is None else data.document_mask
    rows = PackedRows(store, data.length, frame=frame, document_mask=document_mask, pad_id=pad_id)
    return MaskedRows(rows, tokenizer, masking, seed=seed, document_mask=document_mask)


def unigram_of(preparation: Preparation, sources: Mapping[Split, Source]) -> Unigram:
    """How frequent each token of the training text is: as it was saved, else counted. Raises DataError when no token
    can be masked.
    """
    counts = preparation.facts.get("unigram_counts")
    if counts is not None:
        return Unigram(np.array(counts, np.int64)).without(preparation.tokenizer.special_ids)
    source = sources["train"]
    assert isinstance(source, MaskedRows)
    unigram = source.unigram()
    check_some_can_be_masked(unigram)
    return unigram


def check_encoder(body: ModelConfig) -> None:
    """Raise ConfigError unless the model is an encoder with a vocabulary head."""
    if body.encoder is None or body.decoder is not None or body.head is None:
        raise ConfigError(
            "masked words are learned by an encoder with a vocabulary head",
            got=f"the family {body.family}" if body.head is not None else f"a {body.family} model without it",
            do="choose bert, distilbert, roberta, modernbert or slides",
        )
