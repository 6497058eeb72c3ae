"""Masks that are annotated in the data with their answers: "She [MASK] [MASK] summer better" and "likes the".

N masked tokens · V vocabulary
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch

from glassformer.base.errors import DataError
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.scoring.score import Scores, Unigram, loss_and_accuracy, numbers_of_rows
from glassformer.tasks.predictor import Context
from glassformer.tasks.records import RecordTask
from glassformer.tasks.rows import Axis, Row
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Preparation
from glassformer.tasks.words.annotated_masks.settings import AnnotatedMasksData, AnnotatedMasksSection
from glassformer.tasks.words.guesses import check_guesses, log_probabilities, scored_in_each
from glassformer.tasks.words.masked_words import MaskedRowScores, MaskedWordsTask
from glassformer.text.tokenizer import MASK, Encoding, Tokenizer


class Annotated(NamedTuple):
    """A text with its answers in place, which of its tokens are masked, and its file and line."""

    encoding: Encoding
    masked: list[bool]
    where: str


class AnnotatedMasks(MaskedWordsTask, RecordTask[Annotated, list[tuple[float, bool]]]):
    """Predicting the words masked in the data: for each masked token its loss, and whether it is right."""

    Section = AnnotatedMasksSection
    Data = AnnotatedMasksData
    roles = ("text", "answers")
    axes: ClassVar[Mapping[str, Axis]] = {"masked_words": "scored"}

    def __init__(
        self, section: AnnotatedMasksSection, tokenizer: Tokenizer, *, length: int | None, unigram: Unigram
    ) -> None:
        self.section, self.tokenizer, self.length, self.unigram = section, tokenizer, length, unigram

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        check_guesses(model, tokenizer)
        return cls(AnnotatedMasksSection(), tokenizer, length=context.length, unigram=Unigram(np.zeros(1, np.int64)))

    @classmethod
    def training_texts(cls, data: Any, shares: Mapping[str, float]) -> Iterator[str]:
        for split, record in cls._split(data, shares, lambda error: None):
            with suppress(DataError):  # reported when the record becomes an example
                if split == "train":
                    yield _with_answers(record.values, record.where)[0]

    @classmethod
    def from_records(
        cls, section: Any, preparation: Preparation, records: Sequence[Record], held_out: Sequence[Record]
    ) -> Self:
        tokenizer, length = preparation.tokenizer, preparation.data.length
        if (saved := Unigram.saved(preparation.facts)) is not None:
            return cls(section, tokenizer, length=length, unigram=saved)
        ids: list[int] = []
        for record in records:
            with suppress(DataError):  # reported when the record becomes an example
                ids += tokenizer.encode(_with_answers(record.values, record.where)[0], special=False).ids
        unigram = Unigram.count(torch.tensor(ids, dtype=torch.int64).numpy(), tokenizer.vocabulary_size)
        return cls(section, tokenizer, length=length, unigram=unigram)

    def facts(self) -> dict[str, Any]:
        return self.unigram.facts

    def example(self, values: Mapping[str, object], where: str) -> Annotated:
        text, places = _with_answers(values, where)
        encoding = self.tokenizer.encode(text)
        if self.length is not None and len(encoding) > self.length:
            raise DataError(
                f"{where}: a text with its own masks must fit into a row of {self.length} tokens",
                got=f"{len(encoding)} tokens",
                do="raise data.length, or shorten the text",
            )
        for start, end in places:
            covered = _covered(encoding, [(start, end)])
            answer = [id_ for id_, inside in zip(encoding.ids, covered, strict=True) if inside]
            if not answer or self.tokenizer.unknown_id in answer:
                raise DataError(
                    f"{where}: an answer must be a word that the tokenizer knows", got=repr(text[start:end])
                )
        return Annotated(encoding, _covered(encoding, places), where)

    def rows(self, example: Annotated) -> list[Row]:
        encoding, masked = example.encoding, example.masked
        mask_id = self.tokenizer.mask_id or 0
        return [
            Row(
                ids=[mask_id if hides else id_ for id_, hides in zip(encoding.ids, masked, strict=True)],
                segments=encoding.segments if any(encoding.segments) else None,
                masked_words=masked,
                scored_at=[place for place, hides in enumerate(masked) if hides],
                labels={"masked_words": [id_ for id_, hides in zip(encoding.ids, masked, strict=True) if hides]},
            )
        ]

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[tuple[float, bool]]]]:
        """For each row, the loss of each masked token and whether it was predicted."""
        for batch, found in log_probabilities(model, batches):
            labels = batch.labels["masked_words"].cpu()  # [N]
            losses = -found.gather(1, labels[:, None])[:, 0]  # [N]
            right = found.argmax(dim=-1) == labels  # [N]
            counts = scored_in_each(batch)
            for row, its, whether in zip(
                batch.row_ids.tolist(), losses.split(counts), right.split(counts), strict=True
            ):
                yield row, list(zip(its.tolist(), whether.tolist(), strict=True))

    def merge(self, example: Annotated, found: Sequence[list[tuple[float, bool]]]) -> list[tuple[float, bool]]:
        return found[0]

    def known_by(self, example: Annotated) -> str | None:
        return " ".join(map(str, example.encoding.ids))

    def scores(self, pairs: Sequence[tuple[Annotated, list[tuple[float, bool]]]]) -> Scores:
        rows = MaskedRowScores(self.unigram)
        for example, found in pairs:
            losses, right = torch.tensor(found, dtype=torch.float64).T  # [N], [N]
            row = self.rows(example)[0]
            labels = torch.tensor([row.labels["masked_words"]])
            rows.add(numbers_of_rows([row.ids], labels), labels, losses, right)
        return rows.scores(loss_and_accuracy)


def _with_answers(values: Mapping[str, object], where: str) -> tuple[str, list[tuple[int, int]]]:
    """The text with its answers in place, and the characters [start, end) of each; raises DataError."""
    text, found = values["text"], values["answers"]
    answers = found.split() if isinstance(found, str) else found
    if not isinstance(text, str) or not isinstance(answers, list) or not all(isinstance(a, str) for a in answers):
        raise DataError(f"{where} must hold a text and a list of words", got=f"{text!r} and {found!r}"[:80])
    parts = text.split(MASK)
    if len(parts) < 2 or len(parts) - 1 != len(answers):
        raise DataError(
            f"{where}: a text needs {MASK} and as many answers as masks",
            got=f"{len(parts) - 1} masks and {len(answers)} answers in {text[:60]!r}",
        )
    if not all(answer.strip() for answer in answers):
        raise DataError(f"{where}: an answer must be a word", got=f"an empty one in {text[:60]!r}")
    whole, places = parts[0], []
    for answer, part in zip(answers, parts[1:], strict=True):
        places.append((len(whole), len(whole) + len(answer)))
        whole += answer + part
    return whole, places


def _covered(encoding: Encoding, places: Sequence[tuple[int, int]]) -> list[bool]:
    return [
        not special and any(start < high and low < end for low, high in places)
        for (start, end), special in zip(encoding.offsets, encoding.special, strict=True)
    ]
