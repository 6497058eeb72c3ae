"""What tasks on masked words share: the answers at masked tokens, compared with token frequencies."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.stores.split import Split
from glassformer.models.inputs import Batch, Output
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import cross_entropy, soft_loss, sums_of_rows
from glassformer.scoring.score import THIS_MODEL, Integers, Measure, Reals, Scores, Unigram, numbers_of_rows
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.task import Both, Preparation, SoftLoss, Source, Task, answers, measured_batches
from glassformer.tasks.words.corpus import HELD_OUT_EPOCH, MaskedRows

# Why a loss of masked words may stay where it began.
OF_MASKING = ("lines that repeat thousands of times in the text", "a mask rate far from 0.15")


def answered(
    model: Transformer, source: Source, *, heads: Sequence[str], limit: int | None
) -> Iterator[tuple[Batch, Output]]:
    """All rows, or a fixed choice of `limit`, masked as in no training epoch, with the model's outputs."""
    device = next(model.parameters()).device
    with evaluating(model):
        for batch in measured_batches(source, limit, epoch=HELD_OUT_EPOCH):
            moved = batch.to(device)
            yield batch, model(moved.inputs, scored_at=moved.scored_at, heads=heads)


def by_row(batch: Batch) -> tuple[Integers, Tensor]:
    """What each row asks, as a number [B], and the labels of its masked words, as many of each row [B, N]."""
    assert batch.scored_at is not None
    assert batch.inputs.ids is not None
    labels = batch.labels["masked_words"].view(batch.scored_at.shape)
    return numbers_of_rows(batch.inputs.ids, batch.scored_at % batch.inputs.ids.shape[1], labels), labels


def unigram_of(preparation: Preparation, sources: Mapping[Split, Source]) -> Unigram:
    """The frequency of each training token, as saved or else counted; raises DataError if none can be masked."""
    if (saved := Unigram.saved(preparation.facts)) is not None:
        return saved.without(preparation.tokenizer.special_ids)
    source = sources["train"]
    assert isinstance(source, MaskedRows)
    return source.unigram()


class MaskedRowScores:
    """Answers at masked tokens, added up row by row, so that each score has its interval; the baseline answers by the
    frequencies of tokens alone.
    """

    def __init__(self, unigram: Unigram, baseline: str = Unigram.name) -> None:
        self._unigram, self._baseline = unigram, baseline
        self._mine, self._theirs, self._asked = list[Reals](), list[Reals](), list[Integers]()

    def add(self, asked: Integers, labels: Tensor, losses: Tensor, right: Tensor, *more: Reals) -> None:
        """What each row asks, as a number [B]; losses [n] and right answers [n] for those of its labels [B, N] that are
        not IGNORED; `more`: the same sums [B, 3] of other labels, those of the model and of the baseline. Rows without
        labels are left out.
        """
        guessed, one = self._unigram.guess(labels[labels != IGNORED].numpy()), torch.ones(len(losses))
        mine = np.hstack([sums_of_rows(labels, losses, right, one), *more[:1]])  # [B, 3 or 6]
        theirs = np.hstack([sums_of_rows(labels, *map(torch.from_numpy, guessed), one), *more[1:]])  # [B, 3 or 6]
        some = mine[:, 2::3].any(axis=1)  # [B]
        self._mine.append(mine[some])
        self._theirs.append(theirs[some])
        self._asked.append(asked[some])

    def scores(
        self, of_sums: Callable[[Reals], Mapping[str, Reals]], shares: tuple[str, ...] = ("accuracy",)
    ) -> Scores:
        asked = np.concatenate(self._asked)
        both = (np.concatenate(rows) for rows in (self._mine, self._theirs))
        mine, theirs = (Measure.of_questions(rows, of_sums, asked) for rows in both)
        measures = {THIS_MODEL: mine, self._baseline: theirs}
        return Scores.measured("masked tokens", measures, count=int(mine.sums[2]), shares=shares)


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
    of_tokens = ("loss", "perplexity", "accuracy")
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
