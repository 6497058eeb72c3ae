"""The table `task` of its recipes; without torch."""

from __future__ import annotations

from typing import ClassVar, Literal

from glassformer.tasks.settings import CardWords
from glassformer.tasks.writing.settings import StreamSection


class LanguageModelSection(StreamSection):
    """A task without random choices and without settings."""

    compared_by: ClassVar[str] = "-bits_per_byte"  # losses per token are of different tokens where vocabularies differ
    card: ClassVar[CardWords] = CardWords(
        "text",
        cut="scored in overlapping windows, and of a longer prompt the end is read",
        limit="It writes one token after the other and plans nothing; what it tells is made up.",
    )
    name: Literal["language-model"] = "language-model"
