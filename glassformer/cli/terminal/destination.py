"""Where the answers of a verb go: the screen, a file, or a file that a later command can continue."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer import __version__
from glassformer.base.counting import number_of
from glassformer.base.errors import DataError
from glassformer.cli.terminal.partial import Answers, resumable
from glassformer.cli.terminal.screen import note, results
from glassformer.cli.terminal.texts import Inputs

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.base.counting import Counting
    from glassformer.data.readers.rejects import RejectsFile


@dataclass(frozen=True)
class Output:
    """Where answers go: a file or the screen, JSON or drawn; `resume` continues; `rejects` gets what failed."""

    out: Path | None = None
    json: bool = False
    resume: bool = False
    rejects: Path | None = None


@contextmanager
def destination(model: Model, inputs: Inputs, output: Output, options: Mapping[str, Any]) -> Iterator[Answers]:
    """Inside, write the answers; `options` are what they depend on beyond model and inputs. Raises DataError."""
    out = output.out
    why = not_resumable(out, inputs)
    if out is None or why:
        if output.resume:
            raise DataError("--resume continues answers about files, written to a file", got=why, do="leave it out")
        with results(out) as handle:
            yield Answers(handle)
        return
    request = request_of(model, inputs, {**options, "json": output.json, "rejects": output.rejects is not None})
    with resume_hint(), resumable(out, request, resume=output.resume, inputs=inputs.files) as partial:
        if output.resume:
            note_continuing(out, partial.done, "answer", "answers")
        yield partial
    note(f"{out}: {number_of(partial.results, 'answer')}")


def note_continuing(out: Path | None, done: int, what: str, result: str) -> None:
    """Say where --resume continues: after so many things that are `what`, or from the beginning of the result."""
    unfinished = f"{out} has no unfinished {result}: starting at the beginning"
    note(f"continuing after {number_of(done, what)}" if done else unfinished)


@contextmanager
def resume_hint() -> Iterator[None]:
    """Inside, a Ctrl-C that leaves results, as its note says, is reported with the command that continues."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        if getattr(stopped, "__notes__", ()):
            words = [word for word in sys.argv[1:] if word != "--resume"]
            stopped.add_note(f"continue with: {shlex.join(['glassformer', *words, '--resume'])}")
        raise


def request_of(model: Model, inputs: Inputs, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the answers of a command depend on; reads the files, in bounded memory."""
    from glassformer.base.json_text import file_checksum

    found = {f"text {number}": text for number, text in enumerate(inputs.texts, start=1)}
    for number, path in enumerate(inputs.files, start=1):
        found[f"file {number}"] = f"{path.name}, {path.stat().st_size:,} bytes, checksum {file_checksum(path)}"
    return {
        "version": __version__,
        "model": digest_of(model),
        "input": found,
        "options": {**options, "columns": inputs.reader.columns, **inputs.same},
    }


@contextmanager
def set_aside(path: Path | None, inputs: Sequence[str | Path]) -> Iterator[RejectsFile | None]:
    """Inside, the file of the records that cannot be answered, if any; at the end a note about it."""
    if path is None:
        yield None
        return
    from glassformer.data.readers.rejects import rejecting

    with rejecting(path, inputs) as bad:
        yield bad
        if bad.count:
            note(bad.sentence)


@contextmanager
def counted(out: Path | None, done: int, *, what: str = "answers", total: int | None = None) -> Iterator[Counting]:
    """Progress on standard error, of `total` where known; inside, call the function with numbers of new answers.
    Answers on the screen show themselves how many they are: only a long one has progress.
    """
    if out is None:
        from glassformer.base.counting import Counting, now_and_then

        lines = now_and_then(note)
        yield Counting(what, done, total, lambda count: lines(count) if count.is_within else None)
        return
    from glassformer.training.progress import ConsoleProgress

    with ConsoleProgress().counting(what, done, total=total) as advance:
        yield advance


def not_resumable(out: Path | None, inputs: Inputs) -> str:
    """Why a later command could not go on; "" where it can."""
    if out is None:
        return "no --out"
    if inputs.once:
        return "an input that can be read only once"
    if not inputs.sources:
        return "no --file"
    return "an --out that is a pipe or device" if out.exists() and not out.is_file() else ""


def digest_of(model: Model) -> str:
    """A digest of all that a model answers by: its weights, settings, tokenizer and labels."""
    from glassformer.models.transformer import fingerprint

    task = None if model.task is None else model.task.model_dump(mode="json")
    facts = [fingerprint(model.module), model.tokenizer.fingerprint, task, model.row_tokens]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
