"""Cells of a run in words: `weights[head=1,query=likes,key=She]`, written as `formulas/named.py` reads them.

An index or a word selects a place along an axis; `word@3` selects the one at place 3 of a text in which a word occurs
twice. A comma or bracket is written in quotes: `key=","`. The mark for the blank before a word may be left out, or
written as byte-level vocabularies do: `query=the` and `query=Ġthe` are `▁the`.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from glassformer.base.errors import UnknownNameError, did_you_mean
from glassformer.text.token_text import BLANK

BLANKS = ("Ġ", BLANK)


@dataclass(frozen=True)
class Words:
    """What cells may be called by: the words of each sentence, the tokens of the vocabulary, the labels, and the
    candidates of a choice. `source_vocabulary`: that of the inputs, where they have one of their own. `answers` are the
    right words at masked positions, so that a masked word can be called by its name. `closing` is the id of the token
    that closes a text (a separator or an end), by side. `after_scores` says what becomes of the scores of labels.
    """

    inputs: Sequence[Sequence[str]] = ()
    decoder_inputs: Sequence[Sequence[str]] = ()
    vocabulary: Sequence[str] = field(default=(), repr=False)  # thousands
    labels: Sequence[str] = ()
    answers: Mapping[tuple[int, int], str] | None = None
    candidates: Sequence[str] = ()
    source_vocabulary: Sequence[str] = field(default=(), repr=False)
    closing: Mapping[str, int] = field(default_factory=dict)
    after_scores: Sequence[str] = ()

    def vocabulary_of(self, side: str) -> Sequence[str]:
        """The tokens of the vocabulary of `inputs` or `decoder_inputs`."""
        return self.source_vocabulary or self.vocabulary if side == "inputs" else self.vocabulary

    def listed(self, axis: str) -> Sequence[str]:
        """The words of an axis that counts no text: tokens of the vocabulary, labels, candidates; none of another."""
        return {"vocabulary": self.vocabulary, "label": self.labels, "candidate": self.candidates}.get(axis, ())

    @cached_property
    def doubles(self) -> frozenset[str]:
        """What is listed more than once: counted once, for a softmax names every token of the vocabulary."""
        counts = Counter(self.vocabulary) | Counter(self.labels) | Counter(self.candidates)
        return frozenset(word for word, count in counts.items() if count > 1)

    def sentence(self, side: str, sentence: int) -> Sequence[str]:
        """The words of one sentence; none when they are not known."""
        rows = self.inputs if side == "inputs" else self.decoder_inputs
        return rows[sentence] if sentence < len(rows) else ()

    def positions(self, side: str, sentence: int, word: str) -> list[int]:
        """The places of a word; a masked word is also found by its answer."""
        if (side, sentence) not in self._places:
            answers = (self.answers or {}) if side == "inputs" else {}
            found: dict[str, list[int]] = {}
            for place, written in enumerate(self.sentence(side, sentence)):
                ways = {as_shown(written), unmarked(written)}
                if (answer := answers.get((sentence, place))) is not None:
                    ways |= {answer, f"({answer})"}
                for way in ways:
                    found.setdefault(way, []).append(place)
            self._places[side, sentence] = found
        return self._places[side, sentence].get(as_shown(word), [])

    @cached_property
    def _places(self) -> dict[tuple[str, int], dict[str, list[int]]]:
        """By side and sentence, the places of each way to write a word: an explanation of a row asks for all of it."""
        return {}

    def beginnings(self, side: str, sentence: int, word: str) -> list[int]:
        """Where a word begins that its tokenizer has cut into several tokens: `walk` and `##ing`, `Ġwalk` and `ing`."""
        row = self.sentence(side, sentence)
        found = []
        for place, first in enumerate(row):
            joined = unmarked(first)
            for following in row[place + 1 :]:
                if len(joined) >= len(word) or following.startswith(BLANKS):
                    break
                joined += following.removeprefix("##")
            if joined == word:
                found.append(place)
        return found


@dataclass(frozen=True)
class Axes:
    """A tensor's axes and sizes; `positions`: sentence and token of each `place`; `shared`: true lengths."""

    name: str
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    tokens: str = "inputs"
    keys: str = "inputs"
    positions: tuple[tuple[int, int], ...] = ()
    shared: Mapping[str, int] = field(default_factory=dict)

    def side(self, axis: str) -> str | None:
        """Whose words an axis counts, `inputs` or `decoder_inputs`; None for an axis that counts no text."""
        return {"token": self.tokens, "query": self.tokens, "key": self.keys}.get(axis)

    def known(self, axis: str, sentence: int, words: Words) -> Sequence[str]:
        """The words, tokens or labels that an axis counts, as far as they are known."""
        if axis == "place":
            rows = [words.sentence(self.tokens, row)[place : place + 1] for row, place in self.positions]
            return [word for row in rows for word in row]
        side = self.side(axis)
        return words.listed(axis) if side is None else words.sentence(side, sentence)


def word_at(known: Sequence[str], index: int) -> str:
    """A word, or its index where it is not known."""
    return known[index] if index < len(known) else f"token {index}"


def unmarked(token: str) -> str:
    """A token without its tokenizer's mark for the blank before it."""
    return token[1:] if token.startswith(BLANKS) else token


def as_shown(token: str) -> str:
    """A token with the mark for the blank before it that people read."""
    return f"{BLANK}{token[1:]}" if token.startswith(BLANKS) else token


def find_cell(axes: Axes, asked: Mapping[str, str | int] | tuple[str | int, ...], words: Words) -> dict[str, int]:
    """The index along each axis, also from one for each axis in order. An axis of size 1 may be left out by name.
    Raises UnknownNameError.
    """
    if not isinstance(asked, Mapping):
        if not isinstance(asked, tuple) or len(asked) != len(axes.names):
            do = f"its axes: {', '.join(axes.names)}"
            raise UnknownNameError(f"a cell of {axes.name} has an index for each axis", got=repr(asked)[:60], do=do)
        asked = dict(zip(axes.names, asked, strict=True))
    for axis in asked:
        if axis not in axes.names:
            raise UnknownNameError(f"{axes.name} has no axis {axis!r}", do=did_you_mean(axis, axes.names))
    cell: dict[str, int] = {}
    for axis, size in zip(axes.names, axes.sizes, strict=True):
        if axis in asked:
            cell[axis] = find(axis, str(asked[axis]), axes.shared.get(axis, size), cell.get("sentence", 0), axes, words)
        elif size == 1:
            cell[axis] = 0
        else:
            do = f"its axes: {', '.join(axes.names)}"
            raise UnknownNameError(f"a cell of {axes.name} needs its {axis} (0 to {size - 1})", do=do)
    # Along a shared axis every index means the one number that all share.
    return {axis: 0 if axis in axes.shared else index for axis, index in cell.items()}


def word_and_place(asked: str) -> tuple[str, int | None]:
    """`word@3` to both; quotes around the word are left out."""
    found = re.fullmatch(r"(?P<word>.+)@(?P<at>\d+)", asked, flags=re.DOTALL)
    word, at = (asked, None) if found is None else (found["word"], int(found["at"]))
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word, at


def find(axis: str, asked: str, size: int, sentence: int, axes: Axes, words: Words) -> int:
    if re.fullmatch(r"-?\d+", asked):
        index = int(asked)
        if not -size <= index < size:
            raise UnknownNameError(f"{axis} of {axes.name} counts from 0 to {size - 1}", got=asked)
        return index % size
    word, at = word_and_place(asked)
    could = candidates(axis, word, sentence, axes, words)
    positions = [place for _, place in could]
    if not could:
        known = dict.fromkeys(axes.known(axis, sentence, words))
        do = did_you_mean(word, known) if known else "its words are not known here: give its index"
        raise UnknownNameError(f"there is no {axis} {word!r} in {axes.name}", do=do)
    if at is not None and at not in positions:
        raise UnknownNameError(f"{word!r} is not at {axis} {at}", do=f"it is at {positions}")
    fitting = [index for index, place in could if at in (None, place)]
    if len(fitting) == 1:
        return fitting[0]
    if len(set(positions)) < len(positions):  # several sentences, with the word at the same place of each
        ways, got = [f"{axis}={index}" for index in fitting], "one in several sentences"
    else:
        ways, got = [f"{axis}={word}@{place}" for place in positions], f"one at each of {positions}"
    raise UnknownNameError(f"which {word!r} is meant", got=got, do=f"write one of {', '.join(ways)}")


def find_word(words: Words, asked: str, *, option: str, side: str = "inputs", sentence: int = 0) -> int:
    """The place of a word, given as the word, `word@3` or a place; raises UnknownNameError about `option`."""
    known = words.sentence(side, sentence)
    if re.fullmatch(r"-?\d+", asked):
        if known and not 0 <= int(asked) < len(known):
            do = f"words: {some(known, ' ')}"
            raise UnknownNameError(f"{option} counts from 0 to {len(known) - 1}", got=asked, do=do)
        return int(asked)
    word, at = word_and_place(asked)
    places = words.positions(side, sentence, word) or words.beginnings(side, sentence, word)
    if not places:  # a tokenizer may write the words of a text in another case
        alike = {written for written in known if unmarked(written).casefold() == word.casefold()}
        places = [place for place, written in enumerate(known) if written in alike] if len(alike) == 1 else []
    if not places:
        do = f"{did_you_mean(word, dict.fromkeys(known))} words: {some(known, ' ')}"
        raise UnknownNameError(f"{option} names a word of the text", got=asked, do=do)
    fitting = [place for place in places if at in (None, place)]
    if len(fitting) != 1:
        ways = some([f"{option} {word}@{place}" for place in places], ", ")
        do = f"write {ways}"
        raise UnknownNameError(f"{option} names one word", got=f"{asked}, {len(places)} in the text", do=do)
    return fitting[0]


def some(words: Sequence[str], between: str, most: int = 20) -> str:
    """The words of a sentence for people, the first ones of a long text."""
    return between.join([*words[:most], *(["…"] if len(words) > most else [])])


def candidates(axis: str, word: str, sentence: int, axes: Axes, words: Words) -> list[tuple[int, int]]:
    """All indices that a word could mean along an axis, each with the place that is written after `@`."""
    side = axes.side(axis)
    if axis == "place":
        found_in = {row: words.positions(axes.tokens, row, word) for row in {row for row, _ in axes.positions}}
        return [(index, place) for index, (row, place) in enumerate(axes.positions) if place in found_in[row]]
    if side is not None:
        found = words.positions(side, sentence, word)
    else:
        listed = words.listed(axis)
        found = [index for index, known in enumerate(listed) if as_shown(known) == as_shown(word)]
        found = found or [index for index, known in enumerate(listed) if unmarked(known) == word]
    return [(index, index) for index in found]


def name_cell(
    axes: Axes, cell: Mapping[str, int], words: Words, before: dict[tuple[str, int, int], str] | None = None
) -> dict[str, str]:
    """Each index as a person writes it: a word, with its place if it occurs twice, `(likes)` for a hidden one. `before`
    holds names found before, by axis, sentence and index, and is filled.
    """
    before = {} if before is None else before
    named: dict[str, str] = {}
    sentence = cell.get("sentence", 0)
    for axis, size in zip(axes.names, axes.sizes, strict=True):
        if (size == 1 and axis == "sentence") or axis in axes.shared:
            continue
        key = (axis, sentence, cell[axis])
        if key not in before:
            before[key] = name_index(axes, axis, cell[axis], sentence, words)
        named[axis] = before[key]
    return named


def name_index(axes: Axes, axis: str, index: int, sentence: int, words: Words) -> str:
    place, side = index, axes.side(axis)
    if axis == "place" and index < len(axes.positions):
        (sentence, place), side = axes.positions[index], axes.tokens
    row = words.listed(axis) if side is None else words.sentence(side, sentence)
    if place >= len(row):
        return str(index)
    word = row[place]
    plain = not re.fullmatch(r"-?\d+", word) and not re.search(r"[,\"@]|\s", word)
    answer = (words.answers or {}).get((sentence, place)) if side == "inputs" else None
    if answer is not None and re.fullmatch(r"[^,\"@()\s]+", answer):
        word, plain = f"({answer})", True
    if side is not None:
        at = [at for _, at in candidates(axis, word, sentence, axes, words)]
        once, unique = len(at) == 1, at.count(place) == 1
    else:
        once, unique = word not in words.doubles, True
    return (word if plain else f'"{word}"') + ("" if once else f"@{place}") if unique else str(index)
