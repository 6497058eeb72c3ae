"""Where the answers of a verb go: the screen, a file, or a file that a later command can go on with."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from glassformer.base.errors import DataError
from glassformer.base.paths import is_stream
from glassformer.cli.terminal.partial import resumable
from glassformer.cli.terminal.screen import note, results

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.base.counting import Counting
    from glassformer.data.readers.rejects import RejectsFile


class Answers(Protocol):
    """Where answers are written to; `done` is how many are there already, `whole` is called after each."""

    handle: TextIO
    done: int

    def whole(self) -> None:
        """The answer that was just written is whole."""
        ...


class _Stream:
    """Answers that are not resumed."""

    def __init__(self, handle: TextIO) -> None:
        self.handle, self.done = handle, 0

    def whole(self) -> None:
        """Nothing: all of them or none are kept."""


@contextmanager
def destination(model: Model, values: Mapping[str, Any], asks: Mapping[str, Any]) -> Iterator[Answers]:
    """Inside, write the answers; `values` are the options of the command, `asks` those that its answers depend on.

    Raises DataError when they cannot be written, and as `resumable` does.
    """
    out: Path | None = values["out"]
    texts, files = values["text"] or (), values["file"] or ()
    why = _not_resumable(out, texts, files)
    if out is None or why:
        if values["resume"]:
            raise DataError("--resume goes on with the answers about files, in a file", got=why, do="leave it out")
        with results(out) as handle:
            yield _Stream(handle)
        return
    pair = values.get("pair")
    options = {**asks, **({"pair": pair} if pair is not None else {})}
    options |= {name: values[name] for name in ("fast", "int8", "device", "threads") if name in values}
    request = request_of(model, texts, files, options)
    with told_to_go_on(), resumable(out, request, resume=values["resume"]) as partial:
        if values["resume"]:
            note(
                f"going on after {partial.done:,} answers"
                if partial.done
                else f"{out} has no unfinished answers: beginning at the first"
            )
        yield partial


@contextmanager
def told_to_go_on() -> Iterator[None]:
    """Inside, Ctrl-C that leaves something, as a note of it says, is told with the command that goes on."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        if getattr(stopped, "__notes__", ()):
            words = [word for word in sys.argv[1:] if word != "--resume"]
            stopped.add_note(f"go on with: {shlex.join(['glassformer', *words, '--resume'])}")
        raise


def is_once(texts: Sequence[str], files: Sequence[str] | None) -> bool:
    """Whether the input can be read only once."""
    return "-" in (*texts, *(files or ())) or any(map(is_stream, files or ()))


def request_of(model: Model, texts: Sequence[str], files: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """What the answers of a command depend on: the version, the model, each input and the options, of which `columns`
    are those of the tables. Reads the files, in bounded memory.
    """
    return {
        "version": _version(),
        "model": digest_of(model),
        "input": _input(texts, files, options["columns"]),
        "options": options,
    }


@contextmanager
def set_aside(
    path: Path | None, out: Path | None, files: Sequence[str] | None, *, text: str
) -> Iterator[RejectsFile | None]:
    """Inside, the file of the records that cannot be answered, where there is to be one; at the end a note about it.
    `text` is the column of tables in folders.
    """
    if path is None:
        yield None
        return
    from glassformer.data.readers.files import files_of
    from glassformer.data.readers.rejects import rejecting

    if out is not None and os.path.abspath(path) == os.path.abspath(out):
        raise DataError("rejects need a file of their own", got=f"{out} for both", do="choose another --rejects")
    inputs: list[str | Path] = []
    for file in files or ():
        inputs += [file] if file == "-" or is_stream(file) else files_of([file], text=text)
    with rejecting(path, inputs) as bad:
        yield bad
        if bad.count:
            note(bad.sentence)


@contextmanager
def counted(out: Path | None, done: int, *, what: str = "answers", total: int | None = None) -> Iterator[Counting]:
    """Progress on standard error where the answers go to a file; inside, call the function with each number of answers
    that was just written. `total`: how many there will be, where that is known. Of answers on the screen, which show
    themselves how many there are, only of one that takes long is it told how far it is.
    """
    if out is None:
        from glassformer.base.counting import Counting, now_and_then

        lines = now_and_then(note)
        yield Counting(what, done, total, lambda count: lines(count) if count.is_within else None)
        return
    from glassformer.training.progress import ConsoleProgress

    with ConsoleProgress().counting(what, done, total=total) as advance:
        yield advance


def _not_resumable(out: Path | None, texts: Sequence[str], files: Sequence[str]) -> str:
    """Why a later command could not go on; "" where it can."""
    if out is None:
        return "no --out"
    if is_once(texts, files):
        return "an input that can be read only once"
    if not files:
        return "no --file"
    return "an --out that is a pipe or device" if out.exists() and not out.is_file() else ""


def _version() -> str:
    from glassformer import __version__

    return __version__


def digest_of(model: Model) -> str:
    """A digest of all that a model answers by: its weights, settings, tokenizer and labels."""
    from glassformer.models.fingerprint import fingerprint

    task = None if model.task is None else model.task.model_dump(mode="json")
    facts = [fingerprint(model.module), model.tokenizer.fingerprint, task, model.row_tokens]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _input(texts: Sequence[str], files: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Each input with what tells it from another one; reads the files, in bounded memory."""
    from glassformer.base.checksum import file_checksum
    from glassformer.data.readers.files import files_of

    found = {f"text {number}": text for number, text in enumerate(texts, start=1)}
    paths = [path for file in files for path in files_of([file], text=columns["text"])]
    for number, path in enumerate(paths, start=1):
        found[f"file {number}"] = f"{path.name}, {path.stat().st_size:,} bytes, checksum {file_checksum(path)}"
    return found
