from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import ConfigError, DataError
from glassformer.cli.terminal import options
from glassformer.cli.terminal.destination import (
    Answers,
    Output,
    counted,
    destination,
    request_of,
    set_aside,
    told_to_go_on,
)
from glassformer.cli.terminal.inputs import find_inputs
from glassformer.cli.terminal.opened import Machine, split_model
from glassformer.cli.terminal.readers import Text, reader_of
from glassformer.cli.terminal.screen import Few, note, note_windows, results
from glassformer.cli.terminal.texts import batches, records
from glassformer.cli.vectors.embed_fill import at_least_one, fill, made, note_unread, skip, usable
from glassformer.cli.vectors.embed_show import COMPARED, JsonRecords, show_cosines, show_vectors, show_word
from glassformer.data.readers.lines import stop_unless

# What a file of numbers is called.
BINARY = (".npy", ".parquet", ".safetensors")

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.data.readers.lines import OnBad
    from glassformer.features.vectors import Vectors, VectorsOf


def embed(
    text: options.Texts = None,
    model: options.NamedModel = None,
    file: options.TextFiles = None,
    text_column: options.TextColumn = "text",
    strategy: options.Strategies = None,
    pooling: options.Poolings = None,
    words: options.Words = False,
    word: options.Word = None,
    out: options.Out = None,
    resume: options.Resume = False,
    rejects: options.Rejects = None,
    json: options.Json = False,
    fast: options.Fast = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Turn texts or words into vectors, the hidden states of a model, in .npy, .parquet, .safetensors or JSON lines.
    embed compare ranks the ways to make them on your labelled data: glassformer embed compare --help.
    """
    which, texts = split_model("embed", text, model, files=file)
    table = word is not None and out is not None and out.suffix.lower() == ".parquet"
    if json and not table and out is not None and out.suffix.lower() in BINARY:
        raise ConfigError(
            "--json writes JSON lines",
            got=f"{out}, which has another suffix",
            do="leave out --json, or choose a .jsonl file",
        )
    machine = Machine(device, threads, fast)
    opened = machine.open(which)
    reader = reader_of({"text": text_column}, {}, blank=word is None, words=words and word is None)
    inputs = find_inputs(texts, file, reader)
    told_of(opened, pooling or ("mean",))
    if word is not None:
        with results(out) as handle:
            given = [str(each.values["text"]) for each in islice(records(inputs), COMPARED)]
            show_word(opened, word, given, pooling or ("mean",), handle, json=json)
        return
    from glassformer.features.embed import vectors_of

    maker = vectors_of(opened, strategy or ("last",), pooling or ("mean",), words=words)
    maker.streamed = words
    depends = {
        "features": [feature.name for feature in maker.features],
        "mixes": [str(feature.strategy.mix) for feature in maker.features],
        "words": words,
        "rejects": rejects is not None,
        **machine.options,
    }

    def read(bad: OnBad, tell: Callable[[str], None] = note) -> Iterator[Text]:
        return records(inputs, bad=bad, tell=tell)

    with set_aside(rejects, inputs.order) as bad:
        them = at_least_one(usable(maker, read(bad or stop_unless("rejects")), bad), bad)
        if json or out is None:
            output = Output(out, json, resume, rejects)
            with destination(opened, inputs, output, {"verb": "embed", **depends}) as answers:
                _answer(opened, maker, them, answers, out, json=json)
        else:
            if resume and inputs.once:
                raise DataError("--resume needs files that can be read again", got="standard input or a pipe")
            total = None if inputs.once else sum(1 for _ in read(_ignore, _ignore))
            request = None if inputs.once else request_of(opened, inputs, depends)
            with told_to_go_on():
                _write(opened, maker, them, out, request, total, resume=resume)


def told_of(model: Model, poolings: Sequence[str]) -> None:
    from glassformer.features.vectors import note_of

    if said := note_of(model.module, poolings):
        note(said)


def _ignore(said: object) -> None:
    """For the pass that only counts."""


def _write(
    model: Model,
    maker: VectorsOf,
    texts: Iterator[Text],
    out: Path,
    request: dict[str, Any] | None,
    total: int | None,
    *,
    resume: bool,
) -> None:
    from glassformer.features.store import vectors_file

    names, blank = [feature.name for feature in maker.features], 0

    def count(text: Text) -> None:
        nonlocal blank
        blank += 1

    with vectors_file(out, names, maker.widths, request, words=maker.words, resume=resume) as file:
        if resume:
            note(f"continuing after {file.texts:,} texts" if file.texts else f"{out} has no unfinished vectors")
        skip(texts, file.texts)
        with counted(out, file.texts, what="texts", total=total) as advance:
            fill(model, maker, texts, file, advance, count)
        texts_told, rows = file.texts, file.rows
    if blank:
        what = "they have no words" if maker.words else "their vectors are those of the special tokens alone"
        note(f"texts that are blank: {blank:,}; {what}")
    note_unread(maker)
    of = f"{rows:,} words of {texts_told:,} texts" if maker.words else f"{texts_told:,} texts"
    shapes = ", ".join(f"{name} {width}" for name, width in zip(names, maker.widths, strict=True))
    note(f"{out}: {of}; {shapes} float32 numbers each")


def _answer(
    model: Model, maker: VectorsOf, texts: Iterator[Text], answers: Answers, out: Path | None, *, json: bool
) -> None:
    """Write the vectors that are missing. A batch is computed whole: in another batch vectors may round otherwise."""
    kept: list[Vectors] = []
    number, long = 0, Few()
    with counted(out, answers.done, what="texts") as advance, JsonRecords(answers.handle) as records:
        for some in batches(texts):
            if number + len(some) <= answers.done:
                number += len(some)
                continue
            for one, each in made(model, maker, some, advance):
                there = number < answers.done
                number += not each.more
                if there:
                    continue
                if json:
                    records.add(one.kept, each)
                else:
                    show_vectors(each, answers.handle)
                    kept = [*kept, each][: COMPARED + 1]
                if not each.more:
                    note_windows(each.text, each.windows, model.row_tokens, long)
                    answers.whole()
                    advance(1)
            answers.handle.flush()
        long.rest()
        note_unread(maker)
        if not json and not maker.words and 2 <= len(kept) <= COMPARED:
            show_cosines(kept, answers.handle)
