"""A number for a text or for a pair: the sentence head with one output, and the squared error.

B rows · E examples · W windows of a text
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from glassformer.base.errors import DataError
from glassformer.base.shown import Part, line
from glassformer.scoring import agreement
from glassformer.scoring.baselines import Lesson
from glassformer.scoring.score import THIS_MODEL, Reals, Scores, widened
from glassformer.scoring.verdict import Worst
from glassformer.tasks.answered import Answered, InWords, texts_of
from glassformer.tasks.labels.labels import TextPairTask, two_segments
from glassformer.tasks.labels.settings import TextPairData, TextPairSection
from glassformer.tasks.predictor import Context, untrained
from glassformer.tasks.rows import Axis, Row, located, not_finite
from glassformer.tasks.settings import CardWords, HeadOutputs
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Both, Preparation, SoftLoss, answers
from glassformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.models.inputs import Batch, Output
    from glassformer.models.transformer import Transformer


class RegressSection(TextPairSection):
    """The model learns (number − mean) / deviation of the training numbers."""

    found: ClassVar[tuple[str, ...]] = ("mean", "deviation", "decimal")
    card: ClassVar[CardWords] = CardWords("number")
    compared_by: ClassVar[str] = "-mean_absolute_error"  # losses have the units of each model
    name: Literal["regress"] = "regress"
    mean: float | None = None
    """The mean of the training numbers; found by the run."""
    deviation: float | None = Field(default=None, gt=0)
    """Their standard deviation; found by the run."""
    decimal: Literal[".", ","] | None = None
    """What separates the decimals of numbers in a table; by default found in the training numbers."""

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.mean is None) != (self.deviation is None):
            raise ValueError("mean and deviation belong together: give both or none")
        return self

    @classmethod
    def of_teacher(cls) -> tuple[str, ...]:
        return tuple(name for name in super().of_teacher() if name != "decimal")  # that of its own table

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

    def read(self, value: object, where: str) -> float:
        """A finite number of a table, also as text; raises DataError for anything else."""
        return number_of(value, where, decimal=self.decimal or ".")

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
    Data = TextPairData
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
        return Rated(*texts, self.section.read(values["label"], where) if "label" in values else None)

    def rows(self, example: Rated) -> Iterator[Row]:
        mean, deviation = self._scale
        labels = {} if example.number is None else {"number": (example.number - mean) / deviation}
        return self.rows_with(example, labels)

    @classmethod
    def from_records(
        cls, section: RegressSection, preparation: Preparation, records: Sequence[Record], held_out: Sequence[Record]
    ) -> Self:
        numbers = list[float]()
        if not preparation.measuring and section.decimal is None:
            section = section.model_copy(update={"decimal": decimal_of([*records, *held_out])})
            if section.decimal == ",":
                preparation.log("the numbers are read with a comma before their decimals, as 1,5 for one and a half")
        for record in () if preparation.measuring else records:
            with suppress(DataError, KeyError):  # reported when the record becomes an example; a teacher needs none
                numbers.append(section.read(record.values["label"], record.where))
        if section.mean is None and not preparation.measuring:
            if records and not numbers:
                section.read(records[0].values["label"], records[0].where)  # raises what is wrong with it
            if len(set(numbers)) < 2:
                raise DataError(
                    "to learn numbers there must be at least two different ones",
                    got=f"{len(set(numbers))} in {len(records):,} records",
                    do="check which column holds the number: --label-column",
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


def squared_error(answered: Tensor | None, right: Tensor, weights: Tensor) -> Tensor:
    """Σ weight · (answer − right number)², a scalar: of answers [B, 1], numbers [B] and weights [B]."""
    error = widened(answered)[:, 0] - right  # [B]
    return (error.square() * weights.to(error.dtype)).sum()


# A number whose point may separate thousands, as that of 1.600 does in German; a whole number of three digits.
_THOUSANDS, _HUNDREDS = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}", re.ASCII), re.compile(r"[-+]?\d{3}", re.ASCII)
# A number with a decimal comma, its thousands with points or as they are; one whose commas may separate thousands.
_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?", re.ASCII)
_GROUPS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+", re.ASCII)


def decimal_of(records: Sequence[Record]) -> Literal[".", ","]:
    """What separates the decimals of training numbers: a comma where some have one, all can be read so, and the commas
    cannot all separate thousands. Raises DataError as `check_thousands`.
    """
    cells = [value.strip() for record in records if isinstance(value := record.values.get("label"), str)]
    commas = [value for value in cells if "," in value]
    marked = [value for value in cells if "," in value or "." in value]
    if commas and all(map(_COMMA.fullmatch, marked)) and not all(map(_GROUPS.fullmatch, commas)):
        return ","
    check_thousands(records)
    return "."


def check_thousands(records: Sequence[Record]) -> None:
    """Raise DataError where each number with a point has three digits after it, and another one is whole and has three
    digits, as 812 next to 1.600.
    """
    cells = [(record, value) for record in records if isinstance(value := record.values.get("label"), str)]
    pointed = [(record, value) for record, value in cells if "." in value]
    if len(pointed) < 2 or not any(_HUNDREDS.fullmatch(value.strip()) for _, value in cells):
        return
    if all(_THOUSANDS.fullmatch(value.strip()) for _, value in pointed):
        record, value = pointed[0]
        raise DataError(
            located(record.where, "a point must separate decimals, not thousands"),
            got=f"{value}, where other numbers are whole ({len(pointed):,} like it)",
            do=f"with task.decimal=',' it is {value.replace('.', '')}, with task.decimal='.' {value}0",
        )


def number_of(value: object, where: str, *, decimal: str = ".") -> float:
    """A finite number, also as text, whose decimals come after the point or the comma `decimal`; raises DataError for
    anything else.
    """
    with suppress(ValueError, OverflowError):
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            text = decimal == "," and isinstance(value, str)
            if text and not _COMMA.fullmatch(str(value).strip()):
                raise ValueError
            number = float(str(value).replace(".", "").replace(",", ".") if text else value)
            if math.isfinite(number):
                return number
    do = "write 3.5, or set task.decimal=',' if 3,5 is meant so" if decimal == "." else "write 3,5: task.decimal is ','"
    raise DataError(
        located(where, "a number is needed"), got=repr(value)[:60], do=f"check the column (--label-column); {do}"
    )
