"""glassformer search ask INDEX QUESTION ..."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from glassformer.cli.layout import print_table
from glassformer.cli.opened import open_model
from glassformer.cli.options import Device, Json, Out, Threads
from glassformer.cli.readers import reader_of
from glassformer.cli.screen import console, escaped, plain_table, record, refuse_out_over_input, results
from glassformer.cli.texts import batches, records
from glassformer.errors import DataError


def search_ask(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="A folder that search build made.")],
    question: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUESTION", help="Questions; - reads one a line from standard input.", show_default=False
        ),
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option("--file", "-f", help="A file of questions, one a line, or a table (repeatable).  [default: none]"),
    ] = None,
    column: Annotated[str, typer.Option("--column", "--text", help="Column of a table with the question.")] = "text",
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="Texts for each question.")] = 5,
    model: Annotated[
        str | None,
        typer.Option("--model", help="Where the model is now that made the index.  [default: as the index says]"),
    ] = None,
    backend: Annotated[
        Literal["auto", "exact", "faiss"],
        typer.Option("--backend", help="What finds the vectors; auto: faiss where it is installed."),
    ] = "auto",
    out: Out = None,
    json: Json = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Find the texts of an index that are nearest to a question."""
    from glassformer.runtime.device import use_threads
    from glassformer.search.index import SearchIndex, read_facts

    read_facts(index)
    use_threads(threads)
    opened = None if model is None else open_model(model, device=device)
    found = SearchIndex.open(index, opened, backend=backend, device=device)
    refuse_out_over_input(out, file, text=column)
    if out is not None and index.resolve() in out.resolve().parents:
        raise DataError("answers need a file outside the index", got=f"{out}", do="choose another --out")
    reader = reader_of({"text": column}, {}, blank=False)
    with results(out) as handle:
        for some in batches(records(question, file, reader)):
            asked = [str(each.values["text"]) for each in some]
            for one, text, hits in zip(some, asked, found.ask(asked, top=top), strict=True):
                if json:
                    record({**one.kept, "text": text, "hits": [vars(hit) for hit in hits]}, handle)
                    continue
                screen = console(handle)
                screen.print(f"[bold]{escaped(text)}[/bold]")
                table = plain_table("", "cosine", "row", "text")
                for column_ in table.columns[:3]:
                    column_.justify = "right"
                for hit in hits:
                    shown = " ".join(hit.text.split())
                    shown = shown if len(shown) <= 160 else f"{shown[:160]}…"
                    table.add_row(str(hit.rank), f"{hit.score:.4f}", f"{hit.row:,}", escaped(shown))
                print_table(screen, table)
            handle.flush()
