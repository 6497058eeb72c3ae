"""Long texts in windows that overlap by half; each piece is answered where it has most text around it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Window:
    """Pieces [start, end) are shown to the model; it answers for those in [first, last)."""

    start: int
    end: int
    first: int
    last: int


def windows(pieces: int, room: int | None) -> tuple[Window, ...]:
    """Cover a text with windows of at most `room` pieces (None: one window of any length).

    Two neighbours part in the middle of their overlap, so that no piece answers from a window's edge unless it stands
    at the edge of the text.
    """
    if room is None or pieces <= room:
        return (Window(0, pieces, 0, pieces),)
    starts = [*range(0, pieces - room, max(1, room // 2)), pieces - room]
    edges = [0, *((later + earlier + room) // 2 for earlier, later in pairwise(starts)), pieces]
    return tuple(
        Window(start, start + room, first, last)
        for start, first, last in zip(starts, edges[:-1], edges[1:], strict=True)
    )
