"""Which of several candidates belongs to a text: a score for each, and a softmax over them (Devlin et al. 2019, §4.4).

B rows · G groups, one for each window of a record · C candidates of a group
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import DataError
from glassformer.config import ModelConfig
from glassformer.data.readers.rows import Columns
from glassformer.scoring.calibration import log_mean, log_softmax
from glassformer.scoring.score import THIS_MODEL, Scores, losses_and_shares, widened
from glassformer.tasks.labels.choose.answers import Choice, Question, candidates_of, place_of
from glassformer.tasks.labels.choose.settings import ChooseData, ChooseSection
from glassformer.tasks.labels.labels import pooled_probes, two_segments
from glassformer.tasks.predictor import SENTENCES, Context, untrained
from glassformer.tasks.records import RecordTask
from glassformer.tasks.rows import Axis, Row, check_columns, not_finite, text_of
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Both, Preparation, SoftLoss
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import text_rows

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.models.inputs import Batch, Output
    from glassformer.models.transformer import Transformer

# Places that a note shows, and the share of rows computed in vain from which on a note reports it.
_SHOWN, _MUCH = 10, 0.25


def _of_candidates(task: Any, both: Both) -> Tensor:
    from glassformer.scoring.cross_entropy import soft_loss  # not at the top: answers need no torch

    scores, real, weights = grouped(both.answered, both.batch)  # [G, C], [G, C], [G]
    its, _, _ = grouped(both.taught, both.batch)
    return soft_loss(scores, its, weights, both.temperature, among=real)


class Choose(RecordTask[Question, Choice]):
    """One of at least two candidates. A long text has several windows, each a group of rows with a softmax, whose
    probabilities are averaged; smaller groups are filled with rows of weight 0.
    """

    Section = ChooseSection
    Data = ChooseData
    of_pairs = True
    verbs: ClassVar[Mapping[str, str]] = {"sentence_head": "choose"}
    head_use = "candidates"
    needs_encoder = "candidates are scored by an encoder"
    soft: ClassVar[Mapping[str, SoftLoss]] = {"choice": _of_candidates}
    weights: ClassVar[Mapping[str, float]] = {"choice": 1.0}
    axes: ClassVar[Mapping[str, Axis]] = {"choice": "row"}
    baseline_names = ("most_frequent_place", "chance", "tf_idf")
    section: ChooseSection
    head = "sentence_head"
    sample = ("A text with several candidates.", "the first candidate", "the second candidate")
    sample_option = "--choice"
    reads_several = True

    def record_of(self, text: str) -> dict[str, object]:
        return {"text": text, "choices": list(SENTENCES[:3])}

    def __init__(
        self,
        section: ChooseSection,
        tokenizer: Tokenizer,
        *,
        length: int | None,
        segments: bool,
        places: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        self.section, self.tokenizer, self.length, self._segments = section, tokenizer, length, segments
        # By the number of candidates, how often the right one has each place in the training records.
        self.places = {count: tuple(of) for count, of in (places or {}).items()}

    @property
    def segments(self) -> bool:
        """Whether rows number the text and its candidate."""
        return self._segments or self.section.pooling == "pair"

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        head = model.config.sentence_head
        if head is None or head.labels != 1 or not isinstance(context.section, ChooseSection):
            wanted = "a choice needs a model that was trained to choose"
            raise untrained(wanted, model, context, "glassformer train choose TABLE.jsonl")
        return cls(context.section, tokenizer, length=context.length, segments=two_segments(model.config))

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, float]]:
        for batch in batches:
            scores = model(batch.inputs, heads=("sentence_head",)).sentence_logits  # [B, 1]
            yield from zip(batch.row_ids.tolist(), widened(scores)[:, 0].tolist(), strict=True)

    def found(self, row: Row, answers: npt.NDArray[np.floating[Any]]) -> float:
        return float(answers[0])

    def merge(self, example: Question, found: Sequence[float]) -> Choice:
        """A softmax over the candidates in each window, and the mean of the windows' probabilities."""
        count = len(example.choices)
        scores = np.array(found, np.float64).reshape(-1, count)  # [G, C]
        logs = log_mean(log_softmax(scores)).tolist()  # [C]
        if not all(map(math.isfinite, logs)):
            raise not_finite("a model must give finite numbers to choose with", example.text)
        best = logs.index(max(logs))
        return Choice(example.choices[best], best, example.choices, tuple(logs), example.text, len(scores))

    @classmethod
    def columns(cls, data: ChooseData) -> Mapping[str, Columns]:
        choices: Columns = data.choices[0] if len(data.choices) == 1 else data.choices
        return check_columns({"text": data.text, "choices": choices, "label": data.label})

    @classmethod
    def texts_of(cls, record: Record) -> tuple[str, ...]:
        text, choices = record.values["text"], record.values["choices"]
        texts = [text, *choices] if isinstance(choices, list | tuple) else [text]
        return tuple(each for each in texts if isinstance(each, str) and each)

    def example(self, values: Mapping[str, object], where: str) -> Question:
        text, choices = text_of(values["text"], where), candidates_of(values.get("choices"), where)
        return Question(text, choices, place_of(values["label"], choices, where) if "label" in values else None)

    def rows(self, example: Question) -> list[Row]:
        return [row for group in self.groups(example) for row in group]

    def groups(self, example: Question) -> list[list[Row]]:
        """A group of rows for each window, one for each candidate; the first row has the place of the right one as its
        label. Where a candidate has fewer windows, those at the same share of the text go together.
        """
        cut = [text_rows(self.tokenizer, example.text, choice, length=self.length) for choice in example.choices]
        most = max(map(len, cut))
        groups = []
        for number in range(most):
            rows = [of[number * len(of) // most] for of in cut]
            group = [Row(ids=ids, segments=of if self.segments else None, weight=1 / most) for ids, of in rows]
            if example.label is not None:
                group[0] = replace(group[0], labels={"choice": example.label})
            groups.append(group)
        return groups

    @classmethod
    def from_records(
        cls, section: ChooseSection, preparation: Preparation, records: Sequence[Record], held_out: Sequence[Record]
    ) -> Self:
        known = preparation.facts.get("place_counts")
        found = {int(count): of for count, of in known.items()} if known else _places(records)
        length, segments = preparation.data.length, two_segments(preparation.body)
        task = cls(section, preparation.tokenizer, length=length, segments=segments, places=found)
        if not preparation.measuring:
            for count, of in sorted(task.places.items()):
                shown = f"{', '.join(f'{n:,}' for n in of[:_SHOWN])}{', …' if count > _SHOWN else ''}"
                preparation.log(
                    f"{sum(of):,} records with {count} candidates; the right one is the first, second, …: {shown} times"
                )
            real = sum(count * sum(of) for count, of in task.places.items())
            filled = max(task.places, default=0) * sum(map(sum, task.places.values()))
            if real < (1 - _MUCH) * filled:
                preparation.log(
                    f"{1 - real / filled:.0%} of the rows are padding for groups of fewer candidates: records with "
                    f"many candidates cost most of the time"
                )
        return task

    def probes(self, start: Transformer) -> Sequence[Self]:
        return pooled_probes(self, start, "pair")

    def model(self, body: ModelConfig) -> ModelConfig:
        from glassformer.models.families.heads import sentence_head_of, with_sentence_head

        head = sentence_head_of(body, labels=1, pooling=self.section.pooling or "pooler", dropout=self.section.dropout)
        return with_sentence_head(body, head)

    @property
    def baseline_loss(self) -> float:
        total = sum(map(sum, self.places.values()))
        parts = ((n, sum(of)) for of in self.places.values() for n in of if n)
        return -math.fsum(n / total * math.log(n / its) for n, its in parts)

    def facts(self) -> dict[str, Any]:
        return {"place_counts": {str(count): list(of) for count, of in self.places.items()}}

    def losses_of(self, model: Transformer, output: Output, batch: Batch) -> dict[str, Tensor]:
        """The weighted sum over groups of −log softmax over a group's candidates: of a score for each row [B, 1]."""
        import torch

        from glassformer.scoring.cross_entropy import cross_entropy

        scores, real, weights = grouped(output, batch)  # [G, C], [G, C], [G]
        # The lowest finite number: a group that only fills the shape has no real row, and −inf would make NaN of it.
        scores = scores.masked_fill(~real, torch.finfo(scores.dtype).min)  # [G, C]
        labels = batch.labels["choice"].view(scores.shape)[:, 0]  # [G]
        return {"choice": cross_entropy(scores, labels, weights)}

    def known_by(self, example: Question) -> str | None:
        return None if example.label is None else example.text

    def scores(self, pairs: Sequence[tuple[Question, Choice]]) -> Scores:
        known = [(example.label, len(example.choices), found) for example, found in pairs if example.label is not None]
        priors = {count: self._prior(count) for _, count, _ in known}
        measures = {
            THIS_MODEL: losses_and_shares(
                [-found.log_probabilities[label] for label, _, found in known],
                [found.index == label for label, _, found in known],
            ),
            "most frequent place": losses_and_shares(
                [-math.log(priors[count][label]) for label, count, _ in known],
                [priors[count].index(max(priors[count])) == label for label, count, _ in known],
            ),
            "chance": losses_and_shares(
                [math.log(count) for _, count, _ in known], [1 / count for _, count, _ in known]
            ),
        }
        return Scores.measured("questions", measures)

    def _prior(self, count: int) -> list[float]:
        """How likely the right one of so many candidates has each place, from the training records, plus one."""
        found = self.places.get(count, (0,) * count)
        return [(each + 1) / (sum(found) + count) for each in found]


def grouped(output: Output, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Scores of each group's candidates [G, C], at least float32; which are not padding [G, C]; group weights [G]."""
    weights = batch.weights.view(-1, batch.rows_of_each)  # [G, C]
    return widened(output.sentence_logits).view(weights.shape), weights > 0, weights[:, 0]


def _places(records: Iterable[Record]) -> dict[int, list[int]]:
    """By the number of candidates, how often the right one has each place."""
    found: Counter[tuple[int, int]] = Counter()
    for record in records:
        with suppress(DataError):  # reported when the record becomes an example
            choices = candidates_of(record.values["choices"], record.where)
            found[len(choices), place_of(record.values["label"], choices, record.where)] += 1
    return {count: [found[count, place] for place in range(count)] for count in sorted({count for count, _ in found})}
