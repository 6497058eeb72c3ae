"""Masks that stand in the data: "She [MASK] [MASK] summer better" and its answers.

B rows, S places in a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from glassformer.data.batch import Batch, pad
from glassformer.data.corrupt import IGNORED, Corrupted
from glassformer.data.files import files_of
from glassformer.data.lines import OnBad, stop
from glassformer.data.rows import read_table
from glassformer.errors import DataError
from glassformer.text.tokenizer import MASK, Encoding, Tokenizer


@dataclass(frozen=True)
class GivenMasks:
    """A text with [MASK] in it, and what stood there, in order."""

    text: str
    answers: tuple[str, ...]
    where: str = ""

    def __post_init__(self) -> None:
        masks = self.text.count(MASK)
        if not masks or masks != len(self.answers):
            raise self.refusal(
                f"a text needs {MASK} and as many answers as masks",
                got=f"{masks} masks and {len(self.answers)} answers in {self.text[:60]!r}",
            )
        if not all(answer.strip() for answer in self.answers):
            raise self.refusal("an answer must be a word", got=f"an empty one in {self.text[:60]!r}")

    def refusal(self, wanted: str, *, got: str, do: str = "") -> DataError:
        """What is wrong with this row, told with its place."""
        return DataError(f"{self.where}: {wanted}" if self.where else wanted, got=got, do=do)

    def full(self) -> tuple[str, list[tuple[int, int]]]:
        """The text with its answers, and the characters they take."""
        parts = self.text.split(MASK)
        text, places = parts[0], []
        for answer, part in zip(self.answers, parts[1:], strict=True):
            places.append((len(text), len(text) + len(answer)))
            text += answer + part
        return text, places


def read_given(
    path: str | Path, *, text: str = "text", answers: str = "answers", bad: OnBad = stop
) -> Iterator[GivenMasks]:
    """Rows of a table with a masked text and its answers: a list, or one string with a word for each mask."""
    for row in read_table(path, [text, answers], bad=bad):
        found = row.values[answers]
        listed = found.split() if isinstance(found, str) else found
        written = row.values[text]
        if not isinstance(written, str) or not isinstance(listed, list) or not all(isinstance(a, str) for a in listed):
            bad(DataError(f"{row.where} must hold a text and a list of words", got=f"{written!r} and {found!r}"[:80]))
            continue
        try:
            yield GivenMasks(written, tuple(listed), row.where)
        except DataError as error:
            bad(error)


def read_all_given(paths: Iterable[str | Path], *, text: str = "text", bad: OnBad = stop) -> list[GivenMasks]:
    """The rows of all these tables; of a folder only its tables, whatever else lies there."""
    return [
        example for path in files_of(paths, text=text, tables=True) for example in read_given(path, text=text, bad=bad)
    ]


def given_batch(
    examples: Sequence[GivenMasks], tokenizer: Tokenizer, *, length: int | None = None
) -> tuple[Batch, Corrupted]:
    """Texts with their own masks as one batch: arrays [B, S]; S is the longest row.

    An answer of several pieces is hidden as several masks. Raises DataError, with the row told, for a text of more than
    `length` pieces, and for an answer that the tokenizer makes no piece of.
    """
    full = [example.full() for example in examples]
    encodings = tokenizer.encode_batch([text for text, _ in full])
    for example, encoding, (_, places) in zip(examples, encodings, full, strict=True):
        if length is not None and len(encoding) > length:
            raise example.refusal(
                f"a text with its own masks must fit into a row of {length} pieces",
                got=f"{len(encoding)} pieces",
                do="raise data.length, or shorten the text",
            )
        for answer, place in zip(example.answers, places, strict=True):
            if not any(_covered(encoding, [place])):
                raise example.refusal("an answer must be a word that the tokenizer can cut", got=f"{answer!r}")
    size = max(map(len, encodings))
    ids, real = pad([encoding.ids for encoding in encodings], size, tokenizer.pad_id or 0)  # [B, S]
    words = pad([[-1 if word is None else word for word in e.words] for e in encodings], size, -1)[0]
    special_pieces = pad([[int(flag) for flag in e.special] for e in encodings], size, 1)[0] == 1
    hidden = (
        pad([_covered(encoding, places) for encoding, (_, places) in zip(encodings, full, strict=True)], size, 0)[0]
        == 1
    )  # [B, S]
    positions = np.where(real, np.arange(size), 0)
    batch = Batch(ids, real, positions, np.where(real, 0, -1), words, special_pieces)
    seen = np.where(hidden, 0 if tokenizer.mask_id is None else tokenizer.mask_id, ids)
    return batch, Corrupted(seen, np.where(hidden, ids, IGNORED), hidden, np.flatnonzero(hidden))


def _covered(encoding: Encoding, places: Sequence[tuple[int, int]]) -> list[int]:
    """1 for each piece that shares a character with one of the answers."""
    return [
        int(not special and any(start < high and low < end for low, high in places))
        for (start, end), special in zip(encoding.offsets, encoding.special, strict=True)
    ]
