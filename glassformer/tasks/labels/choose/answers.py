"""A text and its candidates: what a record says of them, and which one was chosen."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from glassformer.base.errors import DataError
from glassformer.base.shown import Grid, Part, Share, Tick, line
from glassformer.tasks.answered import SHOWN, Answered, Guess, InWords, likeliest
from glassformer.tasks.rows import label_of, located, text_of


class Question(NamedTuple):
    """A text, its candidates, and the place of the right one in training and evaluation."""

    text: str
    choices: tuple[str, ...]
    label: int | None


@dataclass(frozen=True)
class Choice(Answered):
    """The likeliest candidate, its place from 0, and how likely each is, in the order given."""

    choice: str
    index: int
    choices: tuple[str, ...]
    log_probabilities: tuple[float, ...]
    text: str
    windows: int = 1
    place_names: ClassVar[list[str]] = ["candidate"]
    said_by, judged_by = "choice", "index"

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Of each candidate, between 0 and 1; their sum is 1."""
        return tuple(map(math.exp, self.log_probabilities))

    @property
    def probability(self) -> float:
        """That of the choice."""
        return self.probabilities[self.index]

    @property
    def places(self) -> list[list[Guess]]:
        return [list(zip(self.choices, self.probabilities, strict=True))]

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        yield line(self.text, style="dim")
        rows = tuple(
            (Tick("→") if place == self.index else "", choice, f"{chance:.1%}", Share(chance))
            for place, (choice, chance) in enumerate(zip(self.choices, self.probabilities, strict=True))
        )
        yield Grid(("", "candidate", "probability", ""), rows)

    def in_words(self, words: int, answers: int) -> InWords:
        order = sorted(zip(self.choices, self.probabilities, strict=True), key=lambda each: -each[1])
        said = f"{self.probability:.1%}, candidate {self.index}"
        named = [(" ".join(choice.split())[:SHOWN], chance) for choice, chance in order]
        return likeliest(named, answers, "candidates", f"The choice: {self.choice[:SHOWN]} ({said}).")

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "choices": list(self.choices),
            "choice": self.choice,
            "index": self.index,
            "probability": self.probability,
            "probabilities": list(self.probabilities),
            "windows": self.windows,
        }


def candidates_of(value: object, where: str) -> tuple[str, ...]:
    """The candidates of a record: a list, or the cells of several columns, the last perhaps empty."""
    if value is None:
        raise DataError(
            located(where, "a choice needs candidates"),
            got="none",
            do="give each with --choice, in Python and over HTTP as choices",
        )
    if not isinstance(value, list | tuple):
        raise DataError(
            located(where, "the candidates must be a list, or have a column each"),
            got=repr(value)[:60],
            do="name each column: --choices-column A --choices-column B",
        )
    choices = list(value)
    while isinstance(value, tuple) and choices and choices[-1] in ("", None):
        choices.pop()
    if len(choices) < 2:
        raise DataError(located(where, "a choice needs at least two candidates"), got=str(len(choices)))
    return tuple(text_of(choice, where, "candidate") for choice in choices)


def place_of(value: object, choices: Sequence[str], where: str) -> int:
    """The place of the right candidate, given by its text or else its place from 0; raises DataError."""
    if isinstance(value, str) and value in choices:
        places = [place for place, choice in enumerate(choices) if choice == value]
    else:
        label = label_of(value, where)
        places = [place for place in range(len(choices)) if str(place) == label]
    if not places:
        raise DataError(
            located(where, "a label must be the text of a candidate, or its place"),
            got=repr(value)[:60],
            do=f"the first place is 0, the last of this record {len(choices) - 1}",
        )
    if choices.count(choices[places[0]]) > 1:
        raise DataError(
            located(where, "the right candidate must differ from the others"), got=f"{choices[places[0]][:60]!r} twice"
        )
    return places[0]
