"""The settings of masked language modelling."""

from typing import ClassVar, Literal

from pydantic import Field

from glassformer.data.batches.corrupt import MaskingSection
from glassformer.tasks.settings import CardWords, TaskSection
from glassformer.tasks.words.settings import FILLED


class MaskedLMSection(TaskSection, MaskingSection):
    """Which words are masked, and how: more of them teach more in the same step (Wettig et al. 2023)."""

    card: ClassVar[CardWords] = FILLED
    name: Literal["masked-lm"] = "masked-lm"
    training_rate: float | None = Field(default=None, gt=0, lt=1)
    """The share that is masked in training; by default `rate`, that of every evaluation."""
