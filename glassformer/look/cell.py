"""Cells said in words: `weights[head=1,query=likes,key=She]`.

An index or a word picks a place along an axis; `word@3` picks the one at place 3 of the text where a word stands twice.
Quotes keep commas and brackets apart: `key=","`. The mark that some tokenizers write for the blank before a word
need not be said: `query=the` is `Ġthe`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from glassformer.errors import UnknownNameError, did_you_mean

WORD_AXES = {"piece": "pieces", "query": "pieces", "key": "keys"}

BLANKS = ("Ġ", "▁")

STEP = re.compile(r"\s*(?P<axis>[a-z_]+)\s*=\s*(?:\"(?P<quoted>[^\"]*)\"(?P<at>@\d+)?|(?P<plain>[^,\"]+?))\s*(?:,|$)")


@dataclass(frozen=True)
class Words:
    """What cells may be called by: the words of each sentence, the pieces of the vocabulary, the labels.

    `answers` are the right words at hidden places, so that a hidden word can be called by its name.
    """

    inputs: Sequence[Sequence[str]] = ()
    target: Sequence[Sequence[str]] = ()
    vocabulary: Sequence[str] = ()
    labels: Sequence[str] = ()
    answers: Mapping[tuple[int, int], str] | None = None

    def listed(self, axis: str) -> Sequence[str]:
        """The words of an axis that counts no text: pieces of the vocabulary, labels; none of another."""
        return {"vocabulary": self.vocabulary, "label": self.labels}.get(axis, ())

    @cached_property
    def doubles(self) -> frozenset[str]:
        """What is listed more than once: counted once, for a softmax names every piece of the vocabulary."""
        counts = Counter(self.vocabulary) | Counter(self.labels)
        return frozenset(word for word, count in counts.items() if count > 1)

    def sentence(self, side: str, sentence: int) -> Sequence[str]:
        """The words of one sentence; none when they are not known."""
        rows = self.inputs if side == "inputs" else self.target
        return rows[sentence] if sentence < len(rows) else ()

    def places(self, side: str, sentence: int, word: str) -> list[int]:
        """Where a word stands, hidden words by their answers too."""
        row = self.sentence(side, sentence)
        answers = (self.answers or {}) if side == "inputs" else {}
        return [
            place
            for place, written in enumerate(row)
            if word in (written, unmarked(written), answers.get((sentence, place)))
        ]


@dataclass(frozen=True)
class Axes:
    """A tensor's axes as its cells are asked for: names, sizes, and whose words they count.

    `places` are the sentence and piece of each step of the axis `place`. `shared` says how far an axis of size 1 counts
    whose one number is that of all sentences, heads or queries.
    """

    name: str
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    pieces: str = "inputs"
    keys: str = "inputs"
    places: tuple[tuple[int, int], ...] = ()
    shared: Mapping[str, int] = field(default_factory=dict)


def unmarked(piece: str) -> str:
    """A piece without its tokenizer's mark for the blank before it."""
    return piece[1:] if piece.startswith(BLANKS) else piece


def split_name(text: str) -> tuple[str, str]:
    """`name[cell]` to its name and the text between the brackets."""
    name, bracket, rest = text.partition("[")
    if bracket and not rest.endswith("]"):
        raise UnknownNameError("a cell stands in brackets", got=text, do="write name[head=1,query=likes,key=She]")
    return name.strip(), rest.removesuffix("]")


def read_cell(text: str) -> dict[str, str]:
    """`head=1,query=likes`, in brackets or without, to what was said of each axis; raises UnknownNameError."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    said: dict[str, str] = {}
    end = 0
    while text[end:].strip():
        step = STEP.match(text, end)
        if step is None:
            raise UnknownNameError("a cell is written axis=word or axis=index, parted by commas", got=text)
        # A quoted word keeps its quotes' meaning, "never an index", through the leading mark.
        value = step["plain"] if step["quoted"] is None else f'"{step["quoted"]}"{step["at"] or ""}'
        said[step["axis"]] = value
        end = step.end()
    return said


def find_cell(axes: Axes, said: Mapping[str, str | int], words: Words) -> dict[str, int]:
    """The index along each axis. An axis of size 1 need not be said. Raises UnknownNameError."""
    for axis in said:
        if axis not in axes.names:
            raise UnknownNameError(f"{axes.name} has no axis {axis!r}", do=did_you_mean(axis, axes.names))
    cell: dict[str, int] = {}
    for axis, size in zip(axes.names, axes.sizes, strict=True):
        if axis in said:
            found = find(axis, said[axis], axes.shared.get(axis, size), cell.get("sentence", 0), axes, words)
        elif size == 1:
            found = 0
        else:
            asked = ", ".join(axes.names)
            raise UnknownNameError(f"a cell of {axes.name} needs its {axis} (0 to {size - 1})", do=f"its axes: {asked}")
        cell[axis] = found
    # Along a shared axis every index means the one number that all share.
    return {axis: 0 if axis in axes.shared else index for axis, index in cell.items()}


def find(axis: str, said: str | int, size: int, sentence: int, axes: Axes, words: Words) -> int:
    """One index, or a word's."""
    text = str(said)
    if re.fullmatch(r"-?\d+", text):
        index = int(text)
        if not -size <= index < size:
            raise UnknownNameError(f"{axis} of {axes.name} counts from 0 to {size - 1}", got=text)
        return index % size
    word, at = part_place(text)
    found = candidates(axis, word, sentence, axes, words)
    if not found:
        raise UnknownNameError(
            f"there is no {axis} {word!r} in {axes.name}", do=known_words(axis, word, sentence, axes, words)
        )
    places = [place for _, place in found]
    if at is not None and at not in places:
        raise UnknownNameError(f"{word!r} does not stand at {axis} {at}", do=f"it stands at {places}")
    meant = [index for index, place in found if at in (None, place)]
    if len(meant) == 1:
        return meant[0]
    if len(set(places)) < len(places):  # several sentences, and a cell's words do not tell them apart
        indices = ", ".join(f"{axis}={index}" for index in meant)
        raise UnknownNameError(f"which {word!r} is meant", got="one in several sentences", do=f"write one of {indices}")
    ways = ", ".join(f"{axis}={word}@{place}" for place in places)
    raise UnknownNameError(f"which {word!r} is meant", got=f"one at each of {places}", do=f"write one of {ways}")


def part_place(text: str) -> tuple[str, int | None]:
    """`word@3` to the word and its place."""
    found = re.fullmatch(r"(?P<word>.+)@(?P<at>\d+)", text, flags=re.DOTALL)
    word, at = (text, None) if found is None else (found["word"], int(found["at"]))
    return (word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word), at


def candidates(axis: str, word: str, sentence: int, axes: Axes, words: Words) -> list[tuple[int, int]]:
    """All indices that a word could mean along an axis, each with the place by which `@` tells it apart."""
    if axis == "place":
        stands = {row: words.places(axes.pieces, row, word) for row in {row for row, _ in axes.places}}
        return [(index, place) for index, (row, place) in enumerate(axes.places) if place in stands[row]]
    if axis in WORD_AXES:
        found = words.places(getattr(axes, WORD_AXES[axis]), sentence, word)
    else:
        listed = words.listed(axis)
        found = [index for index, known in enumerate(listed) if known == word]
        found = found or [index for index, known in enumerate(listed) if unmarked(known) == word]
    return [(index, index) for index in found]


def known_words(axis: str, word: str, sentence: int, axes: Axes, words: Words) -> str:
    """What could have been said."""
    if axis in WORD_AXES:
        row = words.sentence(getattr(axes, WORD_AXES[axis]), sentence)
    elif axis == "place":
        sides = [words.sentence(axes.pieces, each) for each, _ in axes.places]
        row = [side[place] for side, (_, place) in zip(sides, axes.places, strict=True) if place < len(side)]
    else:
        return did_you_mean(word, words.listed(axis))
    return did_you_mean(word, dict.fromkeys(row)) if row else "its words are not known here: say its index"


def name_cell(axes: Axes, cell: Mapping[str, int], words: Words) -> dict[str, str]:
    """Each axis' index as a person would say it: a word where there is one, with its place where it stands twice."""
    named: dict[str, str] = {}
    for axis, size in zip(axes.names, axes.sizes, strict=True):
        index = cell[axis]
        if (size == 1 and axis == "sentence") or axis in axes.shared:
            continue
        sentence, place = cell.get("sentence", 0), index
        if axis == "place" and index < len(axes.places):
            sentence, place = axes.places[index]
            row = words.sentence(axes.pieces, sentence)
        elif axis in WORD_AXES:
            row = words.sentence(getattr(axes, WORD_AXES[axis]), sentence)
        else:
            row = words.listed(axis)
        named[axis] = str(index)
        if place < len(row):
            word = row[place]
            plain = not re.fullmatch(r"-?\d+", word) and not re.search(r"[,\"@]|\s", word)
            said = word if plain else f'"{word}"'
            if axis == "place" or axis in WORD_AXES:
                stands = [at for _, at in candidates(axis, word, sentence, axes, words)]
                once, told_apart = len(stands) == 1, stands.count(place) == 1
            else:
                once, told_apart = word not in words.doubles, True
            if told_apart:
                named[axis] = said if once else f"{said}@{place}"
    return named
