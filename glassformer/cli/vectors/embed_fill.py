"""Texts to vectors for the commands that write them: which records can be used, and chunk by chunk into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from glassformer.base.errors import DataError
from glassformer.cli.corpus.batch import answerable, need_one
from glassformer.cli.terminal.readers import Text
from glassformer.cli.terminal.screen import Few, note, note_windows

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
# Characters of a word in a note.
_QUOTED = 20


def refusals(maker: VectorsOf, texts: Iterable[Text]) -> Iterator[DataError | None]:
    """Why each record cannot be made into vectors; None for one that can."""
    for each in texts:
        try:
            maker.example(each.values, each.where)
        except DataError as error:
            yield error
        else:
            yield None


def usable(maker: VectorsOf, texts: Sequence[Text], bad: Callable[[DataError], object] | None) -> list[Text]:
    """The records that can be made into vectors; others go to `bad`, or stop the command."""
    some, refused = answerable(texts, refusals(maker, texts))
    for error in refused:
        if bad is None:
            error.left_out_by = "rejects" if error.where else ""
            raise error
        bad(error)
    return some


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


def fill(
    model: Model, maker: VectorsOf, texts: Iterable[Text], file: VectorsFile, advance: Counting, bad: Skipped | None
) -> Iterator[Text]:
    """Write the vectors that are missing, of records of which the others go to `bad`; gives back the texts without any
    token of their own.
    """
    long, number, done = Few(), 0, file.texts
    for read in chunks(texts):
        some = usable(maker, read, bad)
        if not some or number + len(some) <= done:
            number += len(some)
            continue
        for one, each in made(model, maker, some, advance):
            there = number < done
            number += not each.more
            if there:
                continue
            file.put(each, one.kept.get("id"))
            if each.more:
                continue
            note_windows(each.text, each.windows, model.row_tokens, long)
            if each.empty:
                yield one
            advance(1)
        file.commit()
    long.rest()
    need_one(number, bad)


def note_unread(maker: VectorsOf) -> None:
    if maker.unread:
        note(
            f"{maker.unread:,} words have no token, the first {maker.first_unread[:_QUOTED]!r}: their vectors are "
            "those of the unknown token"
        )


def chunks(texts: Iterable[Text]) -> Iterator[list[Text]]:
    """The texts that are made into vectors together."""
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
