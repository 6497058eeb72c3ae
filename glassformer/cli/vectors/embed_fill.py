"""Texts to vectors for the commands that write them, chunk by chunk, made here or by other processes (`--ray`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import DataError
from glassformer.cli.corpus.blocks import Asked, answerable, need_one, write_blocks
from glassformer.cli.terminal.destination import counted, request_of
from glassformer.cli.terminal.readers import Text
from glassformer.cli.terminal.screen import Few, note, note_windows
from glassformer.cli.terminal.texts import Inputs, batches, records

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.base.counting import Counting
    from glassformer.cli.corpus.blocks import Spread
    from glassformer.data.readers.lines import Skipped
    from glassformer.features.strategies import Feature
    from glassformer.features.streams import VectorsFile
    from glassformer.features.vectors import Vectors, VectorsOf

# Texts that are made into vectors together, and the most characters of them: always the same ones, so that a command
# that was stopped goes on with the very numbers that it would have made.
_TOGETHER, _CHARACTERS = 4096, 1 << 23
# Characters from which on it is reported that a text is cut into tokens, which takes seconds.
_LONG = 1 << 20
# Blank texts, or questions, that a note names by their lines.
NAMED = 5
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


def planned(
    model: Model, inputs: Inputs, depends: Mapping[str, Any], *, resume: bool
) -> tuple[int | None, dict[str, Any] | None]:
    """The number of texts and what their vectors depend on; None for a stream, which cannot be resumed."""
    if not inputs.once:
        return sum(1 for _ in records(inputs, bad=_ignore, tell=_ignore)), request_of(model, inputs, depends)
    if resume:
        raise DataError("--resume needs files that can be read again", got="standard input or a pipe")
    return None, None


def _ignore(said: object) -> None:
    """For the pass that only counts."""


def missing(
    model: Model, maker: VectorsOf, read: Iterable[list[Text]], done: int, advance: Counting, bad: Skipped | None
) -> Iterator[Iterator[tuple[Text, Vectors]]]:
    """The texts after the `done` first with their vectors; whole batches, as rounding depends on the batch."""
    from glassformer.answering.engines.choice import count_answered  # not at the top: it imports torch

    number = 0
    for batch in read:
        some, there = usable(maker, batch, bad), max(done - number, 0)
        number += len(some)
        if len(some) > there:
            yield _made(model, maker, some, there, advance)
        else:
            count_answered(model, maker, ((one.values, one.where) for one in some))
    need_one(number, bad)


def _made(
    model: Model, maker: VectorsOf, texts: Sequence[Text], there: int, advance: Counting
) -> Iterator[tuple[Text, Vectors]]:
    """Each text with its vectors; of a long one whose words are streamed, each time that some are known."""
    from glassformer.features.embed import embed

    if (characters := max(map(_characters, texts))) > _LONG:
        advance.within(f"a text of {characters:,} characters, being cut into tokens")
    number = 0
    for each in embed(model, maker, ((one.values, one.where) for one in texts), within=advance.rows_within):
        if number >= there:
            yield texts[number], each
        number += not each.more


@dataclass
class Blank:
    """The texts without any token: how many there are, and the lines of the first."""

    count: int = 0
    first: list[str] = field(default_factory=list)


def fill(
    model: Model,
    maker: VectorsOf,
    texts: Iterable[Text],
    file: VectorsFile,
    out: Path,
    bad: Skipped | None,
    *,
    total: int | None,
    before: int = 0,
    spread: Spread | None = None,
) -> Blank:
    """Write the missing vectors, made here or by `spread`, after those of `before` texts of another index; records that
    cannot be used go to `bad`.
    """
    blank, long = Blank(), Few()
    with counted(out, file.texts, what="texts", total=total) as advance:
        if spread is not None:

            def write(count: int, packed: bytes) -> None:
                for each, own in _unpacked(count, packed, maker):
                    file.put(each, own)
                if count:
                    file.commit()
                advance(count)

            return Blank(write_blocks(spread, model, file.texts, bad, write))
        for found in missing(model, maker, _chunks(texts), file.texts - before, advance, bad):
            for one, each in found:
                own = dict(one.kept)
                file.put(each, own.pop("id", None), own)
                if each.more:
                    continue
                note_windows(each.text, each.windows, model.row_tokens, long)
                if each.empty:
                    blank.count += 1
                    blank.first += [one.where] * (blank.count <= NAMED)
                advance(1)
            file.commit()
    long.rest()
    return blank


@dataclass(frozen=True)
class Embedding(Asked):
    """Vectors of whole texts as other processes are asked for them: as lines of JSON, or for a file of numbers, where a
    vector travels as its id, a line of JSON, and its float32 numbers, the features one after another.
    """

    features: tuple[Feature, ...]
    json: bool

    def maker(self, opened: Model) -> VectorsOf:
        from glassformer.features.vectors import VectorsOf  # not at the top: --help must not import torch

        return VectorsOf(opened.module, opened.tokenizer, self.features, length=opened.row_tokens, words=False)

    def batches(self, texts: Iterable[Text]) -> Iterator[list[Text]]:
        return batches(texts) if self.json else _chunks(texts)

    def refusals(self, opened: Model, texts: Sequence[Text]) -> Iterator[DataError | None]:
        return refusals(self.maker(opened), texts)

    def answers(self, opened: Model, texts: Sequence[Text]) -> Iterator[Vectors]:
        from glassformer.features.embed import embed

        maker = self.maker(opened)
        return embed(opened, maker, ((one.values, one.where) for one in usable(maker, texts, None)))

    def packed(self, text: Text, answer: Vectors) -> bytes:
        if self.json:
            return super().packed(text, answer)
        numbers = (answer.vectors[feature.name].astype("<f4").tobytes() for feature in self.features)
        return b"".join([json.dumps(text.kept.get("id")).encode(), b"\n", *numbers])


def _unpacked(count: int, packed: bytes, maker: VectorsOf) -> Iterator[tuple[Vectors, object]]:
    """The vectors of a block, with the id of each, as `Embedding` has packed them; the texts stay with the worker."""
    import numpy as np

    from glassformer.features.vectors import Vectors

    at, total = 0, sum(maker.widths)
    ends = np.cumsum(maker.widths)[:-1]
    for _ in range(count):
        line = packed.index(b"\n", at)
        parts = np.split(np.frombuffer(packed, "<f4", total, line + 1), ends)
        vectors = {feature.name: part for feature, part in zip(maker.features, parts, strict=True)}
        yield Vectors("", vectors), json.loads(packed[at:line])
        at = line + 1 + 4 * total


def note_unread(maker: VectorsOf) -> None:
    if maker.unread:
        note(
            f"{maker.unread:,} words have no token, the first {maker.first_unread[:_QUOTED]!r}: their vectors are "
            "those of the unknown token"
        )


def _chunks(texts: Iterable[Text]) -> Iterator[list[Text]]:
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
