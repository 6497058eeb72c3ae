from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from glassformer.base.counting import number_of
from glassformer.base.errors import ConfigError, DataError
from glassformer.cli.terminal import options
from glassformer.cli.terminal.destination import counted, note_continuing, resume_hint, set_aside
from glassformer.cli.terminal.opened import Machine, split_model
from glassformer.cli.terminal.readers import TableReader
from glassformer.cli.terminal.screen import note
from glassformer.cli.terminal.texts import find_inputs, noting_unknown, records
from glassformer.cli.vectors.embed import note_poolings
from glassformer.cli.vectors.embed_fill import NAMED, fill, planned
from glassformer.data.readers.lines import stop_unless

if TYPE_CHECKING:
    from glassformer.features.search.building import IndexFacts

_FILES = f"Files with one text per line (see --documents), or tables with one record per row: {options.TABLES}."

_PER = (
    "Compute one vector for each sentence or for each text. With sentence, a text is as near to a question as its "
    "nearest sentence.  [default: sentence; text with --pooling first or last-token]"
)

_DOCUMENTS = "What ends a text of a plain file (.txt, .md): the end of a line, a blank line, or the end of the file."


_EXTEND = (
    "Index whose texts the new one begins with. Their vectors are copied; those of FILES are made in the same way, by "
    "the same model, which need not be named.  [default: none]"
)


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
    extend: Annotated[Path | None, typer.Option("--extend", metavar="INDEX", file_okay=False, help=_EXTEND)] = None,
    resume: options.Resume = False,
    rejects: options.Rejects = None,
    fast: options.Fast = False,
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Build a search index from the vectors and words of texts. The index records which model computed the vectors."""
    from glassformer.bundled.travelling import travels
    from glassformer.features.search.building import building
    from glassformer.features.search.index import SearchIndex
    from glassformer.features.search.reading import read_facts

    facts = None if extend is None else read_facts(extend)
    asked = {"strategy": _one("strategy", strategy), "pooling": _one("pooling", pooling), "per": per}
    if facts is not None and model is None and files and Path(files[0]).is_file():
        model = _named(facts)
    which, paths = split_model(
        "search build", files, model, is_data=lambda path: Path(path).exists(), data="a file of texts"
    )
    if not paths:
        raise DataError("a file with texts is needed", got="none", do="glassformer search build --help")
    machine = Machine(device, threads, fast, engine=engine)
    opened = machine.open(which)
    made = _made(asked, opened.pooling, facts)
    old = None if extend is None else SearchIndex.open(extend, opened)
    before = 0 if old is None else len(old)
    note_poolings(opened, (made.pooling,))
    inputs = find_inputs(
        (), paths, TableReader({"text": text_column}, blank=True, documents=documents, keep=tuple(keep or ()))
    )
    depends = {
        **made._asdict(),
        "extend": None if facts is None else facts.checksums,
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
                out, opened, strategy=made.strategy, pooling=made.pooling, per=made.per, extends=old, named=named,
                request=request, resume=resume,
                counting=lambda total: counted(out, 0, what="texts whose words are counted", total=total),
            ) as begun,
        ):  # fmt: skip
            file = begun.file
            begun.maker.streamed = made.per == "sentence"
            if resume:
                note_continuing(out, file.texts, "text", "index")
            read = noting_unknown(opened.tokenizer, records(inputs, bad=bad or stop_unless("rejects")))
            if len(inputs.files) > 1:  # a row number would not say in which file a text is
                read = (one if "id" in one.kept else one._replace(kept={"id": one.where, **one.kept}) for one in read)
            total = None if total is None else before + total
            blank = fill(opened, begun.maker, read, file, out, bad, total=total, before=before)
            count, vectors = file.texts, file.rows
    if blank.count:
        from glassformer.data.readers.table_format import table_kind

        more = f" and {blank.count - NAMED:,} more" if blank.count > NAMED else ""
        note(f"never found: {number_of(blank.count, 'text')} without words: {'; '.join(blank.first)}{more}")
        if documents == "line" and any(table_kind(file) is None for file in inputs.files):
            note("if blank lines separate paragraphs, --documents blank-line makes a text of each")
    parts = f" with {number_of(vectors, 'sentence')}" if made.per == "sentence" else ""
    note(f"{out}: an index of {number_of(count, 'text')}{parts}, made by {which}")


class _Made(NamedTuple):
    """How the vectors of an index are made."""

    strategy: str
    pooling: str
    per: Literal["sentence", "text"]


def _made(asked: Mapping[str, str | None], pooling: str, extends: "IndexFacts | None") -> _Made:
    """As asked, by default with the `pooling` of the model, or as in the index that is extended; raises ConfigError
    where that was made in another way.
    """
    from glassformer.features.search.building import per_of

    usual = {"strategy": "last", "pooling": pooling, "per": None}
    if extends is not None:
        usual = {name: getattr(extends, name) for name in asked}
        for name, value in asked.items():
            if value not in (None, usual[name]):
                raise ConfigError(
                    f"--{name} must be as in the index that is extended: {usual[name]}", got=value, do="leave it out"
                )
    found: Any = {name: value or usual[name] for name, value in asked.items()}
    return _Made(found["strategy"], found["pooling"], per_of(found["per"], found["pooling"]))


def _named(facts: "IndexFacts") -> str:
    """The model that made an index; raises ConfigError for one of a hub, which is asked only where the user names it,
    and for none.
    """
    if not facts.model or facts.model.startswith("hub:"):
        raise ConfigError(
            "the model that made the index must be named", got="none", do=f"--model {facts.model or 'FOLDER'}"
        )
    return facts.model


def _one(what: str, asked: list[str] | None) -> str | None:
    if asked is not None and len(asked) > 1:
        raise ConfigError(f"an index is made with one {what}", got=", ".join(asked), do="build an index for each")
    return asked[0] if asked else None
