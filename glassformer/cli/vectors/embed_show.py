"""Vectors on the screen, as numbers and cosines, and as JSON lines."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console

from glassformer.base.errors import ConfigError
from glassformer.cli.terminal.layout import print_table
from glassformer.cli.terminal.screen import console, escaped, plain_table, record

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.features.embed import SameWord
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


COMPARED = 8
"""The most texts whose cosines are shown."""
# Numbers of a vector on the screen, the characters of a text there, and the words of one table.
_SHOWN, _QUOTED, _TOGETHER = 5, 34, 1000


def show_vectors(each: Vectors, handle: TextIO) -> None:
    """A row for each vector; of the words of a long text there are several tables."""
    screen = console(handle)
    screen.print(f"[dim]{escaped(each.text)}[/dim]")
    spans = each.offsets
    for start in range(0, 1 if spans is None else len(spans), _TOGETHER):
        _show_some(each, slice(start, start + _TOGETHER), screen)


def _show_some(each: Vectors, some: slice, screen: Console) -> None:
    spans = None if each.offsets is None else each.offsets[some]
    table = plain_table(
        *(["word"] if spans is not None else []), "vector", "numbers", "length", "begins with", right=slice(-3, None)
    )
    for name, of in each.vectors.items():
        rows = of[some] if spans is not None else of[None]  # [P, F]
        for number, row in enumerate(rows):
            begins = "  ".join(f"{value:+.3f}" for value in row[:_SHOWN])
            facts = (name, f"{len(row):,}", f"{float((row.astype('float64') ** 2).sum()) ** 0.5:.3f}", begins)
            first = [] if spans is None else [escaped(each.text[slice(*spans[number])])]
            table.add_row(*first, *facts)
    print_table(screen, table)


def show_cosines(kept: Sequence[Vectors], handle: TextIO) -> None:
    from glassformer.features.embed import cosine

    screen = console(handle)
    for name in kept[0].vectors:
        table = plain_table(f"cosine, {name}", *(str(number) for number in range(1, len(kept) + 1)))
        for column in table.columns[1:]:
            column.justify = "right"
        for number, one in enumerate(kept, start=1):
            text = " ".join(one.text.split())
            quoted = text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
            cells = [f"{cosine(one.vectors[name], other.vectors[name]):.3f}" for other in kept]
            table.add_row(escaped(f"{number} {quoted}"), *cells)
        print_table(screen, table)


def show_word(
    model: Model, word: str, texts: Sequence[str], poolings: Sequence[str], handle: TextIO, *, json: bool
) -> None:
    from glassformer.features.embed import same_word

    if len(poolings) > 1:
        raise ConfigError("a word is compared with one pooling of its tokens", got=", ".join(poolings))
    found = same_word(model, word, texts, pooling=poolings[0])
    if json:
        for layer, cosines, equal in zip(found.layers, found.cosines, found.equal, strict=True):
            record({"layer": layer, "cosines": list(cosines), "equal": list(equal)}, handle)
        return
    screen = console(handle)
    for number, place in enumerate(found.places, start=1):
        text = texts[place.text]
        before, it, after = (
            escaped(text[slice(*of)]) for of in ((0, place.start), (place.start, place.end), (place.end, None))
        )
        around = f"{before}[bold]{it}[/bold]{after}"
        screen.print(f"{number}  {around}")
    print_table(screen, word_table(found))
    screen.print(
        "cosine of the word's vector at place 1 with that at each other; word: before positions are added", markup=False
    )


def word_table(found: SameWord) -> Any:
    table = plain_table("layer", *(f"1 and {number}" for number in range(2, len(found.places) + 1)))
    for column in table.columns[1:]:
        column.justify = "right"
    for layer, cosines, equal in zip(found.layers, found.cosines, found.equal, strict=True):
        cells = ["equal" if same else f"{value:.4f}" for value, same in zip(cosines, equal, strict=True)]
        table.add_row(layer, *cells)
    return table
