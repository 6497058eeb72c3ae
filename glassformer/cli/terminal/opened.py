"""Which model a verb uses, and opening it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from glassformer.base.errors import CheckpointError, ConfigError, DataError, did_you_mean
from glassformer.base.paths import check_path
from glassformer.bundled.travelling import answering, no_model, travelling, travels
from glassformer.cli.terminal.screen import note
from glassformer.cli.verbs import PARTS
from glassformer.tasks import VERBS, verb_where

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.saved.described import Described

    AnyModel = TypeVar("AnyModel", bound=Described)

_HUB = "hub:"
# What may be a mistyped model: a word without blanks and brackets; and one that must be meant as a path.
_WORD = re.compile(r"[^\s\[\]]*")
_PATH = re.compile(r"~.*|.*[/\\].*")
_LONGEST_PATH = 4096
# The model whose vectors are made where none is named: recall@1 of its vectors is 29 to 80 %, of `english` 1 to 7 %
# (docs/do/search.md).
_OF_VECTORS, _VECTORS = ("embed", "search"), "sentences"
# What names a file of texts where it is not --file.
_FILE_OPTIONS = {"heads": "--held-out"}


@dataclass(frozen=True)
class Machine:
    """What a model runs on, and in which numbers; `int8` is None of a command without that option."""

    device: str = "auto"
    threads: int | None = None
    fast: bool = False
    int8: bool | None = None
    engine: str = "torch"

    def open(self, path: str | Path) -> Model:
        from glassformer.api.load import load  # not at the top: --help must not import torch
        from glassformer.runtime.threads import use_threads

        use_threads(self.threads)
        dtype = "int8" if self.int8 else None
        model = _with_notes(load(path, device=self.device, dtype=dtype, fast=self.fast, engine=self.engine))
        if self.fast:
            note(f"--fast: {model.fast_told}")
        return model

    @property
    def options(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "int8" or value is not None}


def split_model(
    verb: str,
    words: Sequence[str] | None,
    model: str | None,
    *,
    files: Sequence[str] | None = None,
    is_data: Callable[[str], bool] | None = None,
    data: str = "a file to measure on",
) -> tuple[str, list[str]]:
    """The model for a verb (the option, a folder, a bundled name or `hub:...` as first word, else a bundled one), and
    the words that are its texts, or files where `is_data`. What may be a mistyped model is refused: a path, a file, one
    word before texts. Raises CheckpointError, ConfigError, DataError.
    """
    which, texts = (model, list(words or ())) if model is not None else _split(verb, words or (), files, is_data, data)
    if is_data is None and not files:
        note_no_text(verb, texts)
    return which, texts


def note_no_text(verb: str, texts: Sequence[str]) -> None:
    """Note of a verb's only text that it may be meant as a file, or as the second word of a verb."""
    if len(texts) != 1:
        return
    (text,) = texts
    near = did_you_mean(text, PARTS.get(verb, ()))
    if len(text) < _LONGEST_PATH and os.path.isfile(text):
        option = "--file" if verb in VERBS or verb.split()[0] in _OF_VECTORS else _FILE_OPTIONS.get(verb)
        do = f"{verb} reads no files" if option is None else f"did you mean {option} {shlex.quote(text)}?"
        note(f"{text} is read as a text, though it is a file; {do}")
    elif near.startswith("did"):
        note(f"{text} is read as a text; " + near.replace("mean '", f"mean '{verb} "))


def _split(
    verb: str, words: Sequence[str], files: Sequence[str] | None, is_data: Callable[[str], bool] | None, data: str
) -> tuple[str, list[str]]:
    wanted = "a text" if is_data is None else data
    if not words and not files:
        if verb in VERBS and VERBS[verb].turns:  # a conversation begins
            return _bundled_model(verb), []
        raise DataError(f"{verb} needs {wanted}", got="none", do=f"see glassformer {verb} --help")
    first = words[0] if words else "-"
    if first.startswith(_HUB) or os.path.isdir(first) or travels(first):
        return first, [*words[1:]]
    if first != "-" and (_is_mistyped(verb, words, files) if is_data is None else not is_data(first)):
        check_path(first, CheckpointError)
        if os.path.lexists(first):
            return first, [*words[1:]]  # a file, a pipe: opening it shows why it is not a model
        raise CheckpointError(
            no_model(first),
            do=f"{_nearest(first, verb)}if it is {wanted}, name the model too: glassformer {verb} --model MODEL ...",
        )
    return _bundled_model(verb), [*words]


def bundled_for(verb: str) -> str | None:
    """The bundled model that a verb uses where none is named; None where no bundled model has a task of the verb."""
    if verb.split()[0] in _OF_VECTORS and _VECTORS in travelling():
        return _VECTORS
    return answering(_tasks_of(verb))


def _tasks_of(verb: str) -> tuple[str, ...]:
    return VERBS[verb if verb in VERBS else verb_where(lambda entry: entry.masks)].tasks


def _bundled_model(verb: str) -> str:
    name, tasks = bundled_for(verb), _tasks_of(verb)
    if name is None:
        raise ConfigError(
            f"{verb} needs a model, as no bundled model has the task {' or '.join(tasks)}",
            do=f"train one with `glassformer train {tasks[0]} FILES`, then run `glassformer {verb} FOLDER ...`",
        )
    note(f"using the bundled model {name}; see glassformer models")
    return name


def _is_mistyped(verb: str, words: Sequence[str], files: Sequence[str] | None) -> bool:
    first = words[0]
    if not _WORD.fullmatch(first):
        return False
    # One word is no text to fill: it would have brackets, those of [MASK].
    return (
        len(words) > 1
        or bool(files)
        or verb == verb_where(lambda entry: entry.masks)
        or os.path.lexists(first)
        or bool(_PATH.fullmatch(first))
    )


def _nearest(word: str, verb: str) -> str:
    hint = did_you_mean(word, PARTS.get(verb, ()))
    if hint.startswith("did"):
        return hint.replace("mean '", f"mean '{verb} ") + " "
    hint = did_you_mean(word, travelling())
    return f"{hint} " if hint.startswith("did") else ""


def second_text(model: Model, pair: str | None, target: str | None, *, pairs: bool = True) -> str | None:
    """The second text of a pair, or the target of an encoder–decoder; raises ConfigError for one given as the other.
    `pairs`: the command has --pair.
    """
    family, two_stacks = model.config.family, model.config.encoder is not None and model.config.decoder is not None
    if pair is not None and two_stacks:
        raise ConfigError(
            "--pair is the second text of a pair",
            got=f"{family}, an encoder–decoder, which reads a source and a target",
            do="give the target with --target",
        )
    if target is not None and not two_stacks:
        raise ConfigError(
            "--target is the target of an encoder–decoder",
            got=f"{family}, which has one stack",
            do="give the second text of a pair with --pair, or leave --target out" if pairs else "leave --target out",
        )
    return pair if target is None else target


def open_quickly(path: str, verb: str, characters: int) -> Model | None:
    """A model for texts of so many characters, answered without torch; None where that cannot be."""
    from glassformer.answering.engines.quick import opened

    model = opened(path, verb, characters)
    return None if model is None else cast("Model", _with_notes(model))  # of which answers need no more


def _with_notes(model: AnyModel) -> AnyModel:
    model.tell = note
    for message in model.notes:
        note(message)
    return model
