"""Texts to vectors for the commands that write them: which records can be used, and chunk by chunk into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import DataError
from glassformer.cli.terminal.destination import counted, request_of
from glassformer.cli.terminal.readers import Text
from glassformer.cli.terminal.screen import Few, note, note_windows
from glassformer.cli.terminal.texts import Inputs, records

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.base.counting import Counting
    from glassformer.data.readers.lines import Skipped
    from glassformer.features.streams import VectorsFile
    from glassformer.features.vectors import Vectors, VectorsOf

# Texts that are made into vectors together, and the most characters of them: always the same ones, so that a command
# that was stopped goes on with the very numbers that it would have made.
_TOGETHER, _CHARACTERS = 4096, 1 << 23
# Characters from which on it is told that a text is cut into tokens, which takes seconds.
_LONG = 1 << 20
# Blank texts, or questions, that a note names by their lines.
NAMED = 5
# Characters of a word in a note.
_QUOTED = 20


def usable(maker: VectorsOf, texts: Iterable[Text], bad: Callable[[DataError], object] | None) -> Iterator[Text]:
    """The records that can be made into vectors; others go to `bad`, or stop the command."""
    for each in texts:
        try:
            maker.example(each.values, each.where)
        except DataError as error:
            if bad is None:
                error.left_out_by = "rejects" if each.where else ""
                raise
            bad(error.about(each.where, {**each.kept, **each.values} if each.own is None else each.own))
        else:
            yield each


def at_least_one(texts: Iterable[Text], bad: Skipped | None) -> Iterator[Text]:
    """The same texts; raises DataError where all of them went to `bad`."""
    some = False
    for each in texts:
        some = True
        yield each
    if not some and bad is not None and bad.count:
        raise DataError("a text that can be made into a vector is needed", got=f"none; the first: {bad.first[0]}")


def planned(
    model: Model, inputs: Inputs, depends: Mapping[str, Any], *, resume: bool
) -> tuple[int | None, dict[str, Any] | None]:
    """How many texts there are, and what their vectors depend on; None for what can be read only once. Raises DataError
    where this is to be resumed.
    """
    if not inputs.once:
        return sum(1 for _ in records(inputs, bad=_ignore, tell=_ignore)), request_of(model, inputs, depends)
    if resume:
        raise DataError("--resume needs files that can be read again", got="standard input or a pipe")
    return None, None


def _ignore(said: object) -> None:
    """For the pass that only counts."""


def made(model: Model, maker: VectorsOf, texts: Sequence[Text], advance: Counting) -> Iterator[tuple[Text, Vectors]]:
    """Each text with its vectors; of a long one whose words are streamed, each time that some are known."""
    from glassformer.features.embed import embed

    left = iter(texts)
    one = next(left)
    if (characters := max(map(_characters, texts))) > _LONG:
        advance.within(f"a text of {characters:,} characters, being cut into tokens")
    for each in embed(model, maker, ((one.values, one.where) for one in texts), within=advance.rows_within):
        yield one, each
        if not each.more:
            one = next(left, one)


@dataclass
class Blank:
    """The texts without any token: how many there are, and the lines of the first."""

    count: int = 0
    first: list[str] = field(default_factory=list)


def fill(
    model: Model, maker: VectorsOf, texts: Iterator[Text], file: VectorsFile, out: Path, *, total: int | None
) -> Blank:
    """Write the vectors of all texts but those that are there already. Raises DataError where there are fewer texts."""
    there = sum(1 for _ in islice(texts, file.texts))
    if there < file.texts:
        raise DataError(f"{file.texts:,} texts are needed, to continue after them", got=f"{there:,}")
    blank, long = Blank(), Few()
    with counted(out, there, what="texts", total=total) as advance:
        for some in _chunks(texts):
            for one, each in made(model, maker, some, advance):
                file.put(each, one.kept.get("id"))
                if each.more:
                    continue
                note_windows(each.text, each.windows, model.row_tokens, long)
                if not each.tokens:
                    blank.count += 1
                    blank.first += [one.where] * (blank.count <= NAMED)
                advance(1)
            file.commit()
    long.rest()
    return blank


def note_unread(maker: VectorsOf) -> None:
    if maker.unread:
        note(
            f"{maker.unread:,} words have no token, the first {maker.first_unread[:_QUOTED]!r}: their vectors are "
            "those of the unknown token"
        )


def _chunks(texts: Iterator[Text]) -> Iterator[list[Text]]:
    some: list[Text] = []
    characters = 0
    for each in texts:
        some.append(each)
        characters += _characters(each)
        if len(some) == _TOGETHER or characters >= _CHARACTERS:
            yield some
            some, characters = [], 0
    if some:
        yield some


def _characters(text: Text) -> int:
    return sum(len(str(value)) for value in text.values.values())
