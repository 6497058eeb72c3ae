"""One label for a text or for a pair: the sentence head and a softmax (Devlin et al. 2019, §4.1).

B rows · L labels
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

from torch import Tensor

from glassformer.config import ModelConfig, SentenceHeadConfig
from glassformer.data.settings import RecordSection
from glassformer.errors import ConfigError, DataError, NotFiniteError
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.tasks.bert import NEXT_SENTENCE_LABELS, BertSection
from glassformer.tasks.cross_entropy import cross_entropy, widened
from glassformer.tasks.records import Record, RecordTask, check_columns, known_label, label_of, mean_of_columns, text_of
from glassformer.tasks.rows import Axis, Row
from glassformer.tasks.score import THIS_MODEL, Scores, perplexity
from glassformer.tasks.task import Context, Preparation, TaskSection
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import text_rows


class ClassifySection(TaskSection):
    """`labels` are found in the training records unless they are given; `pooling` makes one vector of a text's states:
    the first token's state, or this through a dense layer and tanh.
    """

    name: Literal["classify"] = "classify"
    labels: tuple[str, ...] = ()
    pooling: Literal["first", "pooler"] = "pooler"


class ClassifyData(RecordSection):
    """`text`, `pair` and `label` are columns, by name or by number from 0; without a `pair` one text is classified."""

    pair: str | None = None
    label: str = "label"


class Labelled(NamedTuple):
    """A text or a pair, with its label in training and evaluation."""

    text: str
    pair: str | None
    label: int | None


@dataclass(frozen=True)
class Class:
    """The likeliest label of a text or a pair, and the probability of each; `windows` is above 1 for a long text."""

    label: str
    probabilities: Mapping[str, float]
    windows: int = 1

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and strings, for JSON."""
        return asdict(self)


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
        frequencies: Mapping[str, int] | None = None,
    ) -> None:
        self.section, self.tokenizer, self.length, self.segments = section, tokenizer, length, segments
        self.frequencies = frequencies or {}

    # ------------------------------------------------------------------ for an existing model

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For a model with a sentence head and names for its labels; raises ConfigError for another one."""
        section = context.section
        if isinstance(section, BertSection):
            section = ClassifySection(labels=NEXT_SENTENCE_LABELS)
        head = model.config.sentence_head
        if head is None or not isinstance(section, ClassifySection) or head.labels != len(section.labels):
            raise ConfigError(
                "a label needs a model that was trained to classify",
                got=f"a {model.config.family} model"
                + ("" if context.section is None else f" for {context.section.name}"),
                do="train one with: glassformer train classify TABLE --text 0 --label 1",
            )
        return cls(section, tokenizer, length=context.length, segments=_two_segments(model.config))

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[float]]]:
        """The probability of each label, for each row."""
        for batch in batches:
            logits = model(batch.inputs, heads=("sentence_head",)).sentence_logits  # [B, L]
            yield from zip(batch.row_ids.tolist(), widened(logits).softmax(dim=-1).tolist(), strict=True)

    def merge(self, example: Labelled, found: Sequence[list[float]]) -> Class:
        """The mean over the windows."""
        probabilities = dict(zip(self.section.labels, mean_of_columns(found), strict=True))
        if not all(map(math.isfinite, probabilities.values())):
            raise NotFiniteError(
                "a model must give finite numbers to classify by",
                got=f"NaN for {example.text[:40]!r}",
                do="its training diverged: train it again with a lower learning rate",
            )
        return Class(max(probabilities, key=probabilities.__getitem__), probabilities, len(found))

    # ------------------------------------------------------------------ records

    @classmethod
    def columns(cls, data: ClassifyData) -> dict[str, str]:
        """Text, pair and label."""
        return check_columns({"text": data.text, "pair": data.pair, "label": data.label})

    def example(self, values: Mapping[str, object], where: str) -> Labelled:
        """A text or a pair, and its label where there is one."""
        pair = values.get("pair")
        label = values.get("label")
        return Labelled(
            text_of(values["text"], where),
            None if pair is None else text_of(pair, where, "pair"),
            None if label is None else known_label(label, self.section.labels, where),
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
                found[label_of(record.values["label"], record.where)] += 1
        labels = section.labels or tuple(sorted(found))
        if len(labels) < 2:
            raise DataError(
                "to classify there must be at least two labels",
                got=f"{len(labels)} in {len(records):,} records" + (f" ({labels[0]!r})" if labels else ""),
                do="check which column holds the label",
            )
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
        head = SentenceHeadConfig(labels=len(self.section.labels), pooling=self.section.pooling, dropout=0.1)
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

    def scores(self, pairs: Sequence[tuple[Labelled, Class]]) -> Scores:
        """Loss, perplexity and accuracy, beside always choosing the most frequent label."""
        labels = self.section.labels
        known = [(example.label, prediction) for example, prediction in pairs if example.label is not None]
        total = sum(self.frequencies.values()) + len(labels)
        prior = {label: (self.frequencies.get(label, 0) + 1) / total for label in labels}
        most_frequent = max(prior, key=prior.__getitem__)
        of = {
            THIS_MODEL: _measured(
                [prediction.probabilities[labels[label]] for label, prediction in known],
                [prediction.label == labels[label] for label, prediction in known],
            ),
            "most frequent": _measured(
                [prior[labels[label]] for label, _ in known], [most_frequent == labels[label] for label, _ in known]
            ),
        }
        return Scores(len(known), "texts" if all(example.pair is None for example, _ in pairs) else "pairs", of)


def _measured(probabilities: Sequence[float], right: Sequence[bool]) -> dict[str, float]:
    """Scores from the probability of each right label and whether it was chosen."""
    if not probabilities:
        return {"loss": math.nan, "perplexity": math.nan, "accuracy": math.nan}
    loss = -math.fsum(math.log(max(probability, 1e-300)) for probability in probabilities) / len(probabilities)
    return {"loss": loss, "perplexity": perplexity(loss), "accuracy": sum(right) / len(right)}


def _two_segments(config: ModelConfig) -> bool:
    return config.encoder is not None and config.encoder.embed.segments > 1
