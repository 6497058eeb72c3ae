from typing import ClassVar, Literal

from pydantic import Field

from glassformer.data.settings import RecordSection
from glassformer.tasks.settings import HeadOutputs, TaskSection


class ChooseSection(TaskSection):
    """`pooling` makes one vector of the states of a text with a candidate, of which the head makes one score; `pair`
    compares the two by their means, the absolute difference and the product of these. By default the linear probe
    chooses it; without a model to start from it is `pooler`.
    """

    kept_by: ClassVar[str] = "accuracy"
    probed: ClassVar[tuple[str, ...]] = ("pooling",)
    head_outputs: ClassVar[HeadOutputs] = HeadOutputs(
        meaning="a score for each row; the rows of a text are the text with each candidate, and the largest is the "
        "answer",
        code="print(logits[:, 0].argmax())",
    )
    name: Literal["choose"] = "choose"
    pooling: Literal["first", "pooler", "mean", "pair"] | None = None
    """How the states of a text with a candidate become one vector; by default the linear probe chooses."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout before the scores."""

    @classmethod
    def of_teacher(cls) -> tuple[str, ...]:
        return ("pooling",)


class ChooseData(RecordSection):
    """`text`, `choices` and `label` are columns: a text, its candidates, and the right one, by its place from 0 or by
    its text. Of `choices` there is one column that holds a list (JSON lines), or one for each candidate.
    """

    choices: tuple[str, ...] = Field(default=("choices",), min_length=1)
    """The column of the candidates, or one column for each."""
    label: str = "label"
    """The column of the right one."""
