"""What tasks share that read one text or a pair of texts and answer with labels or numbers (Devlin et al. 2019, §4.1).

B rows · L outputs of the sentence head
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from glassformer.base.counting import number_of
from glassformer.base.errors import ConfigError, DataError
from glassformer.base.shown import Grid, Part, Share, line
from glassformer.config import ModelConfig
from glassformer.scoring.score import Reals, widened
from glassformer.tasks.answered import Answered, Guess, InWords, likeliest, texts_of
from glassformer.tasks.predictor import Prediction
from glassformer.tasks.records import RecordTask
from glassformer.tasks.rows import Row, located, text_of
from glassformer.tasks.task import Both, Task, answers
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import text_rows

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.models.inputs import Batch
    from glassformer.models.transformer import Transformer

# The most labels of which a JSON record lists the probabilities: the likeliest.
LISTED = 100
# Labels that are shown: the likeliest.
TOP = 5
# Labels that a note names, and records of each.
_NAMED, _PLACES = 10, 2


class Labelled(NamedTuple):
    """A text or a pair, with its label, or its labels where it may have several, in training and evaluation."""

    text: str
    pair: str | None
    label: int | None
    several: tuple[int, ...] | None = None

    @property
    def numbers(self) -> tuple[int, ...] | None:
        return self.several if self.label is None else (self.label,)


class Unlearned:
    """Labels that occur only in held-out records: by label, the places of these records."""

    def __init__(self) -> None:
        self.places: dict[str, list[str]] = {}

    def add(self, labels: Iterable[str], where: str) -> None:
        for label in labels:
            self.places.setdefault(label, []).append(where)

    def note(self, labels: Collection[str], unit: str, log: Callable[[str], None]) -> None:
        """Log those of the `labels` that are never learned, with their records, which are `unit`."""
        found = {label: places for label, places in sorted(self.places.items()) if label in labels}
        for label, places in list(found.items())[:_NAMED]:
            more = f" and {len(places) - _PLACES:,} more" if len(places) > _PLACES else ""
            log(
                f"the label {label[:30]!r} is not learned, as all {unit} with it ({len(places):,}) are held out: "
                f"{', '.join(places[:_PLACES])}{more}"
            )
        if len(found) > _NAMED:
            more = number_of(len(found) - _NAMED, "more label")
            log(f"also not learned: {more}, of which all {unit} are held out")


def note_alike(labels: Iterable[str], log: Callable[[str], None]) -> None:
    """Log labels that differ in case or in their Unicode form alone, as digits of full width."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(unicodedata.normalize("NFKC", label).casefold(), []).append(label)
    if alike := [" and ".join(repr(label[:30]) for label in group) for group in groups.values() if len(group) > 1]:
        more = f" and {len(alike) - _NAMED:,} more" if len(alike) > _NAMED else ""
        log(
            f"labels that differ in case or Unicode form alone, one label by mistake? {', '.join(alike[:_NAMED])}{more}"
        )


@dataclass(frozen=True)
class Labels(Answered):
    """How likely each label of a text or a pair is; `windows` is above 1 for a long text."""

    labels: tuple[str, ...]
    logarithms: tuple[float, ...]
    text: str
    pair: str | None = None
    windows: int = 1
    place_names: ClassVar[list[str]] = ["label"]

    @property
    def log_probabilities(self) -> dict[str, float]:
        return dict(zip(self.labels, self.logarithms, strict=True))

    @property
    def probabilities(self) -> dict[str, float]:
        return {label: math.exp(value) for label, value in self.log_probabilities.items()}

    @property
    def likeliest(self) -> list[tuple[str, float]]:
        return sorted(self.probabilities.items(), key=lambda each: -each[1])

    @property
    def places(self) -> list[list[Guess]]:
        return [[*self.likeliest[:TOP]]]

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        yield from texts_of(values)
        kept = self.likeliest[:TOP]
        rows: list[tuple[str | Share, ...]] = [(label, f"{chance:.1%}", Share(chance)) for label, chance in kept]
        if len(self.labels) > TOP:
            rows.append((f"{len(self.labels) - TOP:,} more", "", ""))
        yield Grid(("label", "probability", ""), tuple(rows))

    def _with_probabilities(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        texts = {"text": self.text} if self.pair is None else {"text": self.text, "pair": self.pair}
        probabilities = self.probabilities
        if len(probabilities) > LISTED:
            kept = {"probabilities": dict(self.likeliest[:LISTED]), "labels": len(self.labels)}
            return {**texts, **answer, **kept, "windows": self.windows}
        return {**texts, **answer, "probabilities": probabilities, "windows": self.windows}


@dataclass(frozen=True)
class Class(Labels):
    """The likeliest label, and how likely each of them is: together 1."""

    said_by = "label"

    @property
    def label(self) -> str:
        return self.labels[self.logarithms.index(max(self.logarithms))]

    @property
    def probability(self) -> float:
        """That of the label."""
        return math.exp(max(self.logarithms))

    def in_words(self, words: int, answers: int) -> InWords:
        remark = f"The label: {self.label} ({self.probability:.1%})."
        return likeliest(self.likeliest, answers, "labels", remark)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and words, for JSON; of more than 100 labels the 100 likeliest."""
        return self._with_probabilities({"label": self.label, "probability": self.probability})


@dataclass(frozen=True)
class Classes(Labels):
    """The labels whose probability is at least `threshold`, and how likely each label is, apart from the others."""

    threshold: float = 0.5
    judged_by = "chosen"

    @property
    def chosen(self) -> tuple[str, ...]:
        likely = [each for each in self.probabilities.items() if each[1] >= self.threshold]
        return tuple(label for label, _ in sorted(likely, key=lambda each: -each[1]))

    @property
    def says(self) -> str:
        return ", ".join(self.chosen)

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        yield from super().shown(values, width)
        yield line(", ".join(self.chosen) or f"no label reaches {self.threshold:.0%}", style="answer", after=True)

    def in_words(self, words: int, answers: int) -> InWords:
        labels = ", ".join(self.chosen)
        remark = f"The labels: {labels}." if labels else "None of the labels is likely enough."
        return likeliest(self.likeliest, answers, "labels", remark)

    def to_dict(self) -> dict[str, Any]:
        return self._with_probabilities({"chosen": list(self.chosen)})


# Numbers of all predictions that are in memory together: 128 MiB of float64.
_NUMBERS = 1 << 24


class HasTexts(Protocol):
    @property
    def text(self) -> str: ...

    @property
    def pair(self) -> str | None: ...


AnyTexts = TypeVar("AnyTexts", bound=HasTexts)
AnyTask = TypeVar("AnyTask", bound=Task)


class TextPairTask(RecordTask[AnyTexts, Prediction]):
    """One answer for a text or a pair. A long text has several windows, which share a weight of 1."""

    section: Any
    roles = ("text", "pair", "label")
    head = "sentence_head"
    needs_encoder = "a text is classified by an encoder"
    sample = ("A text of your own.",)
    sample_option = "--pair"

    def __init__(
        self, section: Any, tokenizer: Tokenizer, *, length: int | None, segments: bool, pairs: bool | None = None
    ) -> None:
        self.section, self.tokenizer, self.length, self._segments = section, tokenizer, length, segments
        self.pairs = pairs  # whether it was trained on pairs, None where that is not known
        if section.pooling == "pair" and pairs is False:
            wanted, do = "the pooling pair compares two texts", "name the column of the second one: --pair-column"
            raise ConfigError(wanted, got="single texts", do=do)
        self.read_ahead = min(self.read_ahead, max(_NUMBERS // self.outputs, 1))

    @property
    def segments(self) -> bool:
        """Whether rows number the texts of a pair."""
        return self._segments or self.section.pooling == "pair"

    @property
    def outputs(self) -> int:
        return 1

    def texts(self, values: Mapping[str, object], where: str) -> tuple[str, str | None]:
        """The texts of a record; raises DataError for an empty one, and for a pair where single texts are known."""
        if self.pairs is not None and self.pairs != ("pair" in values):
            raise DataError(
                located(where, f"the model was trained on {'pairs of texts' if self.pairs else 'single texts'}"),
                got="a pair" if "pair" in values else "one text",
                do="give the second text as its pair" if self.pairs else "leave the pair out",
            )
        pair = text_of(values["pair"], where, "pair") if "pair" in values else None
        return text_of(values["text"], where), pair

    def rows_with(self, example: AnyTexts, labels: Mapping[str, Any], weight: float = 1.0) -> Iterator[Row]:
        cut = text_rows(self.tokenizer, example.text, example.pair, length=self.length)
        for ids, segments in cut:
            yield Row(ids=ids, segments=segments if self.segments else None, labels=labels, weight=weight / len(cut))

    def model(self, body: ModelConfig) -> ModelConfig:
        # not at the top: answers need no torch
        from glassformer.models.families.heads import sentence_head_of, with_sentence_head

        head = sentence_head_of(
            body,
            labels=self.outputs,
            pooling=self.section.pooling or "pooler",
            dropout=self.section.dropout,
            several=self.section.head_outputs.several,
        )
        return with_sentence_head(body, head)

    def probes(self, start: Transformer) -> Sequence[Self]:
        return pooled_probes(self, start, *(("pair",) if self.pairs else ()))

    def logits(self, model: Transformer, batch: Batch) -> Tensor:
        """The outputs of the sentence head, of at least float32. [B, L]"""
        return widened(model(batch.inputs, heads=("sentence_head",)).sentence_logits)

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, Reals]]:
        for batch in batches:
            yield from zip(batch.row_ids.tolist(), self.logits(model, batch).double().cpu().numpy(), strict=True)

    def found(self, row: Row, answers: npt.NDArray[np.floating[Any]]) -> Reals:
        return answers.astype(np.float64)  # [L]


def pooled_probes(task: AnyTask, start: Transformer, *more: str) -> list[AnyTask]:
    """A task with each pooling that needs no untrained layer, and `more`; or with the one that its settings name."""
    from glassformer.models.heads import VECTORS

    named, own = task.section.chosen.get("pooling"), start.config.sentence_head
    more = (own.pooling, *more) if own is not None and own.has_pooler else more
    allowed = ("first", "mean", *more) if named is None else [named] if named in (*VECTORS, *more) else []
    return [task.with_settings(pooling=each) for each in allowed]


def of_texts(task: Any, both: Both) -> Tensor:
    """The labels of each text, or of each pair."""
    from glassformer.scoring.cross_entropy import soft_loss  # not at the top: answers need no torch

    logits, its = answers(both, "sentence_logits")  # [B, L]
    several = task.section.head_outputs.several
    return soft_loss(logits, its, both.batch.weights, both.temperature, several=several)


def two_segments(config: ModelConfig) -> bool:
    """Whether a model distinguishes the two texts of a pair by their segments."""
    return config.encoder is not None and config.encoder.embed.segments > 1
