from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from glassformer.base.errors import ConfigError
from glassformer.cli.ask.job import Job
from glassformer.cli.ask.show import on_screen
from glassformer.cli.terminal.screen import Few, note, note_windows
from glassformer.cli.terminal.texts import TYPED
from glassformer.tasks import VERBS

if TYPE_CHECKING:
    from glassformer.tasks.writing.chat.chatter import Reply
    from glassformer.tasks.writing.generator import Generation
    from glassformer.tasks.writing.translation import Translation

Answer = TypeVar("Answer", "Translation", "Generation", "Reply")
# What is known only when an answer is whole, or goes elsewhere, by the option that asks for it.
_NOT_BESIDE = ("json", "alignment", "out", "rejects")


def check_streamed(values: Mapping[str, Any]) -> None:
    beside = [f"--{name}" for name in _NOT_BESIDE if values.get(name)]
    if (values.get("n_best") or 1) > 1:
        beside.append("--n-best")
    if beside:
        raise ConfigError(
            "--stream writes the words of one answer and nothing else",
            got=f"{beside[0]} as well",
            do=f"leave --stream or {beside[0]} out",
        )


def can_stream(values: Mapping[str, Any]) -> bool:
    """Whether words are shown one by one by default: on a screen, without other output options."""
    return sys.stdout.isatty() and not any(values.get(name) for name in _NOT_BESIDE) and (values["n_best"] or 1) == 1


def stream_words(job: Job) -> None:
    """Answer the texts one after another. Ctrl-C ends it; at a terminal it ends the answer of the typed line alone."""
    from glassformer.answering.answers import stream_answer  # not at the top: --help must not import torch

    opened, handle, entry = job.opened, job.out.handle, VERBS[job.verb]
    told, long = Few(), Few()
    for text in job.texts:
        words = stream_answer(opened, job.verb, text.values, text.where, job.writing)
        before = str(text.values["text"]) if entry.goes_on else ""
        lines = entry.goes_on or (handle.isatty() if entry.turns else "\n" in str(text.values["text"]))
        try:
            found = _written(words, handle, lines=lines, before=before)
        except KeyboardInterrupt:
            if not (text.where.startswith(TYPED) and sys.stdin.isatty()):
                raise
            note("stopped; type the next line, or exit with Ctrl-C or the end of the input")
            continue
        note_windows(text.values.get("text", ""), found.windows, opened.row_tokens, long)
        for sentence in found.notes:
            told(sentence)
    told.rest()
    long.rest()


def _written(words: Generator[str, None, Answer], handle: TextIO, *, lines: bool, before: str) -> Answer:
    """Write an answer after a prompt and the end of its line, also where it is stopped within the line."""
    begun = bool(before)
    try:
        if before:
            handle.write(on_screen(before, handle, lines=lines))
            handle.flush()
        while True:
            some = next(words)
            begun = True
            handle.write(on_screen(some, handle, lines=lines))
            handle.flush()
    except StopIteration as end:
        begun = True
        found: Answer = end.value
        return found
    finally:
        if begun:
            handle.write("\n")
            handle.flush()
