"""The records of one batch, whoever computes it: which of them can be answered, and their answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from glassformer.base.errors import DataError
from glassformer.cli.terminal.readers import Text
from glassformer.cli.terminal.screen import json_line
from glassformer.cli.terminal.texts import batches

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.data.readers.lines import Skipped
    from glassformer.tasks.predictor import Options


class Asked(Protocol):
    """What is asked of each record, and how its answer travels: workers, perhaps on other machines, receive this."""

    def batches(self, texts: Iterable[Text]) -> Iterator[list[Text]]:
        """The records that are computed together."""
        ...

    def refusals(self, opened: Model, texts: Sequence[Text]) -> Iterator[DataError | None]:
        """Why each record cannot be answered; None for one that can."""
        ...

    def answers(self, opened: Model, texts: Sequence[Text]) -> Iterator[Any]:
        """The answers, in order; raises DataError for a record that cannot be answered."""
        ...

    def packed(self, text: Text, answer: Any) -> bytes:
        """An answer, with the id of its record."""
        ...


@dataclass(frozen=True)
class Verb:
    """A verb that answers, with its options. An answer travels as a line of JSON."""

    name: str
    options: Options

    def batches(self, texts: Iterable[Text]) -> Iterator[list[Text]]:
        return batches(texts)

    def refusals(self, opened: Model, texts: Sequence[Text]) -> Iterator[DataError | None]:
        from glassformer.answering.answers import refusals  # not at the top: --help must not import torch

        return refusals(opened, self.name, ((one.values, one.where) for one in texts), self.options)

    def answers(self, opened: Model, texts: Sequence[Text]) -> Iterator[Any]:
        """The error of a record of a file says that such records can be left out."""
        from glassformer.answering.answers import answer

        try:
            yield from answer(opened, self.name, ((one.values, one.where) for one in texts), self.options)
        except DataError as error:
            of_files = [one for one in texts if one.where]
            if any(str(why) == str(error) for why in self.refusals(opened, of_files)):
                error.left_out_by = "rejects"
            raise

    def packed(self, text: Text, answer: Any) -> bytes:
        return as_line(text, answer)


def as_line(text: Text, answer: Any) -> bytes:
    """An answer as a line of a file of records."""
    return f"{json_line({**text.kept, **answer.to_dict()})}\n".encode("utf-8", "backslashreplace")


def answerable(texts: Sequence[Text], refusals: Iterable[DataError | None]) -> tuple[list[Text], list[DataError]]:
    """The records that can be answered, and why each other one cannot; `refusals` are those of `Asked`."""
    some: list[Text] = []
    refused: list[DataError] = []
    for one, error in zip(texts, refusals, strict=True):
        if error is None:
            some.append(one)
        else:
            refused.append(error.about(one.where, {**one.kept, **one.values} if one.own is None else one.own))
    return some, refused


def need_one(number: int, bad: Skipped | None) -> None:
    """Raise DataError where all records were set aside."""
    if bad is not None and bad.count and not number:
        raise DataError("a record that can be answered is needed", got=bad.first[0])
