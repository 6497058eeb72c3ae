from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from glassformer.base.counting import number_of
from glassformer.base.errors import ConfigError
from glassformer.cli.corpus.blocks import corpus_of, write_lines
from glassformer.cli.corpus.on_ray import check_ray, spread_by_ray
from glassformer.cli.terminal import options
from glassformer.cli.terminal.destination import Output, counted, destination, note_continuing, resume_hint, set_aside
from glassformer.cli.terminal.opened import Machine, split_model
from glassformer.cli.terminal.partial import Answers
from glassformer.cli.terminal.readers import SentenceReader, TableReader, Text
from glassformer.cli.terminal.screen import Few, console, escaped, note, note_windows, print_table, record, results
from glassformer.cli.terminal.texts import batches, find_inputs, noting_unknown, records
from glassformer.cli.vectors.embed_fill import Embedding, fill, missing, note_unread, planned
from glassformer.data.readers.lines import stop_unless

if TYPE_CHECKING:
    from rich.console import Console

    from glassformer.api.model import Model
    from glassformer.base.counting import Counting
    from glassformer.data.readers.lines import Skipped
    from glassformer.features.pooling import Reals
    from glassformer.features.vectors import Vectors, VectorsOf

# What a file of numbers is called.
BINARY = (".npy", ".parquet", ".safetensors")

_COMPARE_WORD = "Compare the vectors of this word in the texts, instead of writing vectors.  [default: none]"


def embed(
    text: options.Texts = None,
    model: options.NamedModel = None,
    file: options.TextFiles = None,
    text_column: options.TextColumn = "text",
    strategy: options.Strategies = None,
    pooling: options.Poolings = None,
    per_word: options.Words = False,
    compare_word: Annotated[str | None, typer.Option("--compare-word", metavar="WORD", help=_COMPARE_WORD)] = None,
    out: Annotated[Path | None, options.out_option(", .npy, .safetensors")] = None,
    resume: options.Resume = False,
    rejects: options.Rejects = None,
    json: options.Json = False,
    fast: options.Fast = False,
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    threads: options.Threads = None,
    ray: options.Ray = None,
) -> None:
    """Compute vectors of texts or words from the hidden states of a model. glassformer embed compare ranks strategies
    (choices of layers) and poolings by how well their vectors predict your labels.
    """
    words, word = per_word, compare_word
    if ray is not None:
        check_ray({"ray": ray, "per_word": words, "compare_word": word})
    if word is not None:
        others = {"strategy": strategy, "per_word": words, "resume": resume, "rejects": rejects}
        options.refuse_given(others, "{} is for vectors", got="--compare-word too", do="leave one of them out")
    which, texts = split_model("embed", text, model, files=file)
    table = word is not None and out is not None and out.suffix.lower() == ".parquet"
    if json and not table and out is not None and out.suffix.lower() in BINARY:
        raise ConfigError(
            "--json writes JSON Lines",
            got=f"{out}, which has another suffix",
            do="leave out --json, or choose a .jsonl file",
        )
    machine = Machine(device, threads, fast, engine=engine)
    opened = machine.open(which)
    kind = SentenceReader if words and word is None else TableReader
    reader = kind({"text": text_column}, {}, blank=word is None)
    inputs = find_inputs(texts, file, reader)
    note_poolings(opened, pooling or (opened.pooling,))
    if word is not None:
        with results(out) as handle:
            given = [str(each.values["text"]) for each in islice(records(inputs), COMPARED + 1)]
            if len(given) > COMPARED:
                note(f"the first {COMPARED} texts are compared, and no more")
            given = given[:COMPARED]
            show_word(opened, word, given, pooling or ("mean",), handle, json=json)
        return
    from glassformer.features.embed import vectors_of
    from glassformer.features.store import vectors_file

    maker = vectors_of(opened, strategy or ("last",), pooling or None, words=words)
    maker.streamed = words
    names = [feature.name for feature in maker.features]
    depends = {
        "features": names,
        "mixes": [str(feature.strategy.mix) for feature in maker.features],
        "words": words,
        "rejects": rejects is not None,
        **machine.options,
    }
    output, spread = Output(out, json, resume, rejects), None
    if ray is not None:
        corpus = corpus_of(which, machine, Embedding(maker.features, json), inputs, rejects=rejects is not None)
        spread = spread_by_ray(corpus, output, ray, (*BINARY, ".jsonl"))
    with set_aside(rejects, inputs.order) as bad:
        them = noting_unknown(opened.tokenizer, records(inputs, bad=bad or stop_unless("rejects")))
        if json or out is None:
            with (
                destination(opened, inputs, output, {"verb": "embed", **depends}) as answers,
                counted(out, answers.done, what="texts") as advance,
            ):
                if spread is None:
                    _answer(opened, maker, them, answers, advance, bad, json=json)
                else:
                    write_lines(spread, opened, answers, bad, advance)
        else:
            total, request = planned(opened, inputs, depends, resume=resume)
            with (
                resume_hint(),
                vectors_file(out, names, maker.widths, request, words=words, resume=resume) as written,
            ):
                if resume:
                    note_continuing(out, written.texts, "text", "vectors")
                blank = fill(opened, maker, them, written, out, bad, total=total, spread=spread)
                text_count, rows = written.texts, written.rows
            if blank.count:
                none = "those of the special tokens alone" if maker.special else "zeros"
                what = "they have no words" if words else f"their vectors are {none}"
                note(f"texts that are blank: {blank.count:,}; {what}")
            note_unread(maker)
            of = number_of(text_count, "text")
            of = f"{number_of(rows, 'word')} of {of}" if words else of
            shapes = ", ".join(f"{name} {width}" for name, width in zip(names, maker.widths, strict=True))
            note(f"{out}: {of}; {shapes} float32 numbers each")


def note_poolings(model: Model, poolings: Sequence[str]) -> None:
    from glassformer.features.vectors import note_of

    if said := note_of(model.module, poolings):
        note(said)


def _answer(
    model: Model,
    maker: VectorsOf,
    texts: Iterable[Text],
    answers: Answers,
    advance: Counting,
    bad: Skipped | None,
    *,
    json: bool,
) -> None:
    """Write or show the vectors that are missing."""
    kept: list[Vectors] = []
    long = Few()
    with JsonRecords(answers.handle) as records:
        for found in missing(model, maker, batches(texts), answers.done, advance, bad):
            for one, each in found:
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
            record({**kept, **each.to_dict()}, self._handle)
            return
        for start in range(0, len(each.offsets or ()), _WORDS):
            some = slice(start, start + _WORDS)
            self._append("words", each.spans(some))
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
    heads, shown = ([] if spans is None else ["word"]), []
    for name, of in each.vectors.items():
        for number, row in enumerate(of[some] if spans is not None else of[None]):  # [P, F]
            begins = "  ".join(f"{value:+.3f}" for value in row[:_SHOWN])
            facts = (name, f"{len(row):,}", f"{float((row.astype('float64') ** 2).sum()) ** 0.5:.3f}", begins)
            first = [] if spans is None else [escaped(each.text[slice(*spans[number])])]
            shown.append((*first, *facts))
    print_table(screen, (*heads, "vector", "numbers", "length", "begins with"), shown, slice(-3, None))


def show_cosines(kept: Sequence[Vectors], handle: TextIO) -> None:
    from glassformer.features.embed import cosine

    screen = console(handle)
    for name in kept[0].vectors:
        numbers, rows = map(str, range(1, len(kept) + 1)), []
        for number, one in enumerate(kept, start=1):
            text = " ".join(one.text.split())
            quoted = text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
            cells = [f"{cosine(one.vectors[name], other.vectors[name]):.3f}" for other in kept]
            rows.append((escaped(f"{number} {quoted}"), *cells))
        print_table(screen, (f"cosine, {name}", *numbers), rows, slice(1, None))


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
        parts = text[: place.start], text[place.start : place.end], text[place.end :]
        screen.print("{}  {}[bold]{}[/bold]{}".format(number, *map(escaped, parts)))
    pairs = (f"1 and {number}" for number in range(2, len(found.places) + 1))
    rows = [
        (layer, *("equal" if same else f"{value:.4f}" for value, same in zip(cosines, equal, strict=True)))
        for layer, cosines, equal in zip(found.layers, found.cosines, found.equal, strict=True)
    ]
    print_table(screen, ("layer", *pairs), rows, slice(1, None))
    screen.print(
        "cosine between the word's vector in text 1 and in each other text; word: before positions are added",
        markup=False,
    )
