"""The answers to the blocks of a corpus, written in order by the command, which alone writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from glassformer.base.errors import DataError
from glassformer.cli.corpus.batch import need_one
from glassformer.cli.corpus.blocks import Spread, received
from glassformer.cli.terminal.destination import digest_of
from glassformer.cli.terminal.screen import Few, note

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.cli.terminal.destination import Answers
    from glassformer.data.readers.lines import Skipped


def write_blocks(
    spread: Spread, opened: Model, done: int, bad: Skipped | None, write: Callable[[int, bytes], None]
) -> int:
    """Have the blocks after `done` answers answered, and `write` the answers to each: how many they are, and what
    workers have packed. Gives back how many of all these are `empty`. Raises the error that stops the command.
    """
    corpus = replace(spread.corpus, digest=digest_of(opened), done=done)
    messages, long = Few(), Few()
    empty, number = 0, done
    for answered in spread.run(corpus):
        block = json.loads(answered.block)
        for sentence in block["messages"]:
            note(sentence)
        for error in map(received, block["bad"]):
            assert bad is not None
            assert isinstance(error, DataError)
            bad(error)
        write(block["count"], answered.answers)
        for few, sentences in ((long, block["long"]), (messages, block["notes"])):
            for sentence in sentences:
                few(sentence)
        number, empty = number + block["count"], empty + block["empty"]
        if block["error"] is not None:
            raise received(block["error"])
    messages.rest()
    long.rest()
    need_one(number, bad)
    return empty


def write_lines(
    spread: Spread, opened: Model, out: Answers, bad: Skipped | None, advance: Callable[[int], None]
) -> int:
    """`write_blocks` for a file of records."""

    def write(count: int, lines: bytes) -> None:
        out.handle.write(lines.decode())
        out.whole(count)
        advance(count)

    return write_blocks(spread, opened, out.done, bad, write)
