from typing import ClassVar, Literal

from pydantic import Field

from glassformer.base.settings import MOST_TOKENS
from glassformer.data.settings import RecordSection
from glassformer.tasks.settings import CardWords, HeadOutputs, TaskSection


class AnswerSection(TaskSection):
    """Where a question may have no answer, the best span is the answer if its score is above `threshold` (0: if it is
    likelier than no answer).
    """

    found: ClassVar[tuple[str, ...]] = ("no_answer", "threshold")
    kept_by: ClassVar[str] = "f1"
    card: ClassVar[CardWords] = CardWords("text")
    name: Literal["answer"] = "answer"
    overlap: int = Field(default=128, ge=0)
    """Tokens that two windows of a long passage share."""
    longest_question: int = Field(default=64, ge=1)
    """The most tokens of a question; the rest is cut."""
    longest_answer: int = Field(default=30, ge=1, le=512)
    """The most tokens of an answer."""
    no_answer: bool | None = None
    """Whether a question may have no answer; by default the training records decide."""
    threshold: float = Field(default=0.0, allow_inf_nan=False)
    """How much likelier a span must be than no answer; fitted on held-out records."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout before the scores."""

    @property
    def head_outputs(self) -> HeadOutputs:
        return HeadOutputs(threshold=self.threshold)

    @property
    def not_exported(self) -> tuple[str, ...]:
        shown = f"the threshold {self.threshold:.4g} is not exported: apply it to the scores"
        return (shown,) if self.threshold else ()

    @classmethod
    def of_teacher(cls) -> tuple[str, ...]:
        return ()  # the student's records decide, and its threshold is its own


class AnswerData(RecordSection):
    """`text` (the question), `pair` (the passage) and `answers` are columns; the defaults are those of SQuAD's JSON."""

    text: str = "question"
    """The column of the question."""
    pair: str = "context"
    """The column of the passage."""
    answers: str = "answers"
    """The column of the answers."""
    length: int = Field(default=384, ge=8, le=MOST_TOKENS)
    """The most tokens of a question with its window of the passage."""
