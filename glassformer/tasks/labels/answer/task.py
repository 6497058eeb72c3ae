"""The answer to a question as a part of a passage (Devlin et al. 2019, §4.2 and §4.3).

B rows · S tokens of a row · N best spans
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from glassformer.base.errors import DataError
from glassformer.base.plain import counted
from glassformer.config import ModelConfig
from glassformer.data.readers.squad import stated_answers
from glassformer.data.settings import DataSection
from glassformer.data.stores.corpus import on_bad
from glassformer.data.stores.split import Split
from glassformer.models.families.heads import token_head_of
from glassformer.models.inputs import Batch, Output
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import cross_entropy, soft_loss
from glassformer.scoring.exact_match import best_threshold, exact_and_f1
from glassformer.scoring.score import Scores, widened
from glassformer.tasks.labels.answer.answers import (
    BEST,
    Answer,
    Passage,
    Passages,
    Reals,
    answer_scores,
    best_spans,
    merged,
    right_answers,
)
from glassformer.tasks.labels.answer.settings import AnswerData, AnswerSection
from glassformer.tasks.labels.labels import two_segments
from glassformer.tasks.predictor import Context, evaluating, predict, untrained
from glassformer.tasks.records import RecordTask
from glassformer.tasks.rows import Axis, Row, located, text_of
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Both, Preparation, SoftLoss, Source, answers
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import Window, text_room, windows

# Asked of any text, to try a model with.
_QUESTION = "Who reads letters by the window?"
# Repaired answers that a note names.
_NAMED = 3


class Question(NamedTuple):
    """`answers` are all that count as right, none where the passage has none, None where they are not known; `span` is
    the first and last token that are learned; `cut` tokens of the question were left out.
    """

    question: str
    ids: array[int]
    passage: Passage
    answers: tuple[str, ...] | None = None
    span: tuple[int, int] | None = None
    cut: int = 0


def _of_ends(side: int) -> Callable[[Any, Both], Tensor]:
    """The tokens of a row, as that at which the answer starts (0) or ends (1)."""

    def of(task: Any, both: Both) -> Tensor:
        logits, its = (each[..., side] for each in answers(both, "token_logits"))  # [B, S]
        return soft_loss(logits, its, both.batch.weights, both.temperature, among=both.batch.inputs.real)

    return of


class AnswerQuestions(RecordTask[Question, Answer]):
    """Scores for the first and the last token of the answer; windows without it learn [CLS]."""

    Section = AnswerSection
    Data = AnswerData
    roles = ("text", "pair", "answers")
    of_pairs = True
    verbs: ClassVar[Mapping[str, str]] = {"token_head": "answer"}
    head_use = "span"
    needs_encoder = "answers are found by an encoder"
    soft: ClassVar[Mapping[str, SoftLoss]] = {"start": _of_ends(0), "end": _of_ends(1)}
    weights: ClassVar[Mapping[str, float]] = {"start": 0.5, "end": 0.5}
    axes: ClassVar[Mapping[str, Axis]] = {"start": "row", "end": "row"}
    baseline_names = ("sliding_window", "never_answering")
    shares = ()
    section: AnswerSection
    sample = ("What is in the passage?", "The answer is in the passage.")
    sample_option = "--pair"
    reads_several = True

    def record_of(self, text: str) -> dict[str, object]:
        return {"text": _QUESTION, "pair": text}

    def __init__(
        self, section: AnswerSection, tokenizer: Tokenizer, *, length: int | None, segments: bool, top: int = BEST
    ) -> None:
        self.section, self.tokenizer, self.length, self.segments, self.top = section, tokenizer, length, segments, top
        self.repaired: list[str] = []  # where answers were not at their stated offset, or one of several nowhere
        self._passages = Passages(tokenizer)
        before, between, self._after = tokenizer.pair_frame_ids
        self._before, self._between = array("i", before), array("i", between)

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        head, section = model.config.token_head, context.section
        if head is None or head.labels != 2 or not isinstance(section, AnswerSection):
            wanted = "an answer needs a model that was trained to find answers"
            raise untrained(wanted, model, context, "glassformer train answer FILES")
        top = counted(context.options.get("top", BEST), "top")
        return cls(section, tokenizer, length=context.length, segments=two_segments(model.config), top=top)

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, Reals]]:
        """For each row its best spans [N, 3]: score, first and last token; the score is −inf where there are fewer."""
        for batch in batches:
            logits = widened(model(batch.inputs, heads=("token_head",)).token_logits)  # [B, S, 2]
            rows, length = logits.shape[:2]
            may_start = torch.zeros(rows * length, dtype=torch.bool, device=logits.device)
            if batch.scored_at is not None:
                may_start[batch.scored_at] = True
            real = batch.inputs.real
            sizes = torch.full((rows,), length, device=logits.device) if real is None else real.sum(dim=1)  # [B]
            found = best_spans(
                logits,
                may_start.view(rows, length),
                sizes - len(self._after),
                longest=self.section.longest_answer,
                count=self.top,
            )
            yield from zip(batch.row_ids.tolist(), found, strict=True)

    def merge(self, example: Question, found: Sequence[Reals]) -> Answer:
        cut = self._windows(example)
        shifts = [window.start - self._ahead(example) for window in cut]
        spans, none = merged(found, shifts, example.passage, count=self.top, no_answer=bool(self.section.no_answer))
        return Answer(example.question, spans, none, self.section.threshold, len(cut), example.cut)

    @classmethod
    def split_text(cls, record: Record) -> str:
        return str(record.values["pair"])

    @classmethod
    def training_texts(cls, data: DataSection, shares: Mapping[str, float]) -> Iterator[str]:
        """The questions, and each passage once where its questions follow one another."""
        before = ""
        for split, record in cls._split(data, shares, on_bad(data)):
            if split == "train":
                yield str(record.values["text"])
                if record.values["pair"] != before:
                    before = str(record.values["pair"])
                    yield before

    def example(self, values: Mapping[str, object], where: str) -> Question:
        question = text_of(values["text"], where, "question")
        if "pair" not in values:
            given = "give it with --pair, in Python and over HTTP as pair"
            do = "name its column with --pair-column" if where else given
            raise DataError(located(where, "an answer needs a passage"), got="a question without a passage", do=do)
        passage = self._passages.encoded(text_of(values["pair"], where, "passage"))
        if not len(passage):
            raise DataError(located(where, "a passage needs at least one token"), got=repr(passage.text[:40]))
        ids = array("i", self.tokenizer.ids(question))
        kept = ids[: self._question_room]
        answers, span = None, None
        if "answers" in values:
            stated = stated_answers(values["answers"], where)
            answers, span, repaired = right_answers(passage, stated, where)
            self.repaired += [where] * repaired
        return Question(question, kept, passage, answers, span, len(ids) - len(kept))

    def shortens(self, example: Question) -> bool:
        return bool(example.cut)

    def rows(self, example: Question) -> Iterator[Row]:
        """A row for each window, weights summing to 1; scored are the tokens with most of the passage around them."""
        cut, ahead = self._windows(example), self._ahead(example)
        head, tail = self._before + example.ids + self._between, array("i", self._after)
        for window in cut:
            ids = head + example.passage.ids[window.start : window.end] + tail
            shift = ahead - window.start
            yield Row(
                ids=ids,
                segments=array("b", bytes(len(head)) + b"\1" * (len(ids) - len(head))) if self.segments else None,
                scored_at=range(window.first + shift, window.last + shift),
                labels={} if example.answers is None else _labels(example.span, window, shift),
                weight=1 / len(cut),
            )

    @property
    def _question_room(self) -> int:
        """The most tokens of a question: those of the section, or half of a short row."""
        room = text_room(len(self._before) + len(self._between) + len(self._after), self.length, texts=2)
        return self.section.longest_question if room is None else min(self.section.longest_question, room // 2)

    def _ahead(self, example: Question) -> int:
        """The tokens of a row before those of the passage."""
        return len(self._before) + len(example.ids) + len(self._between)

    def _windows(self, example: Question) -> tuple[Window, ...]:
        room = None if self.length is None else self.length - self._ahead(example) - len(self._after)
        return windows(len(example.passage), room, self.section.overlap)

    @classmethod
    def from_records(
        cls, section: AnswerSection, preparation: Preparation, records: Sequence[Record], held_out: Sequence[Record]
    ) -> Self:
        without = 0
        for record in records:
            with suppress(DataError):  # reported when the record becomes an example
                without += not stated_answers(record.values["answers"], record.where)
        if section.no_answer is None:
            section = section.model_copy(update={"no_answer": without > 0})
        if not preparation.measuring and without:
            preparation.log(f"{without:,} of {len(records):,} questions to learn from have no answer")
        length, segments = preparation.data.length, two_segments(preparation.body)
        return cls(section, preparation.tokenizer, length=length, segments=segments)

    @classmethod
    def prepared(cls, section: AnswerSection, preparation: Preparation) -> tuple[Self, dict[Split, Source]]:
        task, sources = super().prepared(section, preparation)
        examples = [each for source in sources.values() for each in getattr(source, "examples", ())]
        if task.repaired:
            named = ", ".join(task.repaired[:_NAMED]) + (" and more" if len(task.repaired) > _NAMED else "")
            preparation.log(
                f"{len(task.repaired):,} questions have an answer that is not where it says: it is taken from a "
                f"nearby place, or from the only place in the passage that has it: {named}"
            )
        if cut := sum(example.cut > 0 for example in examples):
            preparation.log(f"{cut:,} questions longer than {task._question_room} tokens were cut")
        return task, sources

    def model(self, body: ModelConfig) -> ModelConfig:
        head = token_head_of(body, labels=2, dropout=self.section.dropout, spans=True)
        return body.model_copy(update={"token_head": head, "sentence_head": None, "head": None})

    def losses_of(self, model: Transformer, output: Output, batch: Batch) -> dict[str, Tensor]:
        """The weighted cross-entropies of the first and the last token among all of a row, of logits [B, S, 2]."""
        logits = widened(output.token_logits)  # [B, S, 2]
        if batch.inputs.real is not None:
            logits = logits.masked_fill(~batch.inputs.real[..., None], torch.finfo(logits.dtype).min)
        starts, ends = logits.unbind(dim=-1)  # [B, S], [B, S]
        return {
            "start": cross_entropy(starts, batch.labels["start"], batch.weights),
            "end": cross_entropy(ends, batch.labels["end"], batch.weights),
        }

    def fitted(self, model: Transformer, source: Any, log: Callable[[str], None]) -> Self:
        """With the threshold of the highest F1; unchanged where all of the questions, or none, have an answer."""
        known = [example for example in source.examples if example.answers is not None]
        if not self.section.no_answer or len({bool(example.answers) for example in known}) < 2:
            return self
        with evaluating(model):
            best = [answer.spans[0] for answer in predict(self, model, known)]
        gains = [
            exact_and_f1(span.text, example.answers or ())[1] - exact_and_f1("", example.answers or ())[1]
            for span, example in zip(best, known, strict=True)
        ]
        return self.with_settings(threshold=best_threshold([span.score for span in best], gains))

    def known_by(self, example: Question) -> str | None:
        return None if example.answers is None else example.passage.text

    def scores(self, pairs: Sequence[tuple[Question, Answer]]) -> Scores:
        known = [(example, answer) for example, answer in pairs if example.answers is not None]
        return answer_scores(
            [(example.question, example.passage.text, example.answers or ()) for example, _ in known],
            [answer for _, answer in known],
            threshold=self.section.threshold if self.section.no_answer else None,
        )


def _labels(span: tuple[int, int] | None, window: Window, shift: int) -> dict[str, int]:
    """The tokens of a row at which the answer starts and ends; 0, the first token, where it is not in the window."""
    if span is None or span[0] < window.start or span[1] >= window.end:
        return {"start": 0, "end": 0}
    return {"start": span[0] + shift, "end": span[1] + shift}
