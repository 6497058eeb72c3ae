"""What tasks on masked words share: the answers at masked tokens, compared with token frequencies."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.data.batches.batch import Order
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.stores.split import Split
from glassformer.models.inputs import Batch, Output
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import cross_entropy, soft_loss
from glassformer.scoring.score import Unigram
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.task import Both, Preparation, SoftLoss, Source, Task, answers
from glassformer.tasks.words.corpus import HELD_OUT_EPOCH, MaskedRows, check_some_can_be_masked

# Why a loss of masked words may stay where it began.
OF_MASKING = ("lines that repeat thousands of times in the text", "a mask rate far from 0.15")
UNIT = "masked tokens"
# Rows of a batch that is measured.
_ROWS = 32


def answered(
    model: Transformer, source: Source, *, heads: Sequence[str], limit: int | None
) -> Iterator[tuple[Batch, Output]]:
    """All rows, or a fixed choice of `limit`, masked as in no training epoch, with the model's outputs."""
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


def unigram_of(preparation: Preparation, sources: Mapping[Split, Source]) -> Unigram:
    """The frequency of each training token, as saved or else counted; raises DataError if none can be masked."""
    if (saved := Unigram.saved(preparation.facts)) is not None:
        return saved.without(preparation.tokenizer.special_ids)
    source = sources["train"]
    assert isinstance(source, MaskedRows)
    unigram = source.unigram()
    check_some_can_be_masked(unigram)
    return unigram


def check_encoder(body: ModelConfig) -> None:
    if body.encoder is None or body.decoder is not None or body.head is None:
        raise ConfigError(
            "masked words are learned by an encoder with a vocabulary head",
            got=f"the family {body.family}" if body.head is not None else f"a {body.family} model without it",
            do="choose bert, distilbert, roberta, modernbert or slides",
        )


def of_masked_words(task: Any, both: Both) -> Tensor:
    logits, its = answers(both, "logits")  # [N, V]
    weights = (both.batch.labels["masked_words"] != IGNORED).flatten().float()  # [N]
    return soft_loss(logits, its, weights, both.temperature)


class MaskedWordsTask(Task):
    """A task whose only loss is that of masked words; its baseline predicts the most frequent token."""

    verbs: ClassVar[Mapping[str, str]] = {"head": "fill"}
    soft: ClassVar[Mapping[str, SoftLoss]] = {"masked_words": of_masked_words}
    plateau_causes = OF_MASKING
    weights: ClassVar[Mapping[str, float]] = {"masked_words": 1.0}
    baseline_names = ("unigram",)
    unigram: Unigram

    @classmethod
    def check_body(cls, section: Any, body: ModelConfig) -> None:
        check_encoder(body)

    @property
    def baseline_loss(self) -> float:
        return self.unigram.entropy

    def losses_of(self, model: Transformer, output: Output, batch: Batch) -> dict[str, Tensor]:
        return {"masked_words": cross_entropy(output.logits, batch.labels["masked_words"])}
