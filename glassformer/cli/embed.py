"""glassformer embed [MODEL] [TEXT ...]."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from glassformer.cli.destination import counted, request_of, set_aside
from glassformer.cli.layout import print_table
from glassformer.cli.opened import open_model, split_model
from glassformer.cli.options import (
    Device,
    Fast,
    Json,
    NamedModel,
    Out,
    Poolings,
    Rejects,
    Resume,
    Strategies,
    Texts,
    Threads,
)
from glassformer.cli.readers import Text, reader_of
from glassformer.cli.screen import Few, console, escaped, note, note_windows, plain_table, record, results
from glassformer.cli.screen import refuse_out_over_input as refuse_over
from glassformer.cli.texts import batches, records
from glassformer.data.lines import stop_unless
from glassformer.errors import ConfigError, DataError

if TYPE_CHECKING:
    from glassformer.artefact.embed import SameWord
    from glassformer.artefact.model import Model
    from glassformer.data.lines import OnBad
    from glassformer.features.vectors import Vectors, VectorsOf

# Texts that are made into vectors together, and the most characters of them: always the same ones, so that a command
# that was stopped goes on with the very numbers that it would have made.
_TOGETHER, _CHARACTERS = 4096, 1 << 23
# Numbers of a vector on the screen, the characters of a text there, and the texts whose cosines are shown.
_SHOWN, _QUOTED, _COMPARED = 5, 34, 8


def embed(
    text: Texts = None,
    model: NamedModel = None,
    file: Annotated[
        list[str] | None,
        typer.Option(
            "--file",
            "-f",
            help="A file of texts, one a line, or a .jsonl, .csv, .tsv, .parquet, with --words also .conll, .conllu; - "
            "and pipes too: texts or JSON (repeatable).  [default: none]",
        ),
    ] = None,
    column: Annotated[str, typer.Option("--column", "--text", help="Column of a table with the text.")] = "text",
    strategy: Strategies = None,
    pooling: Poolings = None,
    words: Annotated[bool, typer.Option("--words", help="A vector for each word, instead of each text.")] = False,
    word: Annotated[
        str | None,
        typer.Option("--word", help="Compare this word wherever it stands in the texts, by layer.  [default: none]"),
    ] = None,
    out: Out = None,
    resume: Resume = False,
    rejects: Rejects = None,
    json: Json = False,
    fast: Fast = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Turn texts or words into vectors, the hidden states of a model: to .npy, .parquet, .safetensors or JSON lines.

    embed compare ranks the ways to make them on labelled data of yours: glassformer embed compare --help.
    """
    which, texts = split_model("embed", text, model, files=file)
    opened = open_model(which, device=device, fast=fast, threads=threads)
    columns = {"text": column}
    refuse_over(out, file, text=column)
    told_of(opened, pooling or ("mean",))
    if word is not None:
        with results(out) as handle:
            reader = reader_of(columns, {}, blank=False)
            given = [str(each.values["text"]) for each in islice(records(texts, file, reader), _COMPARED)]
            _show_word(opened, word, given, pooling or ("mean",), handle, json=json)
        return
    from glassformer.artefact.embed import vectors_of

    maker = vectors_of(opened, strategy or ("last",), pooling or ("mean",), words=words)
    reader = reader_of(columns, {}, blank=True, words=words)

    def read(bad: OnBad) -> Iterator[Text]:
        return records(texts, file, reader, bad=bad)

    with set_aside(rejects, out, file, text=column) as bad:
        usable = _usable(maker, read(bad or stop_unless("rejects")), bad)
        if json or out is None:
            if resume:
                raise DataError("--resume goes on with vectors in a file", got="--json or no --out", do="leave it out")
            with results(out) as handle:
                _answer(opened, maker, usable, handle, json=json)
            return
        total = None if _once(texts, file) else sum(1 for _ in read(_ignore))
        options = {
            "columns": columns,
            "features": [feature.name for feature in maker.features],
            "mixes": [str(feature.strategy.mix) for feature in maker.features],
            "words": words,
            "rejects": bool(rejects),
            "fast": fast,
            "device": device,
            "threads": threads,
        }
        request = {} if _once(texts, file) else request_of(opened, texts, file or (), options)
        if resume and not request:
            raise DataError("--resume needs files that can be read again", got="standard input or a pipe")
        try:
            _write(opened, maker, usable, out, request, total, resume=resume)
        except KeyboardInterrupt as stopped:
            if request and getattr(stopped, "__notes__", []):
                again = [each for each in sys.argv[1:] if each != "--resume"]
                stopped.add_note(f"go on with: {shlex.join(['glassformer', *again, '--resume'])}")
            raise


def told_of(model: Model, poolings: Sequence[str]) -> None:
    """Note what a user should know of the features of this model."""
    from glassformer.features.vectors import note_of

    if said := note_of(model.module, poolings):
        note(said)


def _once(texts: Sequence[str], files: Sequence[str] | None) -> bool:
    """Whether the input can be read only once."""
    from glassformer.paths import is_stream

    return "-" in (*texts, *(files or ())) or any(map(is_stream, files or ()))


def _ignore(error: DataError) -> None:
    """For the pass that only counts."""


def _usable(maker: VectorsOf, texts: Iterable[Text], bad: Callable[[DataError], object] | None) -> Iterator[Text]:
    """The records that can be made into vectors; others go to `bad`, or stop the command."""
    for each in texts:
        try:
            maker.example(each.values, each.where)
        except DataError as error:
            if bad is None:
                error.left_out_by = "rejects" if each.where else ""
                raise
            bad(error.about(each.where, {**each.kept, **each.values} if each.own is None else each.own))
        else:
            yield each


def _made(model: Model, maker: VectorsOf, texts: Sequence[Text]) -> Iterator[Vectors]:
    from glassformer.artefact.embed import embed as make

    return make(model, maker, ((each.values, each.where) for each in texts))


# ------------------------------------------------------------------- to files


def _write(
    model: Model,
    maker: VectorsOf,
    texts: Iterator[Text],
    out: Any,
    request: dict[str, Any],
    total: int | None,
    *,
    resume: bool,
) -> None:
    from glassformer.features.store import vectors_file

    names, long = [feature.name for feature in maker.features], Few()
    blank = 0
    with vectors_file(out, names, maker.widths, request, words=maker.words, resume=resume) as file:
        if resume:
            note(f"going on after {file.texts:,} texts" if file.texts else f"{out} has no unfinished vectors")
        skipped = sum(1 for _ in islice(texts, file.texts))
        if skipped < file.texts:
            raise DataError(f"{file.texts:,} texts are needed to go on after them", got=f"{skipped:,}")
        with counted(out, file.texts, what="texts", total=total) as advance:
            for some in _chunks(texts):
                found = list(_made(model, maker, some))
                for each in found:
                    note_windows(each.text, each.windows, model.row_tokens, long)
                    blank += not each.text.strip()
                file.add(found, [one.kept.get("id") for one in some])
                advance(len(some))
        texts_told, rows = file.texts, file.rows
    long.rest()
    if blank:
        note(f"{blank:,} texts are blank: their vectors are those of the special tokens alone")
    of = f"{rows:,} words of {texts_told:,} texts" if maker.words else f"{texts_told:,} texts"
    shapes = ", ".join(f"{name} {width}" for name, width in zip(names, maker.widths, strict=True))
    note(f"{out}: {of}; {shapes} float32 numbers each")


def _chunks(texts: Iterator[Text]) -> Iterator[list[Text]]:
    some: list[Text] = []
    characters = 0
    for each in texts:
        some.append(each)
        characters += sum(len(str(value)) for value in each.values.values())
        if len(some) == _TOGETHER or characters >= _CHARACTERS:
            yield some
            some, characters = [], 0
    if some:
        yield some


# ------------------------------------------------------------------- to the screen


def _answer(model: Model, maker: VectorsOf, texts: Iterator[Text], handle: TextIO, *, json: bool) -> None:
    kept: list[Vectors] = []
    count, long = 0, Few()
    for some in batches(texts):
        for one, each in zip(some, _made(model, maker, some), strict=True):
            note_windows(each.text, each.windows, model.row_tokens, long)
            count += 1
            if json:
                record({**one.kept, **as_record(each)}, handle)
            else:
                _show(each, handle)
                kept = [*kept, each][: _COMPARED + 1]
        handle.flush()
    long.rest()
    if not json and not maker.words and 2 <= len(kept) <= _COMPARED:
        _show_cosines(kept, handle)


def as_record(each: Vectors) -> dict[str, Any]:
    """The vectors of a text as JSON: `text`, of words `words` with their characters, and a list for each feature."""
    said = {"text": each.text}
    if each.offsets is not None:
        spans = [{"word": each.text[start:end], "start": start, "end": end} for start, end in each.offsets]
        return {**said, "words": spans, **{name: of.tolist() for name, of in each.vectors.items()}}
    return {**said, **{name: of.tolist() for name, of in each.vectors.items()}}


def _show(each: Vectors, handle: TextIO) -> None:
    screen = console(handle)
    screen.print(f"[dim]{escaped(each.text)}[/dim]")
    spans = each.offsets
    table = plain_table(*(["word"] if spans is not None else []), "vector", "numbers", "length", "begins with")
    for column in table.columns[-3:]:
        column.justify = "right"
    for name, of in each.vectors.items():
        rows = of if spans is not None else of[None]  # [P, F]
        for number, row in enumerate(rows):
            begins = "  ".join(f"{value:+.3f}" for value in row[:_SHOWN])
            facts = (name, f"{len(row):,}", f"{float((row.astype('float64') ** 2).sum()) ** 0.5:.3f}", begins)
            first = [] if spans is None else [escaped(each.text[slice(*spans[number])])]
            table.add_row(*first, *facts)
    print_table(screen, table)


def _show_cosines(kept: Sequence[Vectors], handle: TextIO) -> None:
    """The cosine of each two texts."""
    from glassformer.artefact.embed import cosine

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


def _show_word(
    model: Model, word: str, texts: Sequence[str], poolings: Sequence[str], handle: TextIO, *, json: bool
) -> None:
    from glassformer.artefact.embed import same_word

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
        "cosine of the word's vector in 1 with that in each other place; word: before positions are added", markup=False
    )


def word_table(found: SameWord) -> Any:
    """A row for each layer, a column for each place after the first."""
    table = plain_table("layer", *(f"1 and {number}" for number in range(2, len(found.places) + 1)))
    for column in table.columns[1:]:
        column.justify = "right"
    for layer, cosines, equal in zip(found.layers, found.cosines, found.equal, strict=True):
        cells = ["equal" if same else f"{value:.4f}" for value, same in zip(cosines, equal, strict=True)]
        table.add_row(layer, *cells)
    return table
