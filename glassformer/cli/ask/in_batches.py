"""Answers to records, batch by batch, as JSON or drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import DataError
from glassformer.cli.ask.job import Job
from glassformer.cli.ask.show import show
from glassformer.cli.terminal.readers import Text
from glassformer.cli.terminal.screen import Few, console, note, note_windows, record
from glassformer.cli.terminal.texts import batches

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.tasks.predictor import Options


def answer_records(job: Job) -> None:
    """Answer what has no answer yet. A batch is computed whole: in another batch an answer may round otherwise."""
    from glassformer.answering.answers import refusals  # not at the top: --help must not import torch

    opened, verb, options, out, bad = job.opened, job.verb, job.options, job.out, job.bad
    number = empty = 0
    told, long = Few(), Few()
    for texts in batches(job.texts):
        batch = texts
        if bad is not None:
            why = list(refusals(opened, verb, ((one.values, one.where) for one in texts), options))
            batch = [one for one, error in zip(texts, why, strict=True) if error is None]
            for one, error in zip(texts, why, strict=True):
                if error is not None:
                    bad(error.about(one.where, {**one.kept, **one.values} if one.own is None else one.own))
        if number + len(batch) <= out.done:
            number += len(batch)
            continue
        before = max(number, out.done)
        found = _answers(opened, verb, batch, options)
        for each, its in zip(batch, found, strict=True):
            number += 1
            if number <= out.done:
                continue
            note_windows(each.values.get("text", ""), its.windows, opened.row_tokens, long)
            for sentence in getattr(its, "notes", ()):
                told(sentence)
            empty += bool(getattr(its, "empty", 0))
            if job.json:
                record({**each.kept, **its.to_dict()}, out.handle)
            else:
                show(its.shown(each.values, console(out.handle).width), out.handle)
            out.whole()
        job.advance(number - before)
        out.handle.flush()  # who sends one line waits for its answer
    if empty > 1:
        note(f"{empty:,} translations are empty, in whole or in part")
    told.rest()
    long.rest()
    if bad is not None and bad.count and not number:
        raise DataError("a record that can be answered is needed", got=bad.first[0])


def _answers(opened: Model, verb: str, batch: Sequence[Text], options: Options) -> Iterator[Any]:
    """The answers to a batch; the error of a record of a file says that such records can be left out."""
    from glassformer.answering.answers import answer, refusals

    try:
        yield from answer(opened, verb, ((one.values, one.where) for one in batch), options)
    except DataError as error:
        of_files = ((one.values, one.where) for one in batch if one.where)
        if any(str(why) == str(error) for why in refusals(opened, verb, of_files, options)):
            error.left_out_by = "rejects"
        raise
