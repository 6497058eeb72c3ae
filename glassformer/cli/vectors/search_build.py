from pathlib import Path
from typing import Annotated, Literal

import typer

from glassformer.base.counting import number_of
from glassformer.base.errors import ConfigError, DataError
from glassformer.cli.terminal import options
from glassformer.cli.terminal.destination import counted, note_continuing, resume_hint, set_aside
from glassformer.cli.terminal.opened import Machine, split_model
from glassformer.cli.terminal.readers import TableReader
from glassformer.cli.terminal.screen import note
from glassformer.cli.terminal.texts import find_inputs, records
from glassformer.cli.vectors.embed import note_poolings
from glassformer.cli.vectors.embed_fill import NAMED, fill, planned
from glassformer.data.readers.lines import stop_unless

_FILES = f"Files with one text per line (see --documents), or tables with one record per row: {options.TABLES}."

_PER = (
    "Compute one vector for each sentence or for each text. With sentence, a text is as near to a question as its "
    "nearest sentence.  [default: sentence; text with --pooling first or last-token]"
)

_DOCUMENTS = "What ends a text of a plain file (.txt, .md): the end of a line, a blank line, or the end of the file."


def search_build(
    files: Annotated[list[str] | None, typer.Argument(metavar="[MODEL] FILES", help=_FILES, show_default=False)] = None,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", file_okay=False, help=f"{options.OUT}  It must be a new folder.")],
    model: options.NamedModel = None,
    text_column: options.TextColumn = "text",
    keep: options.Keep = None,
    documents: Annotated[Literal["line", "blank-line", "file"], typer.Option("--documents", help=_DOCUMENTS)] = "line",
    strategy: options.OneStrategy = None,
    pooling: options.OnePooling = None,
    per: Annotated[Literal["sentence", "text"] | None, typer.Option("--per", help=_PER)] = None,
    resume: options.Resume = False,
    rejects: options.Rejects = None,
    fast: options.Fast = False,
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Build a search index from the vectors and words of texts. The index records which model computed the vectors."""
    which, paths = split_model(
        "search build", files, model, is_data=lambda path: Path(path).exists(), data="a file of texts"
    )
    if not paths:
        raise DataError("a file with texts is needed", got="none", do="glassformer search build --help")
    layers, pooled = _one("strategy", strategy, "last"), _one("pooling", pooling, "mean")
    from glassformer.bundled.travelling import travels
    from glassformer.features.search.building import building, per_of

    per = per_of(per, pooled)
    machine = Machine(device, threads, fast, engine=engine)
    opened = machine.open(which)
    note_poolings(opened, (pooled,))
    inputs = find_inputs(
        (), paths, TableReader({"text": text_column}, blank=True, documents=documents, keep=tuple(keep or ()))
    )
    depends = {
        "strategy": layers,
        "pooling": pooled,
        "per": per,
        "documents": documents,
        "keep": list(keep or ()),
        "rejects": rejects is not None,
        **machine.options,
    }
    named = which if travels(which) or which.startswith("hub:") else str(Path(which).resolve())
    with set_aside(rejects, inputs.order) as bad:
        total, request = planned(opened, inputs, depends, resume=resume)
        with (
            resume_hint(),
            building(
                out, opened, strategy=layers, pooling=pooled, per=per, named=named, request=request, resume=resume,
                counting=lambda total: counted(out, 0, what="texts whose words are counted", total=total),
            ) as begun,
        ):  # fmt: skip
            file = begun.file
            begun.maker.streamed = per == "sentence"
            if resume:
                note_continuing(out, file.texts, "text", "index")
            read = records(inputs, bad=bad or stop_unless("rejects"))
            if len(inputs.files) > 1:  # a row number would not say in which file a text is
                read = (one if "id" in one.kept else one._replace(kept={"id": one.where, **one.kept}) for one in read)
            blank = fill(opened, begun.maker, read, file, out, bad, total=total)
            count, vectors = file.texts, file.rows
    if blank.count:
        from glassformer.data.readers.table_format import table_kind

        more = f" and {blank.count - NAMED:,} more" if blank.count > NAMED else ""
        note(f"never found: {number_of(blank.count, 'text')} without words: {'; '.join(blank.first)}{more}")
        if documents == "line" and any(table_kind(file) is None for file in inputs.files):
            note("if blank lines separate paragraphs, --documents blank-line makes a text of each")
    parts = f" with {number_of(vectors, 'sentence')}" if per == "sentence" else ""
    note(f"{out}: an index of {number_of(count, 'text')}{parts}, made by {which}")


def _one(what: str, asked: list[str] | None, default: str) -> str:
    if asked is not None and len(asked) > 1:
        raise ConfigError(f"an index is made with one {what}", got=", ".join(asked), do="build an index for each")
    return asked[0] if asked else default
