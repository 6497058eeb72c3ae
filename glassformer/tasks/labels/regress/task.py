"""A number for a text or for a pair: the sentence head with one output, and the squared error.

B rows · E examples · W windows of a text
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from glassformer.base.errors import DataError
from glassformer.base.shown import Part, line
from glassformer.data.readers.files import files_for
from glassformer.data.readers.lines import OnBad
from glassformer.data.stores.split import Split
from glassformer.scoring import agreement
from glassformer.scoring.baselines import Lesson
from glassformer.scoring.score import THIS_MODEL, Reals, Scores, widened
from glassformer.scoring.verdict import Worst
from glassformer.tasks.answered import Answered, InWords, texts_of
from glassformer.tasks.labels.labels import TextPairTask, two_segments
from glassformer.tasks.labels.regress.numbers import Decimal, decimal_of, number_of, parsed
from glassformer.tasks.labels.settings import RatedData, TextPairData, TextPairSection
from glassformer.tasks.predictor import Context, untrained
from glassformer.tasks.rows import Axis, Row, not_finite
from glassformer.tasks.settings import CardWords, HeadOutputs
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Both, Preparation, SoftLoss, Source, answers
from glassformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.models.inputs import Batch, Output
    from glassformer.models.transformer import Transformer


# Rows of a table by which it is known how its numbers are written.
_ROWS = 10_000


class RegressSection(TextPairSection):
    """The model learns (number − mean) / deviation of the training numbers."""

    found: ClassVar[tuple[str, ...]] = ("mean", "deviation")
    card: ClassVar[CardWords] = CardWords("number")
    compared_by: ClassVar[str] = "-mean_absolute_error"  # losses have the units of each model
    name: Literal["regress"] = "regress"
    mean: float | None = None
    """The mean of the training numbers; found by the run."""
    deviation: float | None = Field(default=None, gt=0)
    """Their standard deviation; found by the run."""

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.mean is None) != (self.deviation is None):
            raise ValueError("mean and deviation belong together: give both or none")
        return self

    def other_units(self, other: Any) -> tuple[str, ...]:
        """The loss is in units of the deviation of the numbers that a model has learned from."""
        return () if self.head_outputs.scale == other.head_outputs.scale else ("loss",)

    @property
    def units(self) -> dict[str, Any]:
        known = self.deviation is not None and (self.mean, self.deviation) != (0.0, 1.0)  # not of an imported model
        return {"mean": self.mean, "deviation": self.deviation} if known else {}

    @property
    def after_scores(self) -> tuple[str, ...]:
        if self.deviation is None or (self.mean, self.deviation) == (0.0, 1.0):
            return ()
        return (f"The mean and the deviation of the training numbers: {self.mean:.4g} + {self.deviation:.4g} × score.",)

    @property
    def head_outputs(self) -> HeadOutputs:
        """Without a mean and a deviation, as of an imported model, the outputs are the numbers."""
        code = "print(logits[:, 0])"
        return HeadOutputs(scale=self.deviation or 1.0, shift=self.mean or 0.0, meaning="the number", code=code)

    def in_last_layer(self) -> Self:
        return self if self.deviation is None else self.model_copy(update={"mean": 0.0, "deviation": 1.0})

    @property
    def not_exported(self) -> tuple[str, ...]:
        said = "mean and deviation of the numbers are written into the last layer: it gives the number itself"
        return () if self.deviation is None else (said,)

    @classmethod
    def of_imported(cls, outputs: HeadOutputs, head: Any, **more: object) -> Self:
        return super().of_imported(outputs, head, mean=0.0, deviation=1.0, **more)

    def taught_by(self, teacher: Any) -> Self:
        unit = teacher.head_outputs
        return super().taught_by(teacher).model_copy(update={"mean": unit.shift, "deviation": unit.scale})


class Rated(NamedTuple):
    text: str
    pair: str | None
    number: float | None


@dataclass(frozen=True)
class Number(Answered):
    """The number of a text or a pair; `windows` is above 1 for a long text."""

    number: float
    text: str
    pair: str | None = None
    windows: int = 1

    def to_dict(self) -> dict[str, Any]:
        texts = {"text": self.text} if self.pair is None else {"text": self.text, "pair": self.pair}
        return {**texts, "number": self.number, "windows": self.windows}

    @property
    def says(self) -> str:
        return f"{self.number:.6g}"

    @property
    def verdict(self) -> object:
        return None

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        yield from texts_of(values)
        yield line((self.says, "bold"), style="answer", after=True)

    def in_words(self, words: int, answers: int) -> InWords:
        return InWords(remarks=(f"The number: {self.number:.4g}.",))


def _of_numbers(task: Any, both: Both) -> Tensor:
    """The squared error to the teacher's number, which has no temperature: both are in units of the deviation."""
    number, its = answers(both, "sentence_logits")  # [B, 1]
    return squared_error(number, widened(its)[:, 0], both.batch.weights)


class Regress(TextPairTask[Rated, Number]):
    """A number for a text or a pair; for a long text the mean over its windows."""

    Section = RegressSection
    Data = RatedData
    verbs: ClassVar[Mapping[str, str]] = {"sentence_head": "classify"}
    head_use = "number"
    soft: ClassVar[Mapping[str, SoftLoss]] = {"number": _of_numbers}
    weights: ClassVar[Mapping[str, float]] = {"number": 1.0}
    axes: ClassVar[Mapping[str, Axis]] = {"number": "row"}
    baseline_names = ("tf_idf", "the_mean")
    shares = ()
    section: RegressSection
    mean_number: float | None = None
    """The mean of the training numbers; None where it is not known."""

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        section, head = context.section, model.config.sentence_head
        if head is None or head.labels != 1 or not isinstance(section, RegressSection):
            wanted = "a number needs a model that was trained for it"
            do = "glassformer train regress TABLE --text-column 0 --label-column 1"
            raise untrained(wanted, model, context, do)
        pairs = context.data.pair is not None if isinstance(context.data, TextPairData) else None
        return cls(section, tokenizer, length=context.length, segments=two_segments(model.config), pairs=pairs)

    def merge(self, example: Rated, found: Sequence[Reals]) -> Number:
        mean, deviation = self._scale
        number = mean + deviation * float(np.mean(found))
        if not math.isfinite(number):
            raise not_finite("a model must answer with a finite number", example.text)
        return Number(number, example.text, example.pair, len(found))

    @property
    def _scale(self) -> tuple[float, float]:
        """Mean and deviation of the training numbers; 0 and 1 for an imported model, whose head has learned them."""
        unit = self.section.head_outputs
        return unit.shift, unit.scale

    def example(self, values: Mapping[str, object], where: str) -> Rated:
        texts = self.texts(values, where)
        return Rated(*texts, number_of(values["label"], where) if "label" in values else None)

    def rows(self, example: Rated) -> Iterator[Row]:
        mean, deviation = self._scale
        labels = {} if example.number is None else {"number": (example.number - mean) / deviation}
        return self.rows_with(example, labels)

    @classmethod
    def records_of(cls, data: RatedData, path: Path, bad: OnBad) -> Iterator[Record]:
        """The records of a table, their numbers read as this table writes them; raises DataError as `decimal_of`."""
        records = super().records_of(data, path, bad)
        first = [] if data.decimal else [*islice(records, _ROWS)]
        decimal = data.decimal or _decimal(first)
        for record in chain(first, records):
            value = record.values.get("label")
            number = parsed(value, decimal) if isinstance(value, str) else None
            yield record if number is None else record._replace(values={**record.values, "label": number})

    @classmethod
    def _prepared(cls, section: Any, preparation: Preparation, bad: OnBad) -> tuple[Self, dict[Split, Source]]:
        data = preparation.data
        assert isinstance(data, RatedData)
        files = () if preparation.measuring or data.decimal else (*data.files, *data.validation_files)
        for path in files_for(data, files) if files else ():
            with suppress(DataError):  # which is reported where the file is read
                if _decimal(islice(super().records_of(data, path, lambda _: None), _ROWS)) == ",":
                    preparation.log(f"{path.name}: a comma separates decimals: 3,5 is read as 3.5")
        return super()._prepared(section, preparation, bad)

    @classmethod
    def from_records(
        cls, section: RegressSection, preparation: Preparation, records: Sequence[Record], held_out: Sequence[Record]
    ) -> Self:
        numbers = [] if preparation.measuring else _numbers(records)
        if section.mean is None and not preparation.measuring:
            if len(set(numbers)) < 2:
                for record in records:
                    number_of(record.values["label"], record.where)  # raises what is wrong with the first of them
                raise DataError(
                    "to learn numbers there must be at least two different ones",
                    got=f"{len(set(numbers))} in {len(records):,} records",
                    do="the others are held out: lower --validation"
                    if {*_numbers(held_out)} - {*numbers}
                    else "check which column holds the number: --label-column",
                )
            with np.errstate(over="ignore", invalid="ignore"):
                mean, deviation = float(np.mean(numbers)), float(np.std(numbers))
            if not 0 < deviation * deviation < math.inf:
                raise DataError(
                    "numbers to learn must have a standard deviation that can be squared",
                    got=f"{deviation:g}",
                    do="write them in another unit",
                )
            section = section.model_copy(update={"mean": mean, "deviation": deviation})
            preparation.log(
                f"{len(numbers):,} numbers from {min(numbers):g} to {max(numbers):g}, mean {mean:.4g}, "
                f"standard deviation {deviation:.4g}"
            )
        segments = two_segments(preparation.body)
        data = preparation.data
        assert isinstance(data, TextPairData)
        pairs = data.pair is not None
        task = cls(section, preparation.tokenizer, length=data.length, segments=segments, pairs=pairs)
        task.mean_number = float(np.mean(numbers)) if numbers else preparation.facts.get("mean_number", section.mean)
        if not numbers and (section.mean, section.deviation) == (0.0, 1.0):  # as of an imported model
            task.mean_number = preparation.facts.get("mean_number")
        return task

    def facts(self) -> dict[str, Any]:
        return {} if self.mean_number is None else {"mean_number": self.mean_number}

    def losses_of(self, model: Transformer, output: Output, batch: Batch) -> dict[str, Tensor]:
        return {"number": squared_error(output.sentence_logits, batch.labels["number"], batch.weights)}

    @property
    def baseline_loss(self) -> float:
        return 1.0

    def lesson(self, example: Rated) -> Lesson | None:
        mean, deviation = self._scale
        number = None if example.number is None else (example.number - mean) / deviation
        return None if number is None else Lesson(example.text, example.pair, number)

    def guessed(self, example: Rated, values: list[float]) -> Number:
        return self.merge(example, [np.array(values)])

    def scores(self, pairs: Sequence[tuple[Rated, Number]]) -> Scores:
        known = [(example, example.number, found.number) for example, found in pairs if example.number is not None]
        true, guessed = (np.array([each[side] for each in known], np.float64) for side in (1, 2))  # [E]
        worst = Worst()
        for example, right, guess in known:
            worst.add(abs(right - guess), example, {"number": right, "guessed": guess})
        mean, deviation = self.mean_number, self._scale[1]
        of_all = np.full_like(true, true.mean() if mean is None and len(true) else mean or 0.0)
        measures = {
            THIS_MODEL: agreement.numbers(true, guessed, deviation=deviation),
            "the mean": agreement.numbers(true, of_all, deviation=deviation),
        }
        unit = "texts" if all(example.pair is None for example, _ in pairs) else "pairs"
        return Scores.measured(unit, measures, shares=(), report=worst.report())


def _decimal(records: Iterable[Record]) -> Decimal:
    return decimal_of([(each.where, of) for each in records if isinstance(of := each.values.get("label"), str)])


def squared_error(answered: Tensor | None, right: Tensor, weights: Tensor) -> Tensor:
    """Σ weight · (answer − right number)², a scalar: of answers [B, 1], numbers [B] and weights [B]."""
    error = widened(answered)[:, 0] - right  # [B]
    return (error.square() * weights.to(error.dtype)).sum()


def _numbers(records: Sequence[Record]) -> list[float]:
    """Those of records; a missing or wrong one is reported when its record becomes an example; a teacher needs none."""
    found = list[float]()
    for record in records:
        with suppress(DataError, KeyError):
            found.append(number_of(record.values["label"], record.where))
    return found
