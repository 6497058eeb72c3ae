"""What a verb answers about one record: as JSON, on a screen, in words, and as what is watched while a model trains."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from glassformer.base.shown import Grid, Part, line

Guess = tuple[str, float | None]
"""A prediction, and its probability; None where that is not known."""
SHOWN = 200
"""Characters of a text that are repeated in words."""


@dataclass(frozen=True)
class InWords:
    """An answer as the last step of a walk-through: rows of a table with their numbers or words, and sentences."""

    title: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, tuple[float, ...]], ...] = ()
    tags: tuple[str, ...] = ()
    more: str = ""
    remarks: tuple[str, ...] = ()


def likeliest(found: Sequence[tuple[str, float]], answers: int, what: str, remark: str) -> InWords:
    """Labels or candidates with their probabilities, the likeliest first, as a table; `what` they are called."""
    kept = found[: 2 * answers]
    more = f"{len(found) - len(kept):,} more {what}" if len(found) > len(kept) else ""
    rows = tuple((name, (chance,)) for name, chance in kept)
    return InWords("", ("probability",), rows, (), more, (remark,))


class Answered:
    """An answer. A task's own says what differs from these: a row for each field of its JSON, and the JSON's words.
    `said_by` names the attribute that is the answer in words, `judged_by` that by which two models are compared.
    """

    said_by: ClassVar[str] = ""
    judged_by: ClassVar[str] = "says"
    windows: int = 1

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        """What is shown, on a screen of this width, of the answer to a record with these values by role."""
        found = {name: value for name, value in self.to_dict().items() if name not in values and name != "windows"}
        yield from texts_of(values)
        yield Grid(("", ""), tuple((name, in_short(value)) for name, value in found.items()))

    def in_words(self, words: int, answers: int) -> InWords:
        """The answer as the last step of a walk-through, with a limit on words and answers."""
        found = self.to_dict()
        return InWords(remarks=tuple(f"{name}: {in_short(value)}" for name, value in found.items()))

    @property
    def says(self) -> str:
        if self.said_by:
            return str(getattr(self, self.said_by))
        return ", ".join(in_short(value) for value in self.to_dict().values())

    @property
    def places(self) -> list[list[Guess]]:
        """The likeliest predictions at each place that is asked for."""
        return []

    @property
    def place_names(self) -> list[str]:
        """The names of the places."""
        return []

    @property
    def verdict(self) -> object:
        """What the answer comes down to, where two models are compared; None where it is a number."""
        return getattr(self, self.judged_by)


def texts_of(values: Mapping[str, object]) -> Iterable[Part]:
    for role in ("text", "pair"):
        if role in values:
            yield line(str(values[role]), style="dim")


def in_short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)[:SHOWN]
