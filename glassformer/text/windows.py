"""Long texts in overlapping windows; each token belongs to the window that shows most text around it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from glassformer.base.errors import ConfigError, DataError
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.words import ids_of

# The ids of a row, and which of two texts each belongs to.
TokensAndSegments = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens [start, end) are shown to the model; it answers for those in [first, last)."""

    start: int
    end: int
    first: int
    last: int


def windows(tokens: int, room: int | None, overlap: int | None = None, *, causal: bool = False) -> tuple[Window, ...]:
    """Cover a text with windows of at most `room` tokens (None: one window of any length), which overlap by `overlap`
    tokens, by default and at most by half.

    Two adjacent windows answer for one half of their overlap each, so that no token is answered at a window's edge
    unless it is at the edge of the text. A `causal` model sees nothing to the right: the first window answers for the
    whole overlap, so that each token has at least the overlap before it.
    """
    if room is None or tokens <= room:
        return (Window(0, tokens, 0, tokens),)
    step = max(1, room // 2 if overlap is None else max(room - overlap, room // 2))
    starts = [*range(0, tokens - room, step), tokens - room]
    ends = (earlier + room if causal else (later + earlier + room) // 2 for earlier, later in pairwise(starts))
    edges = [0, *ends, tokens]
    return tuple(
        Window(start, start + room, first, last)
        for start, first, last in zip(starts, edges[:-1], edges[1:], strict=True)
    )


def pair_windows(first: int, second: int, room: int | None) -> tuple[tuple[Window, Window], ...]:
    """Cover a pair of texts of these lengths with pairs of windows that have at most `room` tokens together. The
    shorter text is kept whole in each of them where it takes at most half of the room. Where both have several windows,
    those at the same share of their texts stand together: each token of both texts is in some window, and there are no
    more of them than the longer text needs.
    """
    if room is None or first + second <= room:
        return ((Window(0, first, 0, first), Window(0, second, 0, second)),)
    half = room // 2
    shorter = min(first, second, half)
    rooms = (room - shorter, shorter) if first >= second else (shorter, room - shorter)
    ones, twos = windows(first, rooms[0]), windows(second, rooms[1])
    count = max(len(ones), len(twos))
    return tuple((ones[n * len(ones) // count], twos[n * len(twos) // count]) for n in range(count))


def text_room(special: int, length: int | None, *, texts: int = 1) -> int | None:
    """The room for text in a row with its special tokens, None for any; ConfigError for less than a token each."""
    if length is not None and length - special < texts:
        raise ConfigError(f"a row must be longer than its {special} special tokens", got=f"length {length}")
    return None if length is None else length - special


class TextRows(Sequence[TokensAndSegments]):
    """The rows of a text or pair, made when asked for: those of a long text need much memory."""

    def __init__(
        self, frame: Sequence[Sequence[int]], texts: Sequence[array[int]], cut: Sequence[tuple[Window, ...]]
    ) -> None:
        self._frame = [array("i", ids) for ids in frame]
        self._texts, self._cut = texts, cut

    def __len__(self) -> int:
        return len(self._cut)

    def __getitem__(self, number: int) -> TokensAndSegments:  # type: ignore[override]  # no slices: nobody asks for them
        ids, segments = self._frame[0][:], array("b")
        for place, (text, window) in enumerate(zip(self._texts, self._cut[number], strict=True)):
            ids += text[window.start : window.end] + self._frame[place + 1]
            segments.extend(array("b", bytes([place])) * (len(ids) - len(segments)))
        return ids, segments

    def answered(self, number: int) -> list[int]:
        """The places in a row of the tokens that its windows answer for: each token of a text once in all rows."""
        at, found = len(self._frame[0]), list[int]()
        for place, window in enumerate(self._cut[number]):
            if not number or self._cut[number - 1][place] != window:  # a short text is whole in several rows
                found += range(at + window.first - window.start, at + window.last - window.start)
            at += window.end - window.start + len(self._frame[place + 1])
        return found


def text_rows(tokenizer: Tokenizer, text: str, pair: str | None = None, *, length: int | None) -> TextRows:
    """A text or a pair between the tokenizer's special tokens, in windows of at most `length` tokens: ids and segments.
    Raises ConfigError when `length` leaves no tokens for text after the special ones.
    """
    frame = tokenizer.frame_ids if pair is None else tokenizer.pair_frame_ids
    around = sum(map(len, frame))
    room = text_room(around, length, texts=1 if pair is None else 2)
    first = ids_of(tokenizer, text)
    if not first and not around:
        raise DataError("a text needs at least one token", got=repr(text[:40]))
    if pair is None:
        return TextRows(frame, [first], [(window,) for window in windows(len(first), room)])
    second = ids_of(tokenizer, pair)
    return TextRows(frame, [first, second], pair_windows(len(first), len(second), room))
