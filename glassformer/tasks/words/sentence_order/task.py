"""Whether a text follows another, from running text alone: next sentence (Devlin et al. 2019, §3.1) or sentence order
(Lan et al. 2020, §3.1).

B rows · S tokens of a row · P pairs
"""

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.data.batches.batch import Integers
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.batches.pairs import SentencePairs
from glassformer.data.stores.split import Split
from glassformer.models.families.heads import sentence_head_of, with_sentence_head
from glassformer.models.inputs import Batch, Inputs, Output
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import compared, cross_entropy
from glassformer.scoring.score import THIS_MODEL, Scores, losses_and_shares
from glassformer.tasks.labels.labels import of_texts, two_segments
from glassformer.tasks.rows import Shape
from glassformer.tasks.task import Preparation, SoftLoss, Source
from glassformer.tasks.words.corpus import LabelCounts, PairsTask
from glassformer.tasks.words.masked_words import answered
from glassformer.tasks.words.sentence_order.settings import SentenceOrderSection
from glassformer.text.tokenizer import Tokenizer


class PairRows:
    """Pairs as rows, the same in each epoch. `cut` says how they were made, where the text does not determine it."""

    rows_of_each = 1
    total_counts = None  # each pair weighs the same

    def __init__(self, pairs: SentencePairs, *, segments: bool, cut: str) -> None:
        self.pairs, self._segments = pairs, segments
        facts = [pairs.store.fingerprint, pairs.length, pairs.frame, cut]
        self.fingerprint = hashlib.sha256(repr(facts).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> Integers:
        return self.pairs.lengths

    def batch(self, examples: Integers, epochs: Integers, *, shape: Shape) -> Batch:
        count, length = shape
        filled = np.concatenate([examples, np.repeat(examples[-1:], count - len(examples))])
        rows = self.pairs.rows(filled, length)
        real = np.arange(count) < len(examples)  # [B]
        labels = np.where(real, self.pairs.labels[filled], IGNORED)  # [B]
        segments = rows.segments if self._segments else None
        return Batch(
            inputs=Inputs(
                ids=torch.from_numpy(rows.ids),
                real=torch.from_numpy(rows.real),
                segments=None if segments is None else torch.from_numpy(segments),
            ),
            labels={"sentence_order": torch.from_numpy(labels)},
            counts={"sentence_order": float(len(examples))},
            row_ids=torch.arange(count, dtype=torch.int32),
            weights=torch.from_numpy(real).float(),
            tokens=int(rows.real[: len(examples)].sum()),
        )


class SentenceOrder(PairsTask):
    """One of two labels for a pair of texts that were cut from documents: the sentence head and a softmax."""

    Section = SentenceOrderSection
    verbs: ClassVar[Mapping[str, str]] = {"sentence_head": "classify"}
    soft: ClassVar[Mapping[str, SoftLoss]] = {"sentence_order": of_texts}
    weights: ClassVar[Mapping[str, float]] = {"sentence_order": 1.0}
    baseline_names = ("most_frequent",)
    needs_encoder = "pairs of texts are read by an encoder"
    section: SentenceOrderSection

    def __init__(self, section: SentenceOrderSection, counts: LabelCounts, text_fingerprint: str) -> None:
        self.section, self.counts, self.text_fingerprint = section, counts, text_fingerprint

    @classmethod
    def prepared(cls, section: SentenceOrderSection, preparation: Preparation) -> tuple[Self, dict[Split, Source]]:
        _check_frame(preparation.tokenizer)
        segments = two_segments(preparation.body)
        settings = section.model_dump(include={"negatives", "share", "short", "copies"})

        def rows(pairs: SentencePairs, seed: int) -> PairRows:
            return PairRows(pairs, segments=segments, cut=f"{seed} {settings}")

        found, counts, text_fingerprint = cls.cut(section, preparation, rows, wrong=section.share)
        return cls(section, counts, text_fingerprint), {**found}

    def model(self, body: ModelConfig) -> ModelConfig:
        head = sentence_head_of(body, labels=2, pooling=self.section.pooling, dropout=self.section.dropout)
        return with_sentence_head(body, head)

    @property
    def baseline_loss(self) -> float:
        return self.counts.entropy

    def facts(self) -> dict[str, Any]:
        return {"text_fingerprint": self.text_fingerprint, "pair_counts": list(self.counts.counts)}

    def losses_of(self, model: Transformer, output: Output, batch: Batch) -> dict[str, Tensor]:
        return {"sentence_order": cross_entropy(output.sentence_logits, batch.labels["sentence_order"])}

    def evaluate(self, model: Transformer, source: PairRows, *, limit: int | None = None) -> Scores:
        losses, right, labels = [], [], []
        for batch, output in answered(model, source, heads=("sentence_head",), limit=limit):
            its = batch.labels["sentence_order"]
            loss, hit = compared(output.sentence_logits, its.to(output.states.device))
            losses.append(loss.cpu().double())
            right.append(hit.cpu())
            labels.append(its)
        measures = {
            THIS_MODEL: losses_and_shares(torch.cat(losses).numpy(), torch.cat(right).numpy()),
            "most frequent": self.counts.guess(torch.cat(labels).numpy()),
        }
        return Scores.measured("pairs", measures)


def _check_frame(tokenizer: Tokenizer) -> None:
    """Raise ConfigError for a tokenizer that frames a pair differently from the rows that are learned."""
    first, separator = tokenizer.first_id, tokenizer.separator_id
    if first is None or separator is None:
        return  # SentencePairs refuses it
    if tokenizer.pair_frame_ids != ((first,), (separator,), (separator,)):
        raise ConfigError(
            "sentence order needs a tokenizer that writes a pair as [CLS] A [SEP] B [SEP]",
            got="another form",
            do="start from a bert or modernbert model, or from none",
        )
