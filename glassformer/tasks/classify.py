"""One label for a text or for a pair: the sentence head and a softmax (Devlin et al. 2019, §4.1).

B rows · L labels
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator
from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.data.settings import ClassifyData
from glassformer.errors import ConfigError, DataError, NotFiniteError
from glassformer.models.families.heads import sentence_head_of
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.tasks.baselines import Lesson
from glassformer.tasks.bert import BertSection
from glassformer.tasks.cross_entropy import cross_entropy, widened
from glassformer.tasks.measure import share_of
from glassformer.tasks.records import (
    Record,
    RecordTask,
    check_columns,
    known_label,
    label_of,
    located,
    log_mean_of_columns,
    text_of,
)
from glassformer.tasks.rows import Axis, Row
from glassformer.tasks.score import THIS_MODEL, Scores, perplexity
from glassformer.tasks.sentence_order import SentenceOrderSection
from glassformer.tasks.task import Context, Preparation, TaskSection
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import text_rows

# Labels that a note names.
_SHOWN = 10


class ClassifySection(TaskSection):
    """`labels` are found in the training records unless they are given; `pooling` makes one vector of a text's states:
    the first token's state, or this through a dense layer and tanh.
    """

    name: Literal["classify"] = "classify"
    labels: tuple[str, ...] = ()
    pooling: Literal["first", "pooler"] = "pooler"
    dropout: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        if len(set(self.labels)) < len(self.labels) or not all(label.strip() for label in self.labels):
            raise ValueError("labels must be different words, none of them empty")
        return self


class Labelled(NamedTuple):
    """A text or a pair, with its label in training and evaluation."""

    text: str
    pair: str | None
    label: int | None


@dataclass(frozen=True)
class Class:
    """The likeliest label of a text or a pair, and how likely each of them is; `windows` is above 1 for a long text."""

    label: str
    labels: tuple[str, ...]
    logarithms: tuple[float, ...]
    text: str
    pair: str | None = None
    windows: int = 1

    @property
    def log_probabilities(self) -> dict[str, float]:
        """By label, the natural logarithms of the probabilities."""
        return dict(zip(self.labels, self.logarithms, strict=True))

    @property
    def probabilities(self) -> dict[str, float]:
        """By label, between 0 and 1."""
        return {label: math.exp(value) for label, value in self.log_probabilities.items()}

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and words, for JSON."""
        texts = {"text": self.text} if self.pair is None else {"text": self.text, "pair": self.pair}
        return {**texts, "label": self.label, "probabilities": self.probabilities, "windows": self.windows}


class Classify(RecordTask[Labelled, Class]):
    """One label for a text or a pair. A long text has several windows; their probabilities are averaged."""

    Section = ClassifySection
    Data = ClassifyData
    weights: ClassVar[Mapping[str, float]] = {"label": 1.0}
    axes: ClassVar[Mapping[str, Axis]] = {"label": "row"}
    best = "accuracy"
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
    ) -> None:
        self.section, self.tokenizer, self.length, self.segments = section, tokenizer, length, segments
        self.pairs = pairs  # whether it was trained on pairs, None where that is not known
        self.frequencies = frequencies or {}
        self._numbers = {label: number for number, label in enumerate(section.labels)}

    # ------------------------------------------------------------------ for an existing model

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For a model with a sentence head and names for its labels; raises ConfigError for another one."""
        section, pairs = context.section, None
        if isinstance(context.data, ClassifyData):
            pairs = context.data.pair is not None
        if isinstance(section, BertSection | SentenceOrderSection):
            section, pairs = ClassifySection(labels=section.labels), True
        head = model.config.sentence_head
        if head is None or not isinstance(section, ClassifySection) or head.labels != len(section.labels):
            raise ConfigError(
                "a label needs a model that was trained to classify",
                got=f"a {model.config.family} model"
                + ("" if context.section is None else f" for {context.section.name}"),
                do="train one with: glassformer train classify TABLE --text 0 --label 1",
            )
        return cls(section, tokenizer, length=context.length, segments=_two_segments(model.config), pairs=pairs)

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[float]]]:
        """The log-probability of each label, for each row."""
        for batch in batches:
            logits = model(batch.inputs, heads=("sentence_head",)).sentence_logits  # [B, L]
            yield from zip(batch.row_ids.tolist(), widened(logits).log_softmax(dim=-1).tolist(), strict=True)

    def merge(self, example: Labelled, found: Sequence[list[float]]) -> Class:
        """The mean of the probabilities over the windows."""
        logs = log_mean_of_columns(found)
        if not all(map(math.isfinite, logs)):
            raise NotFiniteError(
                "a model must give finite numbers to classify by",
                got=f"NaN for {example.text[:40]!r}",
                do="its training diverged: train it again with a lower learning rate",
            )
        labels = self.section.labels
        return Class(labels[logs.index(max(logs))], labels, tuple(logs), example.text, example.pair, len(found))

    # ------------------------------------------------------------------ records

    @classmethod
    def columns(cls, data: ClassifyData) -> dict[str, str]:
        """Text, pair and label."""
        return check_columns({"text": data.text, "pair": data.pair, "label": data.label})

    def example(self, values: Mapping[str, object], where: str) -> Labelled:
        """A text or a pair, and its label where there is one."""
        if self.pairs is not None and self.pairs != ("pair" in values):
            raise DataError(
                located(where, f"the model was trained on {'pairs of texts' if self.pairs else 'single texts'}"),
                got="a pair" if "pair" in values else "one text",
                do="give the second text with --pair" if self.pairs else "leave --pair out",
            )
        return Labelled(
            text_of(values["text"], where),
            text_of(values["pair"], where, "pair") if "pair" in values else None,
            known_label(values["label"], self._numbers, where) if "label" in values else None,
        )

    def rows(self, example: Labelled) -> list[Row]:
        """A row for each window; the windows of a text share a weight of 1."""
        cut = text_rows(self.tokenizer, example.text, example.pair, length=self.length)
        labels = {} if example.label is None else {"label": example.label}
        return [
            Row(ids=ids, segments=segments if self.segments else None, labels=labels, weight=1 / len(cut))
            for ids, segments in cut
        ]

    # ------------------------------------------------------------------ training

    @classmethod
    def check_body(cls, section: ClassifySection, body: ModelConfig) -> None:
        """Raise ConfigError unless the model has an encoder and no decoder."""
        if body.encoder is None or body.decoder is not None:
            raise ConfigError(
                "a text is classified by an encoder", got=f"the family {body.family}", do="choose bert or modernbert"
            )

    @classmethod
    def from_records(cls, section: ClassifySection, preparation: Preparation, records: Sequence[Record]) -> Self:
        """With the labels of the training records, sorted."""
        found: Counter[str] = Counter()
        for record in records:
            with suppress(DataError):  # reported when the record becomes an example
                for role in ("text", "pair"):
                    text_of(record.values.get(role, "absent"), record.where)
                found[label_of(record.values["label"], record.where)] += 1
        labels = section.labels or tuple(sorted(found))
        if len(labels) < 2:
            raise DataError(
                "to classify there must be at least two labels",
                got=f"{len(labels)} in {len(records):,} records" + (f" ({labels[0]!r})" if labels else ""),
                do="check which column holds the label",
            )
        if not preparation.measuring:
            preparation.log(_label_counts(found, labels))
        frequencies = dict(preparation.facts.get("label_counts") or {label: found[label] for label in labels})
        return cls(
            section.model_copy(update={"labels": labels}),
            preparation.tokenizer,
            length=preparation.data.length,
            segments=_two_segments(preparation.body),
            frequencies=frequencies,
        )

    def model(self, body: ModelConfig) -> ModelConfig:
        """The body with a sentence head, and without a vocabulary head."""
        head = sentence_head_of(
            body, labels=len(self.section.labels), pooling=self.section.pooling, dropout=self.section.dropout
        )
        return body.model_copy(update={"sentence_head": head, "head": None})

    @property
    def baseline_loss(self) -> float:
        """The entropy of the training labels: the loss of knowing only how frequent each of them is."""
        total = sum(self.frequencies.values())
        return -math.fsum(count / total * math.log(count / total) for count in self.frequencies.values() if count)

    def facts(self) -> dict[str, Any]:
        """How frequent each label is in the training records."""
        return {"label_counts": dict(self.frequencies)}

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        """The weighted sum of the cross-entropies of the labels."""
        logits = model(batch.inputs, heads=("sentence_head",)).sentence_logits  # [B, L]
        return {"label": cross_entropy(logits, batch.labels["label"], batch.weights)}

    def lesson(self, example: Labelled) -> Lesson | None:
        """The words and the label."""
        return None if example.label is None else Lesson(example.text, example.pair, example.label)

    def scores(self, pairs: Sequence[tuple[Labelled, Class]]) -> Scores:
        """Loss, perplexity and accuracy, beside always choosing the most frequent label."""
        labels = self.section.labels
        known = [(example.label, prediction) for example, prediction in pairs if example.label is not None]
        total = sum(self.frequencies.values()) + len(labels)
        prior = {label: (self.frequencies.get(label, 0) + 1) / total for label in labels}
        most_frequent = max(prior, key=prior.__getitem__)
        of = {
            THIS_MODEL: _measured(
                [prediction.logarithms[label] for label, prediction in known],
                [prediction.label == labels[label] for label, prediction in known],
            ),
            "most frequent": _measured(
                [math.log(prior[labels[label]]) for label, _ in known],
                [most_frequent == labels[label] for label, _ in known],
            ),
        }
        measures = {
            THIS_MODEL: share_of([prediction.label == labels[label] for label, prediction in known]),
            "most frequent": share_of([most_frequent == labels[label] for label, _ in known]),
        }
        unit = "texts" if all(example.pair is None for example, _ in pairs) else "pairs"
        return Scores(len(known), unit, of, measures=measures)


def _measured(log_probabilities: Sequence[float], right: Sequence[bool]) -> dict[str, float]:
    """Scores from the log-probability of each right label and whether it was chosen."""
    if not log_probabilities:
        return {"loss": math.nan, "perplexity": math.nan, "accuracy": math.nan}
    loss = -math.fsum(log_probabilities) / len(log_probabilities)
    return {"loss": loss, "perplexity": perplexity(loss), "accuracy": sum(right) / len(right)}


def _label_counts(found: Counter[str], labels: Sequence[str]) -> str:
    """The labels and how many records have each, as a line of bounded length; one that occurs once may be a mistake."""
    counted = sorted(((label, found[label]) for label in labels), key=lambda each: -each[1])
    shown = ", ".join(f"{label[:30]} {count:,}" for label, count in counted[:_SHOWN])
    more = f" and {len(counted) - _SHOWN:,} more" if len(counted) > _SHOWN else ""
    rare = [label[:30] for label, count in counted if count == 1]
    warned = f"; only once, by mistake? {', '.join(rare[:_SHOWN])}" if rare else ""
    return f"{len(labels):,} labels: {shown}{more}{warned}"


def _two_segments(config: ModelConfig) -> bool:
    return config.encoder is not None and config.encoder.embed.segments > 1
