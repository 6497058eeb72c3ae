"""Labels for a text or for a pair: the sentence head, with a softmax (Devlin et al. 2019, §4.1) or a sigmoid for each.

B rows · L labels · M most labels of a text
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Self
from unicodedata import normalize

import numpy as np

from glassformer.base.counting import number_of
from glassformer.base.errors import DataError
from glassformer.base.settings import read_settings
from glassformer.scoring.baselines import Lesson
from glassformer.scoring.calibration import fitted_temperature, limit_of, log_prior
from glassformer.scoring.score import Reals, Scores, widened
from glassformer.tasks.labels.classify.labelling import OneLabel, SeveralLabels
from glassformer.tasks.labels.classify.settings import ClassifyData, ClassifySection
from glassformer.tasks.labels.labels import (
    Class,
    Classes,
    Labelled,
    TextPairTask,
    Unlearned,
    note_alike,
    of_texts,
    two_segments,
)
from glassformer.tasks.predictor import Context, evaluating, predict, untrained
from glassformer.tasks.records import RecordSource
from glassformer.tasks.rows import Axis, Row, known_label, label_of, labels_of, not_finite, text_of
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Preparation, SoftLoss, drawn_examples
from glassformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.models.inputs import Batch, Output
    from glassformer.models.transformer import Transformer

__all__ = ["Class", "Classes", "Classify", "Labelled"]

# Labels that a note names.
_SHOWN = 10
# Texts, and logits of them, that a temperature is fitted on.
_FITTED, _LOGITS = 2048, 1 << 22
# With fewer records for each label the labels' names are learned too: decisions/2026-11-25-names-of-labels.md.
_FEW = 32


class Classify(TextPairTask[Labelled, Any]):
    """Labels for a text or a pair. A long text has several windows; their probabilities are averaged."""

    Section = ClassifySection
    Data = ClassifyData
    verbs: ClassVar[Mapping[str, str]] = {"sentence_head": "classify"}
    head_use = "sentence labels"
    soft: ClassVar[Mapping[str, SoftLoss]] = {"label": of_texts}
    weights: ClassVar[Mapping[str, float]] = {"label": 1.0}
    axes: ClassVar[Mapping[str, Axis]] = {"label": "set"}
    baseline_names = ("most_frequent", "tf_idf")
    section: ClassifySection

    def __init__(
        self,
        section: ClassifySection,
        tokenizer: Tokenizer,
        *,
        length: int | None,
        segments: bool,
        pairs: bool | None = None,
        frequencies: Mapping[str, int] | None = None,
        records: int = 0,
        separator: str = ",",
    ) -> None:
        self._numbers = {normalize("NFC", label): number for number, label in enumerate(section.labels)}
        super().__init__(section, tokenizer, length=length, segments=segments, pairs=pairs)
        self.frequencies, self.known, self.separator = frequencies or {}, records, separator
        kind = SeveralLabels if section.several else OneLabel
        self.labelling: OneLabel | SeveralLabels = kind(section, self.frequencies, records)

    @property
    def outputs(self) -> int:
        return max(len(self._numbers), 1)

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        section, pairs, separator = context.section, None, ","
        if isinstance(context.data, ClassifyData):
            pairs, separator = context.data.pair is not None, context.data.separator
        if section is not None and not isinstance(section, ClassifySection) and section.labels_pairs:
            section, pairs = ClassifySection(labels=section.head_outputs.labels), True
        head = model.config.sentence_head
        if head is None or not isinstance(section, ClassifySection) or head.labels != len(section.labels):
            wanted = "a label needs a model that was trained to classify"
            do = "glassformer train classify TABLE --text-column 0 --label-column 1"
            raise untrained(wanted, model, context, do)
        segments = two_segments(model.config)
        return cls(section, tokenizer, length=context.length, segments=segments, pairs=pairs, separator=separator)

    def merge(self, example: Labelled, found: Sequence[Reals]) -> Class | Classes:
        logits = np.stack(found)  # [W, L]
        if not np.isfinite(logits).all():
            raise not_finite("a model must give finite numbers to classify with", example.text)
        logarithms = self.labelling.logarithms(logits, self.section.temperature)  # [L]
        return self.labelling.answer(example, logarithms, len(found))

    def example(self, values: Mapping[str, object], where: str) -> Labelled:
        texts = self.texts(values, where)
        if "label" not in values:
            return Labelled(*texts, None)
        if not self.section.several:
            return Labelled(*texts, known_label(values["label"], self._numbers, where))
        named = labels_of(values["label"], where, self.separator)
        return Labelled(*texts, None, tuple(sorted({known_label(each, self._numbers, where) for each in named})))

    def rows(self, example: Labelled) -> Iterator[Row]:
        labels = {} if example.numbers is None else {"label": example.numbers}
        return self.rows_with(example, labels, self.labelling.row_weight(example))

    @classmethod
    def from_records(
        cls, section: ClassifySection, preparation: Preparation, records: Sequence[Record], held_out: Sequence[Record]
    ) -> Self:
        data, found, count = preparation.data, Counter[str](), 0
        first, differing = dict[int, tuple[set[str], str]](), dict[int, str]()  # by hash of the text
        assert isinstance(data, ClassifyData)
        for record in records:
            with suppress(DataError):  # reported when the record becomes an example
                found.update(labels_there := _labels_in(record, section, data))
                count += 1
                labels_before, where = first.setdefault(hash(record.text), (labels_there, record.where))
                if labels_before != labels_there:
                    names = (", ".join(sorted(its))[:30] for its in (labels_before, labels_there))
                    differing.setdefault(
                        hash(record.text), f"{where} ({next(names)}) and {record.where} ({next(names)})"
                    )
        unlearned, measured = Unlearned(), set[str]()
        for record in held_out:
            with suppress(DataError):
                labels_there = _labels_in(record, section, data)
                measured |= labels_there
                unlearned.add(labels_there - found.keys(), record.where)
        if records and not found:
            _labels_in(records[0], section, data)  # raises what is wrong with it
        learned = section.labels or tuple(found)
        labels = section.labels or tuple(sorted({*found, *unlearned.places}))
        least = 1 if section.several else 2
        if len(learned) < least:
            raise DataError(
                f"to classify there must be at least {'one label' if least == 1 else 'two labels'}",
                got=f"{len(learned)} in {len(records):,} records" + (f" ({learned[0]!r})" if learned else ""),
                do="the others are held out: lower --validation"
                if unlearned.places
                else "check which column holds the label",
            )
        if not preparation.measuring:
            counted = sorted(((label, found[label]) for label in labels if found[label]), key=lambda each: -each[1])
            shown = ", ".join(f"{label[:30]} {count:,}" for label, count in counted[:_SHOWN])
            more = f" and {len(counted) - _SHOWN:,} more" if len(counted) > _SHOWN else ""
            rare = [label[:30] for label, count in counted if count == 1]
            warned = f"; only once, by mistake? {', '.join(rare[:_SHOWN])}" if rare else ""
            preparation.log(f"{len(counted):,} labels in the training records: {shown}{more}{warned}")
            unlearned.note(labels, "records", preparation.log)
            note_alike(labels, preparation.log)
            if differing:
                such = next(iter(differing.values()))
                preparation.log(f"copies with different labels: of {number_of(len(differing), 'text')}, such as {such}")
            if note := note_of_lists(labels, several=section.several):
                preparation.log(note)
            if held_out and (missing := [label[:30] for label, _ in counted if label not in measured]):
                more = f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
                named = ", ".join(missing[:_SHOWN])
                preparation.log(f"no held-out record, so no score measures them: {named}{more}")
        frequencies = dict(preparation.facts.get("label_counts") or {label: found[label] for label in labels})
        values = section.model_dump() | {"labels": labels}
        return cls(
            read_settings(ClassifySection, values, where="task"),  # once more: class_weights name labels
            preparation.tokenizer,
            length=data.length,
            segments=two_segments(preparation.body),
            pairs=data.pair is not None,
            frequencies=frequencies,
            records=int(preparation.facts.get("labelled_records") or count),
            separator=data.separator,
        )

    def names(self, train: RecordSource[Labelled]) -> RecordSource[Labelled] | None:
        """Of single texts with one label each: those with a letter, `_` and `-` in them as blanks."""
        many = len(train.examples) >= _FEW * self.outputs
        if many or self.section.several or train.examples[0].pair is not None:
            return None
        known = [label for label in self._numbers if any(map(str.isalpha, label))]
        found = [Labelled(re.sub("[_-]", " ", label), None, self._numbers[label]) for label in known]
        return train.of(self, found) if found else None

    @property
    def baseline_loss(self) -> float:
        return self.labelling.baseline_loss

    def facts(self) -> dict[str, Any]:
        return {"label_counts": dict(self.frequencies), "labelled_records": self.known}

    def losses_of(self, model: Transformer, output: Output, batch: Batch) -> dict[str, Tensor]:
        logits = widened(output.sentence_logits)  # [B, L]
        return {"label": self.labelling.loss(logits, batch.labels["label"], batch.weights)}

    def lesson(self, example: Labelled) -> Lesson | None:
        target = example.several if example.label is None else example.label
        return None if target is None else Lesson(example.text, example.pair, target)

    def guessed(self, example: Labelled, values: list[float]) -> Class | Classes:
        """Without the temperature, which is the model's."""
        logarithms = self.labelling.logarithms(np.array([values]), 1.0)
        return self.labelling.answer(example, logarithms, 1)

    def scores(self, pairs: Iterable[tuple[Labelled, Any]]) -> Scores:
        return self.labelling.scores(pairs, self.section.temperature)

    scores_of_stream = scores

    def completed(self, model: Transformer, train: Any, held_out: Any, log: Callable[[str], None]) -> Transformer:
        """With scores of words, of single texts, where they pay."""
        from glassformer.tasks.labels.classify.words import with_words  # not at the top: answers need no torch

        if not self.section.words or self.pairs:
            return model
        examples, logits = self._measured(model, held_out)
        temperature = self._temperature(examples, logits)
        return with_words(self, self.labelling, model, train.examples, examples, logits, temperature, log)

    def _measured(self, model: Transformer, source: Any) -> tuple[Sequence[Labelled], list[Reals]]:
        """Some examples, always the same ones, and the logits [W, L] of each."""
        examples = drawn_examples(source, min(len(source.examples), _FITTED, max(_LOGITS // self.outputs, 1)))
        with evaluating(model):
            return examples, list(predict(self, model, examples, merge=lambda _, found: np.stack(found)))

    def fitted(self, model: Transformer, source: Any, log: Callable[[str], None]) -> Self:
        """With the temperature of the least log loss plus `log_prior`; 1 where all are right: there is no minimum."""
        examples, logits = self._measured(model, source)
        temperature = self._temperature(examples, logits)
        if doubt := limit_of(temperature):
            log(f"temperature {temperature:g}, fitted on {len(examples):,} validation records, is {doubt}")
        return self.with_settings(temperature=temperature)

    def _temperature(self, examples: Sequence[Labelled], logits: Sequence[Reals]) -> float:
        known = [(each, example.numbers) for each, example in zip(logits, examples, strict=True)]

        def log_loss(temperature: float) -> float:
            found = ((self.labelling.logarithms(each, temperature), right) for each, right in known)
            return log_prior(temperature) + sum(self.labelling.log_loss(each, right or ()) for each, right in found)

        guesses = (self.labelling.guessed(self.labelling.logarithms(each, 1.0)) for each in logits)
        wrong = any(set(guess) != set(right or ()) for guess, (_, right) in zip(guesses, known, strict=True))
        return fitted_temperature(log_loss) if wrong else 1.0


def note_of_lists(labels: Sequence[str], *, several: bool) -> str:
    """What to set where labels look like lists of a few others, in words; "" where they do not."""
    for sign in ",;|/+&":
        parts = {part.strip() for label in labels for part in label.split(sign)}
        if sum(sign in label for label in labels) > 2 and 2 * len(parts) <= len(labels):
            separator = "" if sign == "," and not several else f" --set data.separator='{sign}'"
            do = f"{'' if several else ' --set task.several=true'}{separator}"
            return f"the labels look like lists of {len(parts)} labels with {sign!r} between: read them so with{do}"
    return ""


def _labels_in(record: Record, section: ClassifySection, data: ClassifyData) -> set[str]:
    """The labels of a record, as they are written; raises DataError for a record that no example can be made of."""
    for role in ("text", "pair"):
        text_of(record.values.get(role, "absent"), record.where)
    value = record.values["label"]
    if section.several:
        return set(labels_of(value, record.where, data.separator))
    return {label_of(value, record.where)}
