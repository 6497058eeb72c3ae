"""The table `task` of its recipes; without torch."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from glassformer.tasks.labels.settings import TextPairSection
from glassformer.tasks.settings import CardWords


class RegressSection(TextPairSection):
    """The model learns (number − mean) / deviation of the training numbers."""

    found: ClassVar[tuple[str, ...]] = ("mean", "deviation")
    card: ClassVar[CardWords] = CardWords("number")
    name: Literal["regress"] = "regress"
    mean: float | None = None
    deviation: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.mean is None) != (self.deviation is None):
            raise ValueError("mean and deviation belong together: give both or none")
        return self

    @property
    def after_scores(self) -> tuple[str, ...]:
        if self.deviation is None or (self.mean, self.deviation) == (0.0, 1.0):
            return ()
        return (f"The mean and the deviation of the training numbers: {self.mean:.4g} + {self.deviation:.4g} × score.",)
