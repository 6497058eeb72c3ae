"""A corpus in blocks: who reads them, who answers them, and how their answers are written.

A block is the batch that a lone process computes together (`Asked.batches`), so that its answers are the same numbers,
and the file of answers is the same, byte for byte. Blocks travel as JSON: a worker may be on another machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from glassformer.base.errors import CheckpointError, DataError, GlassformerError, NotFiniteError
from glassformer.cli.terminal.destination import digest_of
from glassformer.cli.terminal.opened import Machine
from glassformer.cli.terminal.readers import Text, with_kept
from glassformer.cli.terminal.screen import Few, json_line, note, note_windows
from glassformer.cli.terminal.texts import Inputs, batches, records
from glassformer.data.readers.lines import stop_unless

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.cli.terminal.partial import Answers
    from glassformer.data.readers.lines import Skipped
    from glassformer.tasks.predictor import Options

Stamp = tuple[int, int]
"""The size of a file in bytes, and the time of its last change in ns."""


class Asked(Protocol):
    """What is asked of each record, and how its answer travels: workers, perhaps on other machines, receive this."""

    def batches(self, texts: Iterable[Text]) -> Iterator[list[Text]]:
        """The records that are computed together."""
        return batches(texts)

    def refusals(self, opened: Model, texts: Sequence[Text]) -> Iterator[DataError | None]:
        """Why each record cannot be answered; None for one that can."""

    def answers(self, opened: Model, texts: Sequence[Text]) -> Iterator[Any]:
        """The answers, in order; raises DataError for a record that cannot be answered."""

    def packed(self, text: Text, answer: Any) -> bytes:
        """An answer, with the id of its record: a line of JSON."""
        return f"{json_line(with_kept(text, answer.to_dict()))}\n".encode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class Verb(Asked):
    """A verb that answers, with its options."""

    name: str
    options: Options

    def refusals(self, opened: Model, texts: Sequence[Text]) -> Iterator[DataError | None]:
        from glassformer.answering.answers import refusals  # not at the top: --help must not import torch

        return refusals(opened, self.name, ((one.values, one.where) for one in texts), self.options)

    def count(self, opened: Model, texts: Sequence[Text]) -> None:
        """These records have their answers already: they count where an engine is chosen by the number of rows."""
        from glassformer.answering.answers import predictor_for
        from glassformer.answering.engines.choice import count_answered

        made = predictor_for(opened, self.name, self.options)
        count_answered(opened, made, ((one.values, one.where) for one in texts))

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


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """What every process receives: the texts, what is asked of which model, and how many answers are written already.
    `digest` is that of the model that the command has opened, `folder` the one that relative paths begin from.
    """

    model: str
    machine: Machine
    asked: Asked
    inputs: Inputs
    stamps: Mapping[Path, Stamp]
    folder: str
    rejects: bool
    digest: str = ""
    done: int = 0


def corpus_of(model: str, machine: Machine, asked: Asked, inputs: Inputs, *, rejects: bool) -> Corpus:
    """What is to be answered; the files are looked at now, before anything of them is read."""
    return Corpus(
        model=os.path.abspath(model) if os.path.isdir(model) else model,
        machine=machine if machine.threads else replace(machine, threads=1),
        asked=asked,
        inputs=inputs,
        stamps={path: _stamp(path) for path in inputs.files},
        folder=os.getcwd(),
        rejects=rejects,
    )


class Answered(NamedTuple):
    """A block as JSON with what is known of its answers, and these, one after the other (`Asked.packed`)."""

    block: str
    answers: bytes


Spread = Callable[[str, int], Iterator[Answered]]
"""Has the blocks of a corpus answered by the model of this digest, those after so many answers, in their order."""


def read_blocks(corpus: Corpus) -> Iterator[str]:
    """The blocks without answers, in order. An error that stops the command is the last block."""
    os.chdir(corpus.folder)
    messages: list[str] = []
    bad: list[DataError] = []
    worker, number = Worker(corpus), 0

    texts = records(corpus.inputs, bad=bad.append if corpus.rejects else stop_unless("rejects"), tell=messages.append)
    try:
        for batch in corpus.asked.batches(texts):
            _check_unchanged(corpus.stamps)
            skip = max(corpus.done - number, 0)
            if skip:  # of a block whose answers are there already, only the rejects are needed
                some, refused = worker.answerable(batch)
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

    def answerable(self, texts: list[Text]) -> tuple[list[Text], list[DataError]]:
        """The records to answer, and where rejects are set aside, why each other one cannot be answered."""
        if not (self._corpus.rejects and texts):
            return texts, []
        return answerable(texts, self._corpus.asked.refusals(self.opened, texts))

    def __call__(self, row: Mapping[str, str]) -> dict[str, Any]:
        """The answers to the block of a row, by the names of `Answered`; an error that stops the command is in them."""
        corpus, given = self._corpus, json.loads(row["block"])
        texts = [Text(values, where, kept=kept, own=own) for values, where, kept, own in given.pop("texts")]
        answers, long, notes = list[bytes](), list[str](), list[str]()
        empty = skipped = 0
        try:
            texts, refused = self.answerable(texts)
            given["bad"] += map(_sent, refused)
            found = corpus.asked.answers(self.opened, texts) if texts else iter(())
            for one, its in zip(texts, found, strict=True):
                skipped += 1
                if skipped <= given["skip"]:
                    continue
                note_windows(one.values.get("text", ""), its.windows, self.opened.row_tokens, long.append)
                notes += getattr(its, "notes", ())
                empty += bool(getattr(its, "empty", 0))
                answers.append(corpus.asked.packed(one, its))
        except GlassformerError as error:
            given["error"] = _sent(error)
        facts = {"count": len(answers), "long": long, "notes": notes, "empty": empty}
        return Answered(json.dumps({**given, **facts}), b"".join(answers))._asdict()


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


def write_blocks(
    spread: Spread, opened: Model, done: int, bad: Skipped | None, write: Callable[[int, bytes], None]
) -> int:
    """Have the blocks after `done` answered and `write` the answers; returns how many are `empty`."""
    messages, long = Few(), Few()
    empty, number = 0, done
    for answered in spread(digest_of(opened), done):
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


def _sent(error: GlassformerError) -> dict[str, Any]:
    """An error as JSON, with its kind where the command line distinguishes it."""
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
