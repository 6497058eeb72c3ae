"""BERT's pre-training: masked words and next sentence, learned together (Devlin et al. 2019, §3.1); or, as ALBERT has
it, masked words and sentence order (Lan et al. 2020, §3.1).

B rows · S tokens of a row · N masked words · V vocabulary
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig, SentenceHeadConfig
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.batches.pairs import SentencePairs
from glassformer.data.stores.split import Split
from glassformer.models.inputs import Batch, Output
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import compared, cross_entropy, sums_of_rows
from glassformer.scoring.score import Reals, Scores, Unigram, loss_and_accuracy
from glassformer.tasks.labels.labels import of_texts
from glassformer.tasks.task import Preparation, SoftLoss, Source
from glassformer.tasks.words.bert.settings import BertSection
from glassformer.tasks.words.corpus import LabelCounts, MaskedRows, PairsTask
from glassformer.tasks.words.masked_words import (
    OF_MASKING,
    MaskedRowScores,
    answered,
    by_row,
    check_encoder,
    of_masked_words,
    unigram_of,
)


class Bert(PairsTask):
    """Masked words and next sentence (also swapped ones): two losses, each divided by the number of its labels."""

    Section = BertSection
    verbs: ClassVar[Mapping[str, str]] = {"head": "fill", "sentence_head": "classify"}
    soft: ClassVar[Mapping[str, SoftLoss]] = {"masked_words": of_masked_words, "next_sentence": of_texts}
    plateau_causes = OF_MASKING
    weights: ClassVar[Mapping[str, float]] = {"masked_words": 1.0, "next_sentence": 1.0}
    baseline_names = ("most_frequent",)
    shares = ("masked_words_accuracy",)  # there are fewer pairs than masked words

    def __init__(self, section: BertSection, unigram: Unigram, text_fingerprint: str, pair_counts: LabelCounts) -> None:
        self.section, self.unigram, self.text_fingerprint = section, unigram, text_fingerprint
        self.pair_counts = pair_counts

    @classmethod
    def check_body(cls, section: BertSection, body: ModelConfig) -> None:
        check_encoder(body)
        assert body.encoder is not None
        if body.encoder.embed.segments < 2:
            raise ConfigError(
                "next-sentence prediction needs a model with two segments",
                got=f"a {body.family} model with {body.encoder.embed.segments}",
                do="choose the family bert",
            )

    @classmethod
    def prepared(cls, section: BertSection, preparation: Preparation) -> tuple[Self, dict[Split, Source]]:
        # Of random pairs as it always was: the order of the rows follows from it.
        swapped = " swapped" * (section.negatives == "swapped")

        def rows(pairs: SentencePairs, seed: int) -> MaskedRows:
            labels = {"next_sentence": pairs.labels}
            cut = f"{seed} {section.copies} {section.short} {section.unrelated}{swapped}"
            return MaskedRows(pairs, preparation.tokenizer, section, seed=seed, labels=labels, cut=cut)

        found, pair_counts, text_fingerprint = cls.cut(section, preparation, rows, wrong=section.unrelated)
        sources: dict[Split, Source] = {**found}
        return cls(section, unigram_of(preparation, sources), text_fingerprint, pair_counts), sources

    def model(self, body: ModelConfig) -> ModelConfig:
        return body.model_copy(update={"sentence_head": SentenceHeadConfig(labels=2, pooling="pooler", dropout=0.0)})

    @property
    def baseline_loss(self) -> float:
        return self.unigram.entropy + self.pair_counts.entropy

    def facts(self) -> dict[str, Any]:
        facts = {"text_fingerprint": self.text_fingerprint, "pair_counts": list(self.pair_counts.counts)}
        return {**facts, **self.unigram.facts}

    def losses_of(self, model: Transformer, output: Output, batch: Batch) -> dict[str, Tensor]:
        return {
            "masked_words": cross_entropy(output.logits, batch.labels["masked_words"]),
            "next_sentence": cross_entropy(output.sentence_logits, batch.labels["next_sentence"]),
        }

    def evaluate(self, model: Transformer, source: MaskedRows, *, limit: int | None = None) -> Scores:
        """The scores of both losses, with their sum as `loss`, compared with the most frequent token and label."""
        rows = MaskedRowScores(self.unigram, "most frequent")
        for batch, output in answered(model, source, heads=("head", "sentence_head"), limit=limit):
            words, pairs, device = batch.labels["masked_words"], batch.labels["next_sentence"], output.states.device
            found = compared(output.sentence_logits, pairs.to(device)), _majority(pairs, self.pair_counts)
            of_pairs = [sums_of_rows(pairs, *each, torch.ones(len(each[0]))) for each in found]  # [B, 3] each
            rows.add(*by_row(batch), *compared(output.logits, words.to(device)), *of_pairs)
        return rows.scores(_of_both, self.shares)


def _of_both(sums: Reals) -> dict[str, Reals]:
    """The scores of masked words and next sentences, from sums [..., 6]."""
    words, pairs = loss_and_accuracy(sums[..., :3]), loss_and_accuracy(sums[..., 3:])
    of_words = {f"masked_words_{score}": value for score, value in words.items()}
    of_pairs = {f"next_sentence_{score}": pairs[score] for score in ("loss", "accuracy")}
    return {"loss": words["loss"] + pairs["loss"], **of_words, **of_pairs}


def _majority(labels: Tensor, counts: LabelCounts) -> tuple[Tensor, Tensor]:
    """Losses and right answers of always choosing the label that is most frequent in training."""
    asked = labels[labels != IGNORED]
    return -torch.tensor(counts.prior, dtype=torch.float64).log()[asked], asked == counts.most_frequent
