"""The corrections C-1 … C-43 in one sentence each, as `explain --notes` shows them; in full: docs/imprecise.md."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from glassformer.bundled.texts import read_table


@dataclass(frozen=True)
class Note:
    """One correction: its number, a title, the documents it corrects (`slides`, `notes`, `post`, `guide`), one
    sentence, the endings of the tensor names it belongs to, and whether it is about hidden words.
    """

    number: str
    title: str
    said_by: tuple[str, ...]
    sentence: str
    about: tuple[str, ...]
    hidden_words: bool = False

    def __str__(self) -> str:
        return f"{self.number} {self.title}: {self.sentence}"

    def said_elsewhere(self, document: str) -> str:
        """The documents it corrects, in words; empty where the given document is one of them."""
        return "" if document in self.said_by else " and ".join(f"the {name}" for name in self.said_by)


@cache
def notes() -> tuple[Note, ...]:
    return tuple(
        Note(
            number,
            entry["title"],
            tuple(entry["said_by"]),
            entry["note"],
            tuple(entry["about"]),
            entry.get("hidden_words", False),
        )
        for number, entry in read_table("notes").items()
    )


def notes_about(tensor: str, follows: str = "slides", *, hidden_words: bool = True) -> tuple[Note, ...]:
    """The corrections that belong beside a tensor, by its public name: `encoder.blocks.0.self_attention.masked`.

    Those of the document that is followed come first; those about hidden words are left out where no word is hidden.
    """
    found = (
        note
        for note in notes()
        if any(tensor.endswith(ending) for ending in note.about) and (hidden_words or not note.hidden_words)
    )
    return tuple(sorted(found, key=lambda note: follows not in note.said_by))
