"""The settings of masked words and next sentence together."""

from typing import ClassVar, Literal

from pydantic import Field

from glassformer.data.batches.corrupt import MaskingSection
from glassformer.tasks.settings import LARGEST, CardWords, HeadOutputs, TaskSection
from glassformer.tasks.words.settings import FILLED, NEXT_SENTENCE_LABELS, ORDER_LABELS


class BertSection(TaskSection, MaskingSection):
    """How words are masked and pairs are made. `negatives`: with random the second text of a wrong pair comes from
    another document, as in BERT; with swapped the two texts are neighbours in swapped order, as in ALBERT. `unrelated`:
    the probability of a wrong pair; `short`: the share of documents that are cut to a random shorter length; `copies`:
    how many different ways each document is cut into pairs.
    """

    card: ClassVar[CardWords] = FILLED
    labels_pairs: ClassVar[bool] = True
    name: Literal["bert"] = "bert"
    negatives: Literal["random", "swapped"] = "random"
    """How wrong pairs are made: a text of another document, or neighbours in swapped order."""
    unrelated: float = Field(default=0.5, ge=0, le=1)
    """The share of wrong pairs."""
    short: float = Field(default=0.1, ge=0, le=1)
    """The share of documents that are cut to a random shorter length."""
    copies: int = Field(default=1, ge=1, le=100)
    """In how many ways each document is cut into pairs."""

    @property
    def labels(self) -> tuple[str, str]:
        return ORDER_LABELS if self.negatives == "swapped" else NEXT_SENTENCE_LABELS

    @property
    def head_outputs(self) -> HeadOutputs:
        return LARGEST._replace(labels=self.labels)

    @classmethod
    def of_teacher(cls) -> tuple[str, ...]:
        return ("negatives",)
