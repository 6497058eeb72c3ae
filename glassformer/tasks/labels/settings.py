"""What the settings of several tasks of labels share."""

from typing import ClassVar, Literal, Self

from pydantic import Field

from glassformer.data.settings import DataSection, RecordSection
from glassformer.tasks.settings import TaskSection


class TextPairData(RecordSection):
    """`text`, `pair` and `label` are columns, by name or by number from 0; without a `pair` there are single texts."""

    pair: str | None = None
    """The column of the second text."""
    label: str = "label"
    """The column of the label or the number."""


class RatedData(TextPairData):
    """`decimal` separates the decimals of numbers: 3.5 or 3,5. By default it is found in each table."""

    decimal: Literal[".", ","] | None = None
    """What separates the decimals of the numbers, by default found in each table."""


class TextPairSection(TaskSection):
    """`pooling` makes one vector of a text's states: that of the first token, this through the family's dense layer
    (`pooler`), their mean, this through that layer (`mean_pooler`), or the largest number of each channel; of a `pair`
    the means of both texts, the absolute difference and the product of these. By default the linear probe chooses it;
    without a model to start from it is `pair` for pairs, else `pooler`.
    """

    probed: ClassVar[tuple[str, ...]] = ("pooling",)
    pooling: Literal["first", "pooler", "mean", "mean_pooler", "max", "pair"] | None = None
    """How the states of a text become one vector; by default the linear probe chooses."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout before the scores."""

    def from_random(self, data: DataSection) -> Self:
        pairs = self.pooling is None and isinstance(data, TextPairData) and data.pair is not None
        return self.model_copy(update={"pooling": "pair"}) if pairs else self

    @classmethod
    def of_teacher(cls) -> tuple[str, ...]:
        return (*cls.found, "pooling")
