"""Which side of parallel texts a text belongs to, learned from the texts themselves: letters and runs of three letters.

E pairs · N runs of three characters · B buckets of runs
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

# Code points from which on letters are of the next writing, up to the next one here. Blocks of punctuation are left
# out, as only letters are looked up; Han and kana are one, for Japanese writes both.
_WRITINGS = (
    (0x0, "Latin"), (0x370, "Greek"), (0x400, "Cyrillic"), (0x530, "Armenian"), (0x590, "Hebrew"), (0x600, "Arabic"),
    (0x700, "other"), (0x750, "Arabic"), (0x780, "other"), (0x8A0, "Arabic"), (0x900, "Devanagari"), (0x980, "Bengali"),
    (0xA00, "Gurmukhi"), (0xA80, "Gujarati"), (0xB00, "Oriya"), (0xB80, "Tamil"), (0xC00, "Telugu"), (0xC80, "Kannada"),
    (0xD00, "Malayalam"), (0xD80, "Sinhala"), (0xE00, "Thai"), (0xE80, "Lao"), (0xF00, "Tibetan"), (0x1000, "Myanmar"),
    (0x10A0, "Georgian"), (0x1100, "Hangul"), (0x1200, "Ethiopic"), (0x13A0, "other"), (0x1780, "Khmer"),
    (0x1800, "Mongolian"), (0x18B0, "other"), (0x1C80, "Cyrillic"), (0x1C90, "Georgian"), (0x1CC0, "other"),
    (0x1D00, "Latin"), (0x1F00, "Greek"), (0x2000, "Latin"), (0x2C00, "other"), (0x2C60, "Latin"), (0x2C80, "other"),
    (0x2DE0, "Cyrillic"), (0x2E00, "Han and kana"), (0x3130, "Hangul"), (0x3190, "Han and kana"), (0xA000, "other"),
    (0xA640, "Cyrillic"), (0xA6A0, "other"), (0xA720, "Latin"), (0xA800, "other"), (0xAC00, "Hangul"),
    (0xD800, "other"), (0xF900, "Han and kana"), (0xFB00, "Latin"), (0xFB13, "Armenian"), (0xFB1D, "Hebrew"),
    (0xFB50, "Arabic"), (0xFE00, "other"), (0xFE70, "Arabic"), (0xFF00, "Latin"), (0xFF66, "Han and kana"),
    (0xFFA0, "Hangul"), (0x10000, "other"), (0x20000, "Han and kana"), (0x40000, "other"),
)  # fmt: skip
_STARTS = np.array([start for start, _ in _WRITINGS])
_NAMES = sorted({name for _, name in _WRITINGS})
_NUMBERS = np.array([_NAMES.index(name) for _, name in _WRITINGS])

_NO_LETTERS = re.compile(r"[\W\d_]+")
# Runs of three are counted in so many buckets; characters that are looked at together, which bounds the memory.
_BUCKETS, _TOGETHER = 1 << 18, 1 << 20
# A writing belongs to a side where so many of its letters are of it; a text is judged from so many letters on.
_OWN_SHARE, _LEAST_LETTERS = 0.1, 3
# What counts for a run that was never seen on a side.
_UNSEEN = 0.5


class _Runs(NamedTuple):
    """Runs of three characters of some texts: their buckets [N] and the number of the text of each [N]."""

    buckets: Integers
    owners: Integers


def in_other_writing(texts: Sequence[str]) -> Flags:
    """Which texts have most of their letters in a writing that few letters of all texts are of. [E]"""
    by_text = np.zeros((len(texts), len(_NAMES)))
    for begin, codes, owners in _letters(texts):
        letters = codes > ord(" ")
        numbers = _NUMBERS[np.searchsorted(_STARTS, codes[letters], side="right") - 1]
        rows = int(owners[-1]) + 1 if len(owners) else 0
        counts = np.bincount(owners[letters] * len(_NAMES) + numbers, minlength=rows * len(_NAMES))
        by_text[begin : begin + rows] = counts.reshape(rows, len(_NAMES))
    total = by_text.sum(axis=0)
    own = total >= _OWN_SHARE * total.sum()
    letters_of = by_text.sum(axis=1)
    found: Flags = (letters_of >= _LEAST_LETTERS) & (by_text[:, ~own].sum(axis=1) > letters_of / 2)
    return found


def like_the_other_side(sources: Sequence[str], targets: Sequence[str]) -> tuple[Reals, Reals]:
    """How much more each source looks like the targets than like other sources, and the reverse: log likelihood ratios
    of its runs of three letters, learned from these texts without itself. [E], [E]
    """
    one, two = _counts(sources), _counts(targets)
    seen = max(1, int(np.count_nonzero(one + two))) * _UNSEEN
    return _likelier(sources, one, two, seen), _likelier(targets, two, one, seen)


def _likelier(texts: Sequence[str], own: Reals, other: Reals, seen: float) -> Reals:
    without_itself = np.log((np.maximum(own - 1, 0) + _UNSEEN) / (max(own.sum() - 1, 0) + seen))
    likelier = np.log((other + _UNSEEN) / (other.sum() + seen)) - without_itself  # [B]
    found = np.zeros(len(texts))
    for begin, runs in _runs(texts):
        if len(runs.owners):
            sums = np.bincount(runs.owners, likelier[runs.buckets])
            found[begin : begin + len(sums)] = sums
    return found


def _counts(texts: Sequence[str]) -> Reals:
    """How often each run occurs. [B]"""
    counts = np.zeros(_BUCKETS)
    for _, runs in _runs(texts):
        counts += np.bincount(runs.buckets, minlength=_BUCKETS)
    return counts


def _runs(texts: Sequence[str]) -> Iterator[tuple[int, _Runs]]:
    for begin, codes, owners in _letters(texts):
        first, second, third = codes[:-2], codes[1:-1], codes[2:]
        same = owners[:-2] == owners[2:]
        # A linear congruence of the three, its upper bits: neighbours of one alphabet fall into different buckets.
        mixed = (first * 2654435761 + second * 40503 + third * 2246822519) & 0xFFFFFFFF
        yield begin, _Runs((mixed * 2654435761 & 0xFFFFFFFF)[same] >> 14, owners[:-2][same])


def _letters(texts: Sequence[str]) -> Iterator[tuple[int, Integers, Integers]]:
    """Texts in small letters, words between single blanks: the first text's number, all characters, and their texts."""
    begin = 0
    while begin < len(texts):
        end, size, some = begin, 0, list[str]()
        while end < len(texts) and size < _TOGETHER:
            some.append(f" {_NO_LETTERS.sub(' ', texts[end].lower()).strip()} ")
            size += len(some[-1])
            end += 1
        codes = np.frombuffer("".join(some).encode("utf-32-le", "replace"), np.uint32).astype(np.int64)
        yield begin, codes, np.repeat(np.arange(len(some)), list(map(len, some)))
        begin = end
