"""Long texts in overlapping windows; each token belongs to the window that shows most text around it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from glassformer.errors import ConfigError, DataError
from glassformer.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Window:
    """Tokens [start, end) are shown to the model; it answers for those in [first, last)."""

    start: int
    end: int
    first: int
    last: int


def windows(tokens: int, room: int | None, overlap: int | None = None) -> tuple[Window, ...]:
    """Cover a text with windows of at most `room` tokens (None: one window of any length), which overlap by `overlap`
    tokens, by default and at most by half.

    Two adjacent windows answer for one half of their overlap each, so that no token is answered at a window's edge
    unless it is at the edge of the text.
    """
    if room is None or tokens <= room:
        return (Window(0, tokens, 0, tokens),)
    step = max(1, room // 2 if overlap is None else max(room - overlap, room // 2))
    starts = [*range(0, tokens - room, step), tokens - room]
    edges = [0, *((later + earlier + room) // 2 for earlier, later in pairwise(starts)), tokens]
    return tuple(
        Window(start, start + room, first, last)
        for start, first, last in zip(starts, edges[:-1], edges[1:], strict=True)
    )


def pair_windows(first: int, second: int, room: int | None) -> tuple[tuple[Window, Window], ...]:
    """Cover a pair of texts of these lengths with pairs of windows that have at most `room` tokens together.

    The shorter text is kept whole in each of them where it takes at most half of the room. Where both have several
    windows, those at the same share of their texts stand together: each token of both texts is in some window, and
    there are no more of them than the longer text needs.
    """
    if room is None or first + second <= room:
        return ((Window(0, first, 0, first), Window(0, second, 0, second)),)
    half = room // 2
    shorter = min(first, second, half)
    rooms = (room - shorter, shorter) if first >= second else (shorter, room - shorter)
    ones, twos = windows(first, rooms[0]), windows(second, rooms[1])
    count = max(len(ones), len(twos))
    return tuple((ones[n * len(ones) // count], twos[n * len(twos) // count]) for n in range(count))


def room_beside(special: int, length: int | None, *, texts: int = 1) -> int | None:
    """The tokens of text that a row of `length` tokens holds beside its special ones, None for any number.

    Raises ConfigError when not even one token of each text is left.
    """
    if length is not None and length - special < texts:
        raise ConfigError(f"a row must be longer than its {special} special tokens", got=f"length {length}")
    return None if length is None else length - special


def text_rows(
    tokenizer: Tokenizer, text: str, pair: str | None = None, *, length: int | None
) -> list[tuple[list[int], list[int]]]:
    """A text or a pair between the tokenizer's special tokens, in windows of at most `length` tokens: ids and segments.

    Raises ConfigError when `length` leaves no tokens for text beside the special ones.
    """
    frame = tokenizer.frame_ids if pair is None else tokenizer.pair_frame_ids
    around = sum(map(len, frame))
    room = room_beside(around, length, texts=1 if pair is None else 2)
    first = tokenizer.ids(text)
    if not first and not around:
        raise DataError("a text needs at least one token", got=repr(text[:40]))
    if pair is None:
        before, after = tokenizer.frame_ids
        rows = [[*before, *first[window.start : window.end], *after] for window in windows(len(first), room)]
        return [(row, [0] * len(row)) for row in rows]
    second = tokenizer.ids(pair)
    before, between, after = tokenizer.pair_frame_ids
    found = []
    for one, two in pair_windows(len(first), len(second), room):
        left = [*before, *first[one.start : one.end], *between]
        right = [*second[two.start : two.end], *after]
        found.append((left + right, [0] * len(left) + [1] * len(right)))
    return found
