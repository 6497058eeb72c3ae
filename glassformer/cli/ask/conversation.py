from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import DataError, GlassformerError, from_system
from glassformer.base.json_text import parse_json
from glassformer.base.outputs import output_file
from glassformer.base.paths import check_path, refuse_endless
from glassformer.cli.ask.show import on_screen
from glassformer.cli.terminal.interrupts import goes_on
from glassformer.cli.terminal.screen import note
from glassformer.data.readers.read import in_a_line
from glassformer.decode.options import WritingOptions
from glassformer.tasks import verb_where

if TYPE_CHECKING:
    from glassformer.api.model import Model

HELP = "/reset starts over, /save FILE saves and /load FILE loads a conversation, /quit or the end of the input exits"
_ASKED, _ANSWERED = "you: ", "model: "


def converse(opened: Model, options: WritingOptions, handle: TextIO, *, kept: Path | None = None) -> None:
    """Reply to each line of standard input, given the turns before it; a slash begins a command. Ctrl-C stops a reply,
    and between two turns the conversation. `kept` is a file of the turns, old and new. Raises DataError for a file that
    holds no conversation.
    """
    typed = sys.stdin.isatty()
    turns: list[str] = []
    if kept is not None and kept.exists():
        turns = load_turns(kept)
        note(f"{len(turns)} turns from {kept}")
    if typed:
        note(f"a conversation; {HELP}")
    while True:
        try:
            line = _line(typed)
        except DataError as error:
            if not typed:
                raise
            note(str(error))
            continue
        if line is None:
            return
        if not line:
            continue
        try:
            if line.startswith("/"):
                found = _command(line, turns, kept)
                if found is None:
                    return
                turns = found
                continue
            reply, stopped = _reply(opened, [*turns, line], options, handle, before=_ANSWERED if typed else "")
        except GlassformerError as error:
            if not line.startswith("/") and not (typed and isinstance(error, DataError)):
                raise
            note(str(error))
            continue
        if reply.strip():
            turns = [*turns, line, reply]
            if kept is not None:
                save_turns(kept, turns)
        if stopped and not typed:
            raise KeyboardInterrupt
        if not stopped and not reply.strip():
            note("the reply is empty")
        if stopped:
            note("stopped; the text so far is kept. /save FILE saves the conversation, Ctrl-C again exits")


def _line(typed: bool) -> str | None:
    if typed:
        sys.stderr.write(_ASKED)
        sys.stderr.flush()
    try:
        line = sys.stdin.readline()
    except UnicodeDecodeError as error:
        raise DataError("a turn must be UTF-8 text", got=f"the byte 0x{error.object[error.start]:02x}") from None
    except OSError as error:
        raise DataError("cannot read standard input", got=error.strerror or str(error)) from None
    return in_a_line(line) if line else None


def _reply(
    opened: Model, turns: list[str], options: WritingOptions, handle: TextIO, *, before: str
) -> tuple[str, bool]:
    """Write the reply word by word; the reply, or its beginning, and whether it was stopped."""
    from glassformer.answering.answers import stream_answer  # not at the top: --help must not import torch

    parts: list[str] = []
    lines, begun = handle.isatty(), False
    try:
        words = stream_answer(opened, verb_where(lambda entry: entry.turns), {"turns": turns}, "", options)
        while True:
            part = next(words)
            handle.write(f"{'' if begun else before}{on_screen(part, handle, lines=lines)}")
            begun = True
            parts.append(part)
            handle.flush()
    except StopIteration as end:
        handle.write("\n" if begun else f"{before}\n")
        handle.flush()
        for sentence in end.value.notes:
            note(sentence)
        return str(end.value.reply), False
    except KeyboardInterrupt:
        goes_on()
        if begun:
            handle.write("\n")
            handle.flush()
        return "".join(parts), True


def _command(line: str, turns: list[str], kept: Path | None) -> list[str] | None:
    """What a command leaves of the turns; None to leave. Raises DataError for what cannot be done."""
    name, _, file = (part.strip() for part in line.partition(" "))
    if len(file) > 2 and file[0] == file[-1] and file[0] in "'\"":  # nobody expects the quotes in the name
        file = file[1:-1]
    if name == "/quit":
        return None
    if name == "/reset":
        note(
            "a new conversation"
            + (f"; with the next reply it replaces the old one in {kept}" if turns and kept else "")
        )
        return []
    if name in ("/save", "/load") and not file:
        raise DataError(f"{name} needs a file", got="none", do=f"{name} conversation.json")
    if name == "/save":
        if os.path.lexists(file):
            load_turns(Path(file))  # another file is not replaced by a conversation
        save_turns(Path(file), turns)
        note(f"{len(turns)} turns in {file}")
        return turns
    if name == "/load":
        found = load_turns(Path(file))
        note(f"{len(found)} turns of {file}")
        return found
    raise DataError("a command of the conversation is needed", got=name, do=HELP)


def save_turns(path: Path, turns: list[str]) -> None:
    """Write a conversation, whole or not at all; raises DataError where it cannot be written."""
    file = output_file(path, DataError, overwrite=True)
    with from_system(DataError, f"cannot write {path}"), atomic_write(file) as draft:
        draft.write_text(json.dumps({"turns": turns}, ensure_ascii=False) + "\n", encoding="utf-8")


def load_turns(path: Path) -> list[str]:
    check_path(path, DataError)
    refuse_endless(path, DataError)
    try:
        with from_system(DataError, f"cannot read {path}"):
            given = parse_json(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        got = f"text that is not JSON from line {error.lineno} on"
    except ValueError as error:
        got = "text that is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
    else:
        turns = given.get("turns") if isinstance(given, dict) else None
        got = _no_turns(given, turns)
        if not got:
            return list(turns or ())
    wanted = f'{path} must hold a conversation as /save writes it, turns and replies: {{"turns": ["Hi", "Hello"]}}'
    raise DataError(wanted, got=got, do="choose another file")


def _no_turns(given: Any, turns: Any) -> str:
    """Why these are no turns of a conversation, or what is given holds none; "" where they are."""
    if not isinstance(given, dict):
        return f"a {'list' if isinstance(given, list) else 'single value'}"
    if "turns" not in given:
        named = ", ".join(repr(key[:20]) for key in list(given)[:4])
        return f"an object with {named or 'nothing in it'}{', …' if len(given) > 4 else ''}"
    if not isinstance(turns, list):
        return f"turns = {repr(turns)[:40]}"
    for number, turn in enumerate(turns, start=1):
        if not isinstance(turn, str) or not turn.strip():
            return f"turn {number} is {repr(turn)[:40]}"
    return f"{len(turns)} turns: the last one has no reply" if len(turns) % 2 else ""
