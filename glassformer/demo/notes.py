"""The corrections C-1 … C-43 in one sentence each, as `explain --notes` shows them; in full: docs/imprecise.md."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from glassformer.demo.texts import read_table


@dataclass(frozen=True)
class Note:
    """One correction: its number, a title, one sentence, and the endings of the tensor names it belongs to."""

    number: str
    title: str
    sentence: str
    about: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.number} {self.title}: {self.sentence}"


@cache
def notes() -> tuple[Note, ...]:
    """All corrections, in their order."""
    return tuple(
        Note(number, entry["title"], entry["note"], tuple(entry["about"]))
        for number, entry in read_table("notes").items()
    )


def notes_about(tensor: str) -> tuple[Note, ...]:
    """The corrections that belong beside a tensor, by its public name: `encoder.blocks.0.self_attention.masked`."""
    return tuple(note for note in notes() if any(tensor.endswith(ending) for ending in note.about))
