"""What is wrong with the pairs of parallel data: counted and shown, and removed only where that is asked for.

E pairs
"""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from glassformer.data.readers.languages import Flags, in_other_writing, like_the_other_side

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
    limit: float
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
        told = {
            "empty": "a side without text",
            "length": f"a side over {self.limit:g} times as long as expected",
            "copy": "target = source",
            "language": "in the other side's language or script",
            "duplicate": "the same pair once more",
        }
        lines = [f"{len(self):,} pairs, {self.ratio:.2f} target characters for each of the source"]
        for problem in PROBLEMS:
            count = self.count(problem)
            share = f"{count / max(1, len(self)):.2%}"
            done = "removed" if problem in remove and count else ""
            lines.append(f"  {problem:<9} {count:>9,} {share:>7}  {done:<7}  {told[problem]}".rstrip()[:_WIDTH])
            if count:
                lines.append(_cut(f"            first: {', '.join(self.examples(problem))}"))
        kept = int(self.kept(remove).sum())
        removed = len(self) - kept
        if removed:
            lines.append(f"  {removed:,} removed, {kept:,} kept")
        elif any(flags.any() for flags in self.flags.values()):
            names = ", ".join(f'"{problem}"' for problem in PROBLEMS if self.count(problem))
            lines.append(_cut(f"  all kept; to leave some out: data.remove = [{names}]"))
        return "\n".join(lines)

    def examples(self, problem: Problem) -> list[str]:
        """File and line of the first pairs that have it; the file once where it stays the same."""
        found, file = list[str](), ""
        for row in np.flatnonzero(self.flags[problem])[:_SHOWN]:
            named, comma, line = self.places[row].rpartition(", ")
            found.append(line if comma and named == file else self.places[row])
            file = named
        return found


def check_pairs(
    sources: Sequence[str], targets: Sequence[str], places: Sequence[str], *, limit: float = LENGTH_RATIO
) -> PairReport:
    """Look for the problems of all pairs together; `places` are their files and lines, for the report.

    - empty: a side has no character but blanks.
    - length: a side has more than `limit` times the characters that its other side leads to expect by the ratio of this
      data, 10 characters granted to both. Of an empty side it is not asked.
    - copy: both sides are the same but for blanks and capitals, and have a letter: numbers are no copies.
    - language: a side is written in letters that its side hardly uses, or its runs of three letters are far more likely
      on the other side. It finds sentences that were not translated, or are on the wrong side; a third language in the
      same letters is not found. Of copies it is not asked.
    - duplicate: the pair was there before, blanks aside.
    """
    ours, theirs = ([_plain(text) for text in texts] for texts in (sources, targets))
    empty = np.array([not one or not other for one, other in zip(ours, theirs, strict=True)], np.bool_)
    copy = np.array([_copied(one, other) for one, other in zip(ours, theirs, strict=True)], np.bool_)
    lengths = np.array([[len(one), len(other)] for one, other in zip(ours, theirs, strict=True)], np.float64).reshape(
        -1, 2
    )
    ratio = float(np.median(lengths[~empty, 1] / lengths[~empty, 0])) if (~empty).any() else 1.0
    expected = lengths * np.array([ratio**0.5, ratio**-0.5]) + _GRANTED  # both sides in the middle of their units
    unequal = ~empty & (expected.max(axis=1) > limit * expected.min(axis=1))
    likelier = [side > _LIKELIER for side in like_the_other_side(ours, theirs)]
    foreign = likelier[0] | likelier[1] | in_other_writing(ours) | in_other_writing(theirs)
    flags: dict[Problem, Flags] = {
        "empty": empty,
        "length": unequal,
        "copy": copy,
        "language": foreign & ~copy & ~empty,
        "duplicate": _repeated(ours, theirs),
    }
    return PairReport(flags, ratio, limit, places)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _copied(one: str, other: str) -> bool:
    return len(one) == len(other) and one.casefold() == other.casefold() and any(map(str.isalpha, one))


def _repeated(sources: Sequence[str], targets: Sequence[str]) -> Flags:
    seen = set[tuple[str, str]]()
    found = np.zeros(len(sources), np.bool_)
    for row, pair in enumerate(zip(sources, targets, strict=True)):
        found[row] = pair in seen
        seen.add(pair)
    return found


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"
