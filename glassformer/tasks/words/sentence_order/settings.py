"""The settings of sentence order."""

from typing import ClassVar, Literal

from pydantic import Field

from glassformer.tasks.words.settings import PairsSection


class SentenceOrderSection(PairsSection):
    """How pairs are made: as in BERT or, with `negatives` swapped, as in ALBERT."""

    probed: ClassVar[tuple[str, ...]] = ("pooling",)
    name: Literal["sentence-order"] = "sentence-order"
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

    @classmethod
    def of_teacher(cls) -> tuple[str, ...]:
        return ("negatives", "pooling")
