"""glassformer search build [MODEL] FILES --out INDEX."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.destination import counted
from glassformer.cli.embed import told_of
from glassformer.cli.opened import open_model, split_model
from glassformer.cli.options import Device, Fast, NamedModel, Threads
from glassformer.cli.readers import reader_of
from glassformer.cli.screen import note
from glassformer.cli.texts import records
from glassformer.errors import DataError


def search_build(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL] FILES",
            help="The model, a folder, hub:owner/name or a name that `glassformer models` lists; without one, a model "
            "of the package. Then files of texts, one a line, or .jsonl, .csv, .tsv, .parquet.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder of the index, a new one.  [default: none, needed]")
    ] = None,
    model: NamedModel = None,
    column: Annotated[str, typer.Option("--column", "--text", help="Column of a table with the text.")] = "text",
    strategy: Annotated[
        str, typer.Option("--strategy", "-s", help="Layers of the vectors, as of glassformer embed.")
    ] = "last",
    pooling: Annotated[str, typer.Option("--pooling", "-p", help="first, mean, max or last-token.")] = "mean",
    fast: Fast = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Make an index of texts by their vectors: a folder, whole or absent, that knows the model which made it."""
    which, paths = split_model("search build", files, model, is_data=lambda path: Path(path).exists())
    if not paths:
        raise DataError("a file with texts is needed", got="none", do="glassformer search build --help")
    if out is None:
        raise DataError("an index needs a folder", got="no --out", do="add --out INDEX")
    from glassformer.artefact.travelling import travels
    from glassformer.search.index import build

    opened = open_model(which, device=device, fast=fast, threads=threads)
    told_of(opened, (pooling,))
    reader = reader_of({"text": column}, {}, blank=False)

    blank = 0

    def read() -> Iterator[tuple[dict[str, object], str, object]]:
        nonlocal blank
        blank = 0
        for each in records(None, paths, reader):
            blank += not str(each.values["text"]).strip()
            yield dict(each.values), each.where, each.kept.get("id")

    total = sum(1 for _ in read()) if "-" not in paths else None
    named = which if travels(which) or which.startswith("hub:") else str(Path(which).resolve())
    with counted(out, 0, what="texts", total=total) as advance:
        count = build(out, read(), opened, strategy=strategy, pooling=pooling, named=named, advance=advance)
    if blank:
        note(f"{blank:,} texts are blank: their vectors are those of the special tokens alone")
    note(f"{out}: an index of {count:,} texts, made by {which}")
