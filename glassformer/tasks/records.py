"""Tasks that learn from records and answer them: the rows of a table become examples, and these rows of tokens.

E examples · B rows of a batch · S tokens of a row
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

import numpy as np

from glassformer.base.counting import number_of
from glassformer.base.errors import DataError
from glassformer.data.batches.batch import Integers
from glassformer.data.readers.files import files_for
from glassformer.data.readers.lines import OnBad
from glassformer.data.stores.split import Split, shared, text_hash
from glassformer.scoring.baselines import TFIDF, Lesson, TfIdf
from glassformer.scoring.score import Scores
from glassformer.scoring.verdict import FEW
from glassformer.tasks.predictor import Example, Prediction, Predictor, evaluating, predict
from glassformer.tasks.rows import Row, Shape, collate, count_of
from glassformer.tasks.tables import Record, TableTask
from glassformer.tasks.task import Preparation, Source, Task, drawn_examples

if TYPE_CHECKING:
    from glassformer.models.inputs import Batch
    from glassformer.models.transformer import Transformer


# Below this share of different texts, copies among the records are reported.
_DIFFERENT = 0.9


class RecordSource(Generic[Example]):
    """Examples in memory; their rows are made when they are first trained on."""

    def __init__(self, task: RecordTask[Example, Any], examples: Sequence[Example], *, length: int) -> None:
        if not examples:
            raise DataError("at least one record is needed", got="none that can be used")
        self.examples, self._task, self._length = examples, task, length

    @cached_property
    def _of_examples(self) -> list[list[list[Row]]]:
        return [self._task.groups(example) for example in self.examples]

    @cached_property
    def copies(self) -> Integers:
        """A number for each group: equal for those of examples with the same text, whatever the text compared with."""
        numbers: dict[int, int] = {}
        found: list[int] = []
        for example, groups in zip(self.examples, self._of_examples, strict=True):
            text = text_hash(self._task.text_of(example))
            found += [numbers.setdefault(text, len(numbers))] * len(groups)
        return np.array(found, np.int64)

    @cached_property
    def _groups(self) -> list[list[Row]]:
        """The rows that stay together, of all examples; smaller groups are filled with rows of weight 0."""
        groups = [group for its in self._of_examples for group in its]
        most = max(map(len, groups))
        return [
            [*group, *[replace(group[-1], labels={}, scored_at=(), weight=0.0)] * (most - len(group))]
            for group in groups
        ]

    def of(self, task: RecordTask[Example, Any], examples: Sequence[Example] | None = None) -> RecordSource[Example]:
        """The same examples, or others, of a task with other settings."""
        return RecordSource(task, self.examples if examples is None else examples, length=self._length)

    @property
    def rows_of_each(self) -> int:
        return len(self._groups[0])

    @cached_property
    def fingerprint(self) -> str:
        section = self._task.section
        digest = hashlib.sha256(repr([section.model_dump(mode="json", exclude=section.after), self._length]).encode())
        for group in self._groups:
            for row in group:
                labels = {name: list(of) if isinstance(of, array) else of for name, of in row.labels.items()}
                digest.update(repr((list(row.ids), labels)).encode())
        return digest.hexdigest()

    @cached_property
    def total_counts(self) -> dict[str, float]:
        rows = [row for group in self._groups for row in group]
        return {name: math.fsum(count_of(row, name, axis) for row in rows) for name, axis in self._task.axes.items()}

    @property
    def windowed(self) -> int:
        """How many more rows there are than examples, because of long texts."""
        return len(self._groups) - len(self.examples)

    def __len__(self) -> int:
        return len(self._groups)

    @cached_property
    def lengths(self) -> Integers:
        return np.array([max(len(row.ids) for row in group) for group in self._groups], np.int64)

    @cached_property
    def _scored(self) -> int:
        return max(len(row.scored_at) for group in self._groups for row in group)

    @cached_property
    def _most(self) -> int:
        sets = [name for name, axis in self._task.axes.items() if axis == "set"]
        return max((len(row.labels[name]) for group in self._groups for row in group for name in sets), default=0)

    def batch(self, examples: Integers, epochs: Integers, *, shape: Shape) -> Batch:
        rows = [row for number in examples.tolist() for row in self._groups[number]]
        batch = collate(
            rows,
            pad_id=self._task.tokenizer.pad_id or 0,
            axes=self._task.axes,
            shape=shape,
            scored=self._scored,
            most=self._most,
        )
        return replace(batch, rows_of_each=self.rows_of_each)


class RecordTask(TableTask, Predictor[Example, Prediction]):
    """A task whose examples are records of tables, and which answers them itself."""

    fits_baselines = True
    axes: ClassVar[Mapping[str, Any]]

    def groups(self, example: Example) -> list[list[Row]]:
        """The rows of an example in groups that training never splits: by default each row alone."""
        return [[row] for row in self.rows(example)]

    @classmethod
    @abstractmethod
    def from_records(
        cls, section: Any, preparation: Preparation, records: Sequence[Record], held_out: Sequence[Record]
    ) -> Self:
        """The task with the settings found in its training records, such as labels; `held_out` may have rare ones."""

    @abstractmethod
    def scores(self, pairs: Sequence[tuple[Example, Prediction]]) -> Scores:
        """Scores of predictions for examples with labels, compared with baselines."""

    def scores_of_stream(self, pairs: Iterable[tuple[Example, Prediction]]) -> Scores:
        """`scores` of pairs as they come; a task whose predictions are large overrides it, to keep less of each."""
        return self.scores(list(pairs))

    @classmethod
    def _prepared(cls, section: Any, preparation: Preparation, bad: OnBad) -> tuple[Self, dict[Split, Source]]:
        data, log = preparation.data, preparation.log
        for path in () if preparation.measuring else files_for(data, [*data.files, *data.validation_files]):
            with suppress(DataError):  # which is reported where the file is read
                log(f"{path.name}: {cls.format_of(data, path)}")
        by_split: dict[Split, list[Record]] = {}
        for split, found in groupby(cls._split(data, preparation.shares, bad), key=lambda pair: pair[0]):
            by_split.setdefault(split, []).extend(record for _, record in found)
        own: tuple[Split, ...] = ("test",) if data.validation_files else ("validation", "test")
        held_out = [record for split in own for record in by_split.get(split, [])]
        task = cls.from_records(section, preparation, by_split.get("train", []), held_out)
        sources: dict[Split, Source] = {}
        for split, records in by_split.items():
            examples = list(task.examples(records, bad))
            if examples:
                sources[split] = RecordSource(task, examples, length=data.length)
        if "train" not in sources:
            raise DataError("training needs records", got="none that can be used", do="check the files and columns")
        if data.validation_files and "validation" not in sources:
            named = ", ".join(data.validation_files)[:200]
            raise DataError(f"{named} must hold records", got="none that can be used", do="check its rows and columns")
        if not preparation.measuring:
            _log_records(cls, by_split, sources, preparation)
        return task, sources

    def examples(self, records: Iterable[Record], bad: OnBad) -> Iterator[Example]:
        for record in records:
            try:
                yield self.example(record.values, record.where)
            except DataError as error:
                bad(error.about(record.where, record.own))

    def evaluate(self, model: Transformer, source: Any, *, limit: int | None = None) -> Scores:
        examples = _measured(source, limit)
        with evaluating(model) as fast:
            found = predict(self, model, examples, fast=fast, engine=self.engine)
            return self.scores_of_stream(zip(examples, found, strict=True))

    def lesson(self, example: Example) -> Lesson | None:
        """What the TF-IDF baseline learns from an example; None without a label, and by default."""
        return None

    def text_of(self, example: Any) -> str:
        """The text by which records are split (`split_text`)."""
        return str(example.text)

    def known_by(self, example: Example) -> str | None:
        lesson = self.lesson(example)
        return None if lesson is None else f"{lesson.text}\n{lesson.pair}"

    def guessed(self, example: Example, values: list[float]) -> Prediction:
        """The prediction from what that baseline gives (`TfIdf.guess`), here as if it were the model's for a row."""
        return self.merge(example, [values])

    def with_baselines(
        self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Callable[[str], None]
    ) -> Scores:
        """With the scores of the TF-IDF baseline on the same examples, where it has something to learn."""
        learned = [lesson for example in train.examples if (lesson := self.lesson(example)) is not None]
        labelled = [(one, lesson) for one in _measured(source, limit) if (lesson := self.lesson(one)) is not None]
        if not learned or not labelled:
            return scores
        log(f"fitting the {TFIDF} baseline on {len(learned):,} training records")
        baseline = TfIdf(learned, len(self.section.head_outputs.labels))
        if baseline.note:
            log(baseline.note)
        values = baseline.guess([lesson for _, lesson in labelled])
        pairs = ((example, self.guessed(example, each)) for (example, _), each in zip(labelled, values, strict=True))
        return scores.with_baseline(TFIDF, self.scores_of_stream(pairs))


def sources_of(task: Task, sources: Mapping[Split, Source]) -> dict[Split, RecordSource[Any]]:
    """The same examples of records as those of a task with other settings."""
    found: dict[Split, RecordSource[Any]] = {}
    for split, source in sources.items():
        assert isinstance(source, RecordSource)
        assert isinstance(task, RecordTask)
        found[split] = source.of(task)
    return found


def _measured(source: RecordSource[Example], limit: int | None) -> Sequence[Example]:
    """All examples of a source, or `limit` of them, always the same ones."""
    if limit is None or limit >= len(source.examples):
        return source.examples
    return drawn_examples(source, limit)


def _log_records(
    task: type[RecordTask[Any, Any]],
    by_split: Mapping[Split, Sequence[Record]],
    sources: Mapping[Split, Source],
    preparation: Preparation,
) -> None:
    counts = {split: len(source.examples) for split, source in sources.items() if isinstance(source, RecordSource)}
    held_out = ", ".join(f"{counts[split]:,} {split}" for split in ("validation", "test") if split in counts)
    preparation.log(f"{number_of(counts['train'], 'record')} to learn from, {held_out or 'none held out'}")
    if 0 < counts.get("validation", FEW) < FEW:
        more = "hold out more with --validation or --validation-file"
        preparation.log(f"few validation records make uncertain scores: {more}")
    hashes = {
        split: np.array([text_hash(task.split_text(each)) for each in records], np.uint64)
        for split, records in by_split.items()
    }
    every = [text_hash("\n".join((task.split_text(of), *_pair_of(of)))) for its in by_split.values() for of in its]
    if (different := len(set(every))) < _DIFFERENT * len(every):
        preparation.log(
            f"{len(every):,} records have {different:,} different texts: copies make the intervals of scores too narrow"
        )
    for split in ("validation", "test"):
        if split in hashes and (repeated := shared(hashes["train"], hashes[split])):
            preparation.log(
                f"{repeated:,} of the {split} records have the text of a training record: their scores are too high"
            )
    known = {text_hash(text) for record in by_split.get("train", []) for text in _pair_of(record)}
    for split, records in by_split.items():
        alike = (
            0 if split == "train" else sum(any(text_hash(text) in known for text in _pair_of(each)) for each in records)
        )
        if alike:
            preparation.log(
                f"{alike:,} of the {len(records):,} {split} records share one of their texts with a training record: "
                "their scores may be too high"
            )
    windowed = sum(source.windowed for source in sources.values() if isinstance(source, RecordSource))
    if windowed:
        preparation.log(
            f"texts longer than data.length = {preparation.data.length} tokens are read in overlapping windows: "
            f"{windowed:,} more than there are texts"
        )


def _pair_of(record: Record) -> list[str]:
    """The two texts of a record; none where it has one text, or candidates."""
    texts = [value for role in ("text", "pair") if isinstance(value := record.values.get(role), str)]
    return texts if len(texts) == 2 else []
