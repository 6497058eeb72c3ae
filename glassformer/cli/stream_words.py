"""glassformer translate --stream: the words of each translation on the screen as soon as they are decided."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from glassformer.cli.readers import Text
from glassformer.cli.screen import Few, note_windows
from glassformer.cli.show import on_screen
from glassformer.errors import ConfigError

if TYPE_CHECKING:
    from glassformer.artefact.model import Model
    from glassformer.tasks.translation import Translation

# What is known only when a translation is whole, or goes elsewhere, by the option that asks for it.
_NOT_BESIDE = ("json", "alignment", "out", "rejects")


def check_streamed(values: Mapping[str, Any]) -> None:
    """Raise ConfigError for options that ask for more than words on the screen."""
    beside = [f"--{name}" for name in _NOT_BESIDE if values.get(name)]
    if (values.get("n_best") or 1) > 1:
        beside.append("--n-best")
    if beside:
        raise ConfigError(
            "--stream writes the words of one translation and nothing else",
            got=f"{beside[0]} beside it",
            do=f"leave --stream or {beside[0]} out",
        )


def stream_words(opened: Model, asked: Iterable[Text], options: Mapping[str, Any], handle: TextIO) -> None:
    """Translate the texts one after another, each as it comes."""
    from glassformer.artefact.verbs import stream_translation  # not at the top: --help must not import torch

    told, long = Few(), Few()
    for text in asked:
        words = stream_translation(opened, text.values, text.where, options)
        found = _written(words, handle, lines="\n" in str(text.values["text"]))
        note_windows(text.values.get("text", ""), found.windows, opened.row_tokens, long)
        for sentence in found.notes:
            told(sentence)
    told.rest()
    long.rest()


def _written(words: Generator[str, None, Translation], handle: TextIO, *, lines: bool) -> Translation:
    """Write a translation and the end of its line, also where it is stopped within the line."""
    begun = False
    try:
        while True:
            some = next(words)
            begun = True
            handle.write(on_screen(some, handle, lines=lines))
            handle.flush()
    except StopIteration as end:
        begun = True
        found: Translation = end.value
        return found
    finally:
        if begun:
            handle.write("\n")
            handle.flush()
