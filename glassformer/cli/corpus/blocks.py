"""A corpus in blocks: who reads them, who answers them, and how their answers are written.

A block is the batch that a lone process computes together (`texts.batches`), so that its answers are the same numbers,
and the file of answers is the same, byte for byte. Blocks travel as JSON: a worker may be on another machine.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import CheckpointError, DataError, GlassformerError, NotFiniteError
from glassformer.cli.terminal.destination import digest_of
from glassformer.cli.terminal.opened import Machine
from glassformer.cli.terminal.readers import Text
from glassformer.cli.terminal.screen import note_windows, record
from glassformer.cli.terminal.texts import Inputs, batches, records
from glassformer.data.readers.lines import stop_unless

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.tasks.predictor import Options

Stamp = tuple[int, int]
"""The size of a file in bytes, and the time of its last change in ns."""


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """What every process receives: the texts, what is asked of which model, and how many answers are written already.
    `digest` is that of the model that the command has opened, `folder` the one that relative paths begin from.
    """

    model: str
    machine: Machine
    verb: str
    options: Options
    inputs: Inputs
    stamps: Mapping[Path, Stamp]
    folder: str
    rejects: bool
    digest: str = ""
    done: int = 0


def corpus_of(model: str, machine: Machine, verb: str, options: Options, inputs: Inputs, *, rejects: bool) -> Corpus:
    """What is to be answered; the files are looked at now, before anything of them is read."""
    return Corpus(
        model=os.path.abspath(model) if os.path.isdir(model) else model,
        machine=machine if machine.threads else replace(machine, threads=1),
        verb=verb,
        options=options,
        inputs=inputs,
        stamps={path: _stamp(path) for path in inputs.files},
        folder=os.getcwd(),
        rejects=rejects,
    )


Runner = Callable[[Corpus], Iterator[str]]
"""Reads the blocks of a corpus, has them answered, and gives back the answers in the order of the blocks."""


@dataclass(frozen=True)
class Spread:
    """A corpus, and who has its blocks answered."""

    corpus: Corpus
    run: Runner


def in_this_process(corpus: Corpus) -> Iterator[str]:
    return map(Worker(corpus), read_blocks(corpus))


def read_blocks(corpus: Corpus) -> Iterator[str]:
    """The blocks without answers, in order. An error that stops the command is the last block."""
    os.chdir(corpus.folder)
    messages: list[str] = []
    bad: list[DataError] = []
    worker, number = Worker(corpus), 0

    texts = records(corpus.inputs, bad=bad.append if corpus.rejects else stop_unless("rejects"), tell=messages.append)
    try:
        for batch in batches(texts):
            _check_unchanged(corpus.stamps)
            skip = max(corpus.done - number, 0)
            if skip:  # of a block whose answers are there already, only the rejects are needed
                options = corpus.options
                some, refused = (
                    answerable(worker.opened, corpus.verb, batch, options) if corpus.rejects else (batch, [])
                )
                number += len(some)
                if number <= corpus.done:
                    bad += refused
                    continue
            yield _block(batch, messages, bad, skip=skip)
        _check_unchanged(corpus.stamps)
        if messages or bad:
            yield _block((), messages, bad)
    except GlassformerError as error:
        yield _block((), messages, bad, error=error)


def _block(
    texts: Iterable[Text],
    messages: list[str],
    bad: list[DataError],
    *,
    skip: int = 0,
    error: GlassformerError | None = None,
) -> str:
    """`skip`: how many of its answers are written already. The messages and bad rows until then go with it."""
    block = {
        "texts": [[dict(each.values), each.where, dict(each.kept), each.own] for each in texts],
        "messages": messages[:],
        "bad": [_sent(each) for each in bad],
        "skip": skip,
        "error": error and _sent(error),
    }
    messages.clear()
    bad.clear()
    return json.dumps(block, default=str)


class Worker:
    """Answers blocks: it opens the model at its first one, and refuses another model than the one of the command."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    @cached_property
    def opened(self) -> Model:
        opened = self._corpus.machine.open(self._corpus.model)
        if digest_of(opened) != self._corpus.digest:
            raise CheckpointError(
                f"the model {self._corpus.model} must be the same for all workers",
                got="another one: it has changed meanwhile, or is another one on that machine",
                do="repeat the command; with --resume only if the model is the earlier one again",
            )
        return opened

    def __call__(self, block: str) -> str:
        """The answers to a block, as lines of a file of records; an error that stops the command comes with them."""
        corpus, given = self._corpus, json.loads(block)
        texts = [Text(values, where, kept=kept, own=own) for values, where, kept, own in given.pop("texts")]
        lines, long, notes = io.StringIO(), list[str](), list[str]()
        empty = skipped = 0
        try:
            if corpus.rejects and texts:
                texts, refused = answerable(self.opened, corpus.verb, texts, corpus.options)
                given["bad"] += map(_sent, refused)
            found = answers_to(self.opened, corpus.verb, texts, corpus.options) if texts else iter(())
            for one, its in zip(texts, found, strict=True):
                skipped += 1
                if skipped <= given["skip"]:
                    continue
                note_windows(one.values.get("text", ""), its.windows, self.opened.row_tokens, long.append)
                notes += getattr(its, "notes", ())
                empty += bool(getattr(its, "empty", 0))
                record({**one.kept, **its.to_dict()}, lines)
        except GlassformerError as error:
            given["error"] = _sent(error)
        return json.dumps({**given, "lines": lines.getvalue(), "long": long, "notes": notes, "empty": empty})


def answerable(opened: Model, verb: str, texts: Sequence[Text], options: Options) -> tuple[list[Text], list[DataError]]:
    """The records that can be answered, and why each other one cannot."""
    from glassformer.answering.answers import refusals  # not at the top: --help must not import torch

    why = list(refusals(opened, verb, ((one.values, one.where) for one in texts), options))
    return [one for one, error in zip(texts, why, strict=True) if error is None], [
        error.about(one.where, {**one.kept, **one.values} if one.own is None else one.own)
        for one, error in zip(texts, why, strict=True)
        if error is not None
    ]


def answers_to(opened: Model, verb: str, texts: Sequence[Text], options: Options) -> Iterator[Any]:
    """The answers to a batch; the error of a record of a file says that such records can be left out."""
    from glassformer.answering.answers import answer, refusals

    try:
        yield from answer(opened, verb, ((one.values, one.where) for one in texts), options)
    except DataError as error:
        of_files = ((one.values, one.where) for one in texts if one.where)
        if any(str(why) == str(error) for why in refusals(opened, verb, of_files, options)):
            error.left_out_by = "rejects"
        raise


def _sent(error: GlassformerError) -> dict[str, Any]:
    """An error as JSON; of its kinds those remain that the command line tells apart."""
    kind = next(each for each in _KINDS.values() if isinstance(error, each))
    parts: dict[str, Any] = {"kind": kind.__name__, "wanted": error.wanted, "got": error.got, "do": error.do}
    if isinstance(error, DataError):
        parts |= {"where": error.where, "row": error.row, "left_out_by": error.left_out_by, "ends": error.ends}
    return parts


_KINDS = {kind.__name__: kind for kind in (DataError, NotFiniteError, GlassformerError)}


def received(sent: Mapping[str, Any]) -> GlassformerError:
    error = _KINDS[sent["kind"]](sent["wanted"], got=sent["got"], do=sent["do"])
    if isinstance(error, DataError):
        error.about(sent["where"], sent["row"])
        error.left_out_by, error.ends = sent["left_out_by"], sent["ends"]
    return error


def _stamp(path: Path) -> Stamp:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _check_unchanged(stamps: Mapping[Path, Stamp]) -> None:
    for path, stamp in stamps.items():
        if not path.exists() or _stamp(path) != stamp:
            raise DataError(
                f"{path} must stay as it is while it is read",
                got="a file that another program is changing",
                do="repeat the command when the file is complete",
            )
