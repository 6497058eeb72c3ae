"""Vectors as JSON lines: a record for each text, however many words it has."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, TextIO

from glassformer.cli.terminal.screen import record

if TYPE_CHECKING:
    from glassformer.features.pooling import Reals
    from glassformer.features.vectors import Vectors

# Numbers of a record that are in memory as Python's numbers, which take ten times their room, and words of them.
_NUMBERS, _WORDS = 1 << 20, 4096


class JsonRecords:
    """Writes a record for each text; lists of a text with very many words wait in files until it ends."""

    def __init__(self, handle: TextIO) -> None:
        self._handle, self._lists, self._open = handle, dict[str, TextIO](), ExitStack()

    def __enter__(self) -> JsonRecords:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def add(self, kept: Mapping[str, Any], each: Vectors) -> None:
        """A text, or words of it that more will follow; `kept` is its id, where it has one."""
        if not (each.more or self._lists) and sum(of.size for of in each.vectors.values()) <= _NUMBERS:
            record({**kept, **as_record(each)}, self._handle)
            return
        for start in range(0, len(each.offsets or ()), _WORDS):
            some = slice(start, start + _WORDS)
            self._append("words", _spans(each, some))
            for name, of in each.vectors.items():
                self._append(name, of[some])
        if each.more:
            return
        self._handle.write(json.dumps({**kept, "text": each.text})[:-1])
        for name, file in self._lists.items():
            self._handle.write(f", {json.dumps(name)}: [")
            file.seek(0)
            shutil.copyfileobj(file, self._handle)
            self._handle.write("]")
        self._handle.write("}\n")
        self._open.close()
        self._lists.clear()

    def _append(self, name: str, values: list[dict[str, Any]] | Reals) -> None:
        file = self._lists.get(name)
        if file is None:
            file = self._lists[name] = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  # closed by the stack
            self._open.callback(file.close)
        else:
            file.write(", ")
        file.write(json.dumps(values if isinstance(values, list) else values.tolist())[1:-1])


def as_record(each: Vectors) -> dict[str, Any]:
    words = {} if each.offsets is None else {"words": _spans(each, slice(None))}
    return {"text": each.text, **words, **{name: of.tolist() for name, of in each.vectors.items()}}


def _spans(each: Vectors, some: slice) -> list[dict[str, Any]]:
    return [{"word": each.text[start:end], "start": start, "end": end} for start, end in (each.offsets or ())[some]]
