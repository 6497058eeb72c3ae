"""glassformer explain MODEL "She [MASK] [MASK] summer better"."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.opened import open_model, split_model
from glassformer.cli.options import Device, Json, NamedModel, PairOrTarget, Texts, Threads
from glassformer.cli.screen import note, record
from glassformer.cli.texts import texts_to_explain
from glassformer.errors import UnknownNameError

if TYPE_CHECKING:
    from glassformer.look.trace import Trace


def explain(
    text: Texts = None,
    model: NamedModel = None,
    pair: PairOrTarget = None,
    cell: Annotated[
        str | None,
        typer.Option(
            "--cell", help="Trace one number: encoder.blocks.0.self_attention.weights[head=1,query=likes,key=She]."
        ),
    ] = None,
    word: Annotated[int, typer.Option("--word", min=0, help="Position of the word whose row is computed, from 0.")] = 0,
    notes: Annotated[bool, typer.Option("--notes", help="Add where the source documents are imprecise.")] = False,
    json: Json = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Show all steps from words to guesses, with every number of one word's row; or trace one number back to its
    inputs.
    """
    which, texts = split_model("explain", text, model)
    opened = open_model(which, device=device, threads=threads)
    for each in texts_to_explain(texts):
        trace = opened.trace(each, pair)
        if cell is not None:
            _follow(trace, cell, json=json)
        else:
            _walk(trace, word, notes=notes, json=json)
        note(str(trace.honesty))


def _walk(trace: Trace, word: int, *, notes: bool, json: bool) -> None:
    from glassformer.look.explanation import Limits
    from glassformer.look.render import write
    from glassformer.look.walkthrough import no_notes, walkthrough

    tokens = trace.words.sentence("inputs", 0)
    if word >= len(tokens):
        raise UnknownNameError(f"--word counts from 0 to {len(tokens) - 1}", got=str(word), do=f"words: {list(tokens)}")
    limits = Limits.fitting(trace.config)
    steps = walkthrough(trace, word=word, notes=_notes if notes else no_notes, limits=limits)
    if json:
        for step in steps:
            record(_plain(step), sys.stdout)
    else:
        _print(write(steps, limits))


def _follow(trace: Trace, cell: str, *, json: bool) -> None:
    from glassformer.look.explanation import explained_lines
    from glassformer.look.follow import follow
    from glassformer.look.mix import shares
    from glassformer.look.render import share_lines

    for explanation in follow(trace, cell):
        if json:
            record(_plain(explanation), sys.stdout)
            continue
        _print(explained_lines(explanation))
        if explanation.name.endswith(".mixed"):
            attention = explanation.name.rpartition(".")[0]
            found = shares(trace, attention, query=explanation.cell["query"], sentence=explanation.cell["sentence"])
            _print(["  each word's share:", *(f"    {line}" for line in share_lines(found))])


def _notes(name: str) -> tuple[tuple[str, str], ...]:
    """The corrections to the source documents that belong to a tensor."""
    from glassformer.demo.notes import notes_about

    return tuple((note.number, note.sentence) for note in notes_about(name))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _plain(value: object) -> Any:
    """Dataclasses as values that JSON has."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
