"""The answers to the blocks of a corpus, written in order by the command, which alone writes."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from glassformer.base.errors import DataError
from glassformer.cli.corpus.blocks import received
from glassformer.cli.terminal.destination import digest_of
from glassformer.cli.terminal.screen import Few, note

if TYPE_CHECKING:
    from glassformer.cli.ask.show import Job


def answer_blocks(job: Job) -> None:
    """Write the answers that are not written yet, as a lone process would."""
    assert job.spread is not None
    out, bad, before = job.out, job.bad, job.out.done
    corpus = replace(job.spread.corpus, digest=digest_of(job.opened), done=before)
    messages, long = Few(), Few()
    empty = number = 0
    for block in map(json.loads, job.spread.run(corpus)):
        for sentence in block["messages"]:
            note(sentence)
        for error in map(received, block["bad"]):
            assert bad is not None
            assert isinstance(error, DataError)
            bad(error)
        lines = list(io.StringIO(block["lines"]))
        for line in lines:
            out.handle.write(line)
            out.whole()
        for few, sentences in ((long, block["long"]), (messages, block["notes"])):
            for sentence in sentences:
                few(sentence)
        number, empty = number + len(lines), empty + block["empty"]
        job.advance(len(lines))
        if block["error"] is not None:
            raise received(block["error"])
    if empty > 1:
        note(f"{empty:,} translations are empty, in whole or in part")
    messages.rest()
    long.rest()
    if bad is not None and bad.count and not before + number:
        raise DataError("a record that can be answered is needed", got=bad.first[0])
