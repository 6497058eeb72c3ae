from typing import ClassVar, Literal

from pydantic import Field

from glassformer.data.settings import RecordSection
from glassformer.tasks.settings import CardWords, TaskSection
from glassformer.tasks.words.settings import FILLED


class AnnotatedMasksSection(TaskSection):
    """A task without random choices and without settings."""

    card: ClassVar[CardWords] = FILLED
    name: Literal["annotated-masks"] = "annotated-masks"


class AnnotatedMasksData(RecordSection):
    """`text` with [MASK] and `answers`, a word for each mask (a list, or separated by spaces), are columns."""

    validation: float = Field(default=0.0, ge=0, lt=1)
    """The share of the records that is held out for validation."""
    answers: str = "answers"
    """The column of the hidden words."""
