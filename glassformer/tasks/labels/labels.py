"""What is known of a text's labels: the right ones in the data, and how likely each is in a prediction."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from glassformer.base.shown import Grid, Part, Share, line
from glassformer.tasks.answered import Answered, Guess, InWords, texts_of

# The most labels of which a JSON record lists the probabilities: the likeliest.
LISTED = 100
# Labels that are shown: the likeliest.
TOP = 5
# Labels that a note names, and records of each.
_NAMED, _PLACES = 10, 2


class Labelled(NamedTuple):
    """A text or a pair, with its label, or its labels where it may have several, in training and evaluation."""

    text: str
    pair: str | None
    label: int | None
    several: tuple[int, ...] | None = None

    @property
    def numbers(self) -> tuple[int, ...] | None:
        return self.several if self.label is None else (self.label,)


class Unlearned:
    """Labels that only held-out records have: by label, the places of these records."""

    def __init__(self) -> None:
        self.places: dict[str, list[str]] = {}

    def add(self, labels: Iterable[str], where: str) -> None:
        for label in labels:
            self.places.setdefault(label, []).append(where)

    def note(self, labels: Collection[str], unit: str, log: Callable[[str], None]) -> None:
        """Log those of the `labels` that are never learned, with their records, which are `unit`."""
        found = {label: places for label, places in sorted(self.places.items()) if label in labels}
        for label, places in list(found.items())[:_NAMED]:
            more = f" and {len(places) - _PLACES:,} more" if len(places) > _PLACES else ""
            log(
                f"the label {label[:30]!r} is not learned: all {unit} that have it ({len(places):,}) are held out: "
                f"{', '.join(places[:_PLACES])}{more}"
            )
        if len(found) > _NAMED:
            log(f"nor are {len(found) - _NAMED:,} more labels, of which all {unit} are held out too")


@dataclass(frozen=True)
class Labels(Answered):
    """How likely each label of a text or a pair is; `windows` is above 1 for a long text."""

    labels: tuple[str, ...]
    logarithms: tuple[float, ...]
    text: str
    pair: str | None = None
    windows: int = 1
    place_names: ClassVar[list[str]] = ["label"]

    @property
    def log_probabilities(self) -> dict[str, float]:
        return dict(zip(self.labels, self.logarithms, strict=True))

    @property
    def probabilities(self) -> dict[str, float]:
        return {label: math.exp(value) for label, value in self.log_probabilities.items()}

    @property
    def likeliest(self) -> list[tuple[str, float]]:
        return sorted(self.probabilities.items(), key=lambda each: -each[1])

    @property
    def places(self) -> list[list[Guess]]:
        return [[*self.likeliest[:TOP]]]

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        yield from texts_of(values)
        kept = self.likeliest[:TOP]
        rows: list[tuple[str | Share, ...]] = [(label, f"{chance:.1%}", Share(chance)) for label, chance in kept]
        if len(self.labels) > TOP:
            rows.append((f"{len(self.labels) - TOP:,} more", "", ""))
        yield Grid(("label", "probability", ""), tuple(rows))

    def table(self, answers: int, *remarks: str) -> InWords:
        kept = self.likeliest[: 2 * answers]
        more = f"{len(self.labels) - len(kept):,} more labels" if len(self.labels) > len(kept) else ""
        return InWords("", ("probability",), tuple((label, (chance,)) for label, chance in kept), (), more, remarks)

    def _with_probabilities(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        texts = {"text": self.text} if self.pair is None else {"text": self.text, "pair": self.pair}
        probabilities = self.probabilities
        if len(probabilities) > LISTED:
            kept = {"probabilities": dict(self.likeliest[:LISTED]), "labels": len(self.labels)}
            return {**texts, **answer, **kept, "windows": self.windows}
        return {**texts, **answer, "probabilities": probabilities, "windows": self.windows}


@dataclass(frozen=True)
class Class(Labels):
    """The likeliest label, and how likely each of them is: together 1."""

    @property
    def label(self) -> str:
        return self.labels[self.logarithms.index(max(self.logarithms))]

    @property
    def says(self) -> str:
        return self.label

    def in_words(self, words: int, answers: int) -> InWords:
        return self.table(answers, f"The label: {self.label} ({self.probabilities[self.label]:.1%}).")

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and words, for JSON; of more than 100 labels the 100 likeliest."""
        return self._with_probabilities({"label": self.label})


@dataclass(frozen=True)
class Classes(Labels):
    """The labels whose probability is at least `threshold`, and how likely each label is, apart from the others."""

    threshold: float = 0.5

    @property
    def chosen(self) -> tuple[str, ...]:
        likely = [each for each in self.probabilities.items() if each[1] >= self.threshold]
        return tuple(label for label, _ in sorted(likely, key=lambda each: -each[1]))

    @property
    def says(self) -> str:
        return ", ".join(self.chosen)

    @property
    def verdict(self) -> object:
        return self.chosen

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        yield from super().shown(values, width)
        yield line(", ".join(self.chosen) or f"none is as likely as {self.threshold:.0%}", style="answer", after=True)

    def in_words(self, words: int, answers: int) -> InWords:
        labels = ", ".join(self.chosen)
        return self.table(answers, f"The labels: {labels}." if labels else "None of the labels is likely enough.")

    def to_dict(self) -> dict[str, Any]:
        return self._with_probabilities({"chosen": list(self.chosen)})
