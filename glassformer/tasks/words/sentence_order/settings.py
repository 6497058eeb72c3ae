"""The settings of sentence order."""

from typing import ClassVar, Literal

from pydantic import Field

from glassformer.tasks.settings import LARGEST, HeadOutputs, TaskSection
from glassformer.tasks.words.settings import NEXT_SENTENCE_LABELS, ORDER_LABELS


class SentenceOrderSection(TaskSection):
    """Which pairs are wrong: with `negatives` random the second text comes from another document, as in BERT; with
    swapped the two texts are neighbours in swapped order, as in ALBERT. `share` is the probability of a wrong pair,
    `short` the share of documents that are cut to a random shorter length, `copies` how many different ways each
    document is cut into pairs.
    """

    labels_pairs: ClassVar[bool] = True
    probed: ClassVar[tuple[str, ...]] = ("pooling",)
    name: Literal["sentence-order"] = "sentence-order"
    negatives: Literal["random", "swapped"] = "random"
    """How wrong pairs are made: a text of another document, or neighbours in swapped order."""
    share: float = Field(default=0.5, gt=0, lt=1)
    """The share of wrong pairs."""
    short: float = Field(default=0.1, ge=0, le=1)
    """The share of documents that are cut to a random shorter length."""
    copies: int = Field(default=1, ge=1, le=100)
    """In how many ways each document is cut into pairs."""
    pooling: Literal["first", "pooler", "mean"] = "pooler"
    """How the states of a pair become one vector."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout before the scores."""

    @property
    def labels(self) -> tuple[str, str]:
        return ORDER_LABELS if self.negatives == "swapped" else NEXT_SENTENCE_LABELS

    @property
    def head_outputs(self) -> HeadOutputs:
        return LARGEST._replace(labels=self.labels)

    @classmethod
    def of_teacher(cls) -> tuple[str, ...]:
        return ("negatives", "pooling")
