"""What the model card of a task says of its own."""

from __future__ import annotations

from typing import NamedTuple


class CardWords(NamedTuple):
    """`printed`: the field of an answer that the card prints; `cut`: what becomes of a text that is longer than a row;
    `limit`: what models of this task cannot do, in a sentence.
    """

    printed: str = "probabilities"
    cut: str = "read in overlapping windows"
    limit: str = ""


FILLED = CardWords("filled", limit="Several masked words are guessed independently of one another.")
