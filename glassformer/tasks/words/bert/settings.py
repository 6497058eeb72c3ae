"""The settings of masked words and next sentence together."""

from typing import ClassVar, Literal

from pydantic import Field

from glassformer.data.batches.corrupt import MaskingSection
from glassformer.tasks.settings import CardWords
from glassformer.tasks.words.settings import FILLED, PairsSection


class BertSection(PairsSection, MaskingSection):
    """How words are masked and pairs are made: as in BERT or, with `negatives` swapped, as in ALBERT."""

    card: ClassVar[CardWords] = FILLED
    name: Literal["bert"] = "bert"
    unrelated: float = Field(default=0.5, ge=0, le=1)
    """The share of wrong pairs."""
    short: float = Field(default=0.1, ge=0, le=1)
    """The share of documents that are cut to a random shorter length."""
    copies: int = Field(default=1, ge=1, le=100)
    """In how many ways each document is cut into pairs."""

    @classmethod
    def of_teacher(cls) -> tuple[str, ...]:
        return ("negatives",)
