"""What is wrong with the pairs of parallel data: counted and shown, and removed only where that is asked for.

E pairs
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

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


def in_other_writing(texts: Sequence[str]) -> Flags:
    """Which texts have most of their letters in a script that few letters of all texts have. [E]"""
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
    return (letters_of >= _LEAST_LETTERS) & (by_text[:, ~own].sum(axis=1) > letters_of / 2)


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
    for begin, buckets, owners in _runs(texts):
        if len(owners):
            sums = np.bincount(owners, likelier[buckets])
            found[begin : begin + len(sums)] = sums
    return found


def _counts(texts: Sequence[str]) -> Reals:
    """How often each run occurs. [B]"""
    counts = np.zeros(_BUCKETS)
    for _, buckets, _ in _runs(texts):
        counts += np.bincount(buckets, minlength=_BUCKETS)
    return counts


def _runs(texts: Sequence[str]) -> Iterator[tuple[int, Integers, Integers]]:
    """Runs of three characters: the first text's number, the buckets of the runs [N], and the text of each [N]."""
    for begin, codes, owners in _letters(texts):
        first, second, third = codes[:-2], codes[1:-1], codes[2:]
        same = owners[:-2] == owners[2:]
        # A linear congruence of the three, its upper bits: neighbours of one alphabet fall into different buckets.
        mixed = (first * 2654435761 + second * 40503 + third * 2246822519) & 0xFFFFFFFF
        yield begin, (mixed * 2654435761 & 0xFFFFFFFF)[same] >> 14, owners[:-2][same]


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


Problem = Literal["empty", "length", "copy", "language", "duplicate"]
PROBLEMS: tuple[Problem, ...] = get_args(Problem)

# How many times longer than its other side leads to expect a side may be, and the characters that are granted to both,
# as "Cheers!" may well be "À ta santé !".
LENGTH_RATIO, _GRANTED = 3.0, 10
# A text is taken to be of the other side's language where its letters are e^12 = 160,000 times more likely there: of
# 29,000 and 162,066 real pairs 2 and 10 targets were, names and loanwords mostly ("Le halfback de California"), of as
# many English sentences in the place of French ones all and 97 %.
_LIKELIER = 12.0
_SHOWN, _WIDTH = 3, 80


@dataclass(frozen=True)
class PairReport:
    """Which pairs have which problem, flags of every pair [E]. `ratio`: the median of target to source characters."""

    flags: Mapping[Problem, Flags]
    ratio: float
    places: Sequence[str]

    def __len__(self) -> int:
        return len(self.places)

    def count(self, problem: Problem) -> int:
        return int(self.flags[problem].sum())

    def kept(self, remove: Collection[Problem]) -> Flags:
        kept = np.ones(len(self), np.bool_)
        for problem in remove:
            kept &= ~self.flags[problem]
        return kept

    def table(self, remove: Collection[Problem] = ()) -> str:
        """A line for each problem, its count and share, what is done, and the first places; at most 80 columns."""
        meanings = {
            "empty": "a side without text",
            "length": f"a side over {LENGTH_RATIO:g} times as long as expected",
            "copy": "target = source",
            "language": "in the other side's language or script",
            "duplicate": "a repeated pair",
        }
        lines = [f"{len(self):,} pairs, {self.ratio:.2f} target characters for each of the source"]
        for problem in PROBLEMS:
            count = self.count(problem)
            share = f"{count / max(1, len(self)):.2%}"
            done = "removed" if problem in remove and count else ""
            lines.append(f"  {problem:<9} {count:>9,} {share:>7}  {done:<7}  {meanings[problem]}".rstrip()[:_WIDTH])
            if count:
                lines.append(_cut(f"            first: {', '.join(self.examples(problem))}"))
        kept = int(self.kept(remove).sum())
        removed = len(self) - kept
        if removed:
            lines.append(f"  {removed:,} removed, {kept:,} kept")
        elif any(flags.any() for flags in self.flags.values()):
            names = ", ".join(f'"{problem}"' for problem in PROBLEMS if self.count(problem))
            lines.append(_cut(f"  all kept; to remove some: --set 'data.remove=[{names}]'"))
        return "\n".join(lines)

    def examples(self, problem: Problem) -> list[str]:
        """File and line of the first pairs that have it; the file once where it stays the same."""
        found, file = list[str](), ""
        for row in np.flatnonzero(self.flags[problem])[:_SHOWN]:
            named, comma, line = self.places[row].rpartition(", ")
            found.append(line if comma and named == file else self.places[row])
            file = named
        return found


def check_pairs(sources: Sequence[str], targets: Sequence[str], places: Sequence[str]) -> PairReport:
    """Look for the problems of all pairs together; `places` are their files and lines, for the report.

    - empty: a side has only blanks.
    - length: a side has more than LENGTH_RATIO times the characters that its other side leads to expect by the ratio
      of this data, 10 characters granted to both. Not checked for an empty side.
    - copy: both sides are the same, ignoring blanks and case, and have a letter: numbers are not copies.
    - language: a side is written in letters that its side hardly uses, or its runs of three letters are far more likely
      on the other side. It finds sentences that were not translated, or are on the wrong side; a third language in the
      same letters is not found. Not checked for copies.
    - duplicate: the pair occurred before, ignoring blanks.
    """
    ours, theirs = ([_plain(text) for text in texts] for texts in (sources, targets))
    empty = np.array([not one or not other for one, other in zip(ours, theirs, strict=True)], np.bool_)
    copy = np.array([_copied(one, other) for one, other in zip(ours, theirs, strict=True)], np.bool_)
    lengths = np.array([[len(one), len(other)] for one, other in zip(ours, theirs, strict=True)], np.float64).reshape(
        -1, 2
    )
    ratio = float(np.median(lengths[~empty, 1] / lengths[~empty, 0])) if (~empty).any() else 1.0
    expected = lengths * np.array([ratio**0.5, ratio**-0.5]) + _GRANTED  # both sides in the middle of their units
    unequal = ~empty & (expected.max(axis=1) > LENGTH_RATIO * expected.min(axis=1))
    likelier = [side > _LIKELIER for side in like_the_other_side(ours, theirs)]
    foreign = likelier[0] | likelier[1] | in_other_writing(ours) | in_other_writing(theirs)
    seen = set[tuple[str, str]]()
    found = np.zeros(len(ours), np.bool_)
    for row, pair in enumerate(zip(ours, theirs, strict=True)):
        found[row] = pair in seen
        seen.add(pair)
    flags: dict[Problem, Flags] = {
        "empty": empty,
        "length": unequal,
        "copy": copy,
        "language": foreign & ~copy & ~empty,
        "duplicate": found,
    }
    return PairReport(flags, ratio, places)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _copied(one: str, other: str) -> bool:
    return len(one) == len(other) and one.casefold() == other.casefold() and any(map(str.isalpha, one))


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"
