from typing import ClassVar, Literal

from pydantic import Field

from glassformer.data.settings import Reads, RecordSection
from glassformer.tasks.settings import CardWords
from glassformer.tasks.writing.settings import TargetSection


class ChatSection(TargetSection):
    """As for translation, but without label smoothing."""

    compared_by: ClassVar[str] = "-bits_per_byte"  # losses per token are of different tokens where vocabularies differ
    greedy: ClassVar[bool] = True
    card: ClassVar[CardWords] = CardWords(
        "reply",
        cut="cut at their beginning: the last turns are read",
        limit="It answers only the last turns and knows only its dialogues: what it says is made up.",
    )
    name: Literal["chat"] = "chat"
    best: Literal["loss"] = "loss"
    """The score by which the best model is kept."""


class ChatData(RecordSection):
    """Dialogues: `text` is the column with their turns. Of the turns before a reply the last `history` are read: by
    default three by an encoder, and by a decoder alone all that fit into a row.
    """

    reads: ClassVar[Reads] = "dialogues"
    text: str = "turns"
    """The column of the turns."""
    history: int | None = Field(default=None, ge=1, le=1000)
    """The most turns before a reply that are read."""
    validation: float = Field(default=0.05, ge=0, lt=1)
    """The share of the dialogues that is held out for validation."""
