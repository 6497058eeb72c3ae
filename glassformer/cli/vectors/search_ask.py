import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from glassformer.base.errors import ConfigError
from glassformer.cli.terminal.destination import counted
from glassformer.cli.terminal.opened import Machine, note_no_text
from glassformer.cli.terminal.options import (
    MODEL,
    STDIN,
    Device,
    Json,
    Keep,
    Out,
    TextColumn,
    TextFiles,
    Threads,
    top_option,
)
from glassformer.cli.terminal.outputs import TABLES, as_text, suffix_of
from glassformer.cli.terminal.readers import TableReader, with_kept
from glassformer.cli.terminal.screen import console, escaped, note, print_table, record, results
from glassformer.cli.terminal.texts import batches, find_inputs, noting_unknown, records
from glassformer.cli.vectors.embed_fill import NAMED

if TYPE_CHECKING:
    from glassformer.features.search.index import Hit

_BY = "Search by vectors, words or both.  [default: both; vectors if the index has no words]"
_MODEL = f"{MODEL}  [default: the model that made the index]"
_RERANK = "Order the first hits anew by a model that was trained on pairs of texts.  [default: none]"
_RERANK_LABEL = "Label that says that a text fits.  [default: 1, yes, true, relevant or IsNext]"
_RERANK_FIRST = "Number of hits that --rerank orders anew.  [default: 20]"
_BACKEND = "Search backend: exact, faiss, or auto (faiss if it is installed, else exact)."


def search_ask(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="Folder that search build wrote.")],
    question: Annotated[
        list[str] | None, typer.Argument(metavar="QUESTION", help=f"One or more questions. {STDIN}", show_default=False)
    ] = None,
    file: TextFiles = None,
    text_column: TextColumn = "text",
    keep: Keep = None,
    top: Annotated[int, top_option("Each is a text of the index.")] = 5,
    by: Annotated[Literal["vectors", "words", "both"] | None, typer.Option("--by", help=_BY)] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help=_MODEL)] = None,
    rerank: Annotated[str | None, typer.Option("--rerank", metavar="MODEL", help=_RERANK)] = None,
    rerank_label: Annotated[str | None, typer.Option("--rerank-label", metavar="LABEL", help=_RERANK_LABEL)] = None,
    rerank_first: Annotated[int | None, typer.Option("--rerank-first", min=1, help=_RERANK_FIRST)] = None,
    backend: Annotated[Literal["auto", "exact", "faiss"], typer.Option("--backend", help=_BACKEND)] = "auto",
    out: Out = None,
    json: Json = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Find the texts of an index that are nearest to a question, by meaning and by words."""
    from glassformer.features.search.index import SearchIndex
    from glassformer.features.search.reading import read_facts
    from glassformer.features.search.rerank import Reranker
    from glassformer.runtime.threads import use_threads

    read_facts(index)
    use_threads(threads)
    opened = None if model is None else Machine(device).open(model)
    found = SearchIndex.open(index, opened, backend=backend, device=device)
    judge = None if rerank is None else Reranker(Machine(device).open(rerank), label=rerank_label)
    if judge is None and (rerank_label is not None or rerank_first is not None):
        wanted = f"--rerank-{'first' if rerank_label is None else 'label'} needs a model"
        raise ConfigError(wanted, got="none", do="name it with --rerank MODEL")
    if judge is not None and judge.label:
        note(f"hits are ordered by the probability of the label {judge.label!r}")
    score = {"vectors": "cosine", "words": "BM25", "both": "score"}[found.usable(by)] if judge is None else judge.score
    inputs = find_inputs(question, file, TableReader({"text": text_column}, blank=True, keep=tuple(keep or ())))
    if not file:
        note_no_text("search ask", question or ())
    blank: list[str] = []
    rows_of_hits = out is not None and suffix_of(out) in TABLES
    counts = out is not None and not inputs.once
    total = sum(1 for _ in records(inputs, tell=lambda said: None)) if counts else None
    known: dict[str, object] = dict.fromkeys(("rank", "score", "row", "text", "sentence", "hit_id"))
    with results(out, inputs=inputs.files) as handle, counted(out, 0, what="questions", total=total) as advance:
        read = records(inputs)
        for some in batches(read if by == "words" else noting_unknown(found.model.tokenizer, read)):
            asked = [str(each.values["text"]) for each in some]
            answers = found.answers(
                asked, top=top, by=by, rerank=judge, first=rerank_first or 20, within=advance.rows_within
            )
            for number, (one, text, hits) in enumerate(zip(some, asked, answers, strict=True), start=1):
                advance(1)
                if hits is None:
                    blank.append(one.where or f"question {number}")
                if rows_of_hits:
                    for columns in map(_columns, hits) if hits else [dict.fromkeys(known)]:
                        known |= columns
                        record(with_kept(one, {"question": text, **columns}), handle)
                    continue
                if json:
                    record(with_kept(one, {"text": text, "hits": [_fields(hit) for hit in hits or ()]}), handle)
                    continue
                screen = console(handle)
                screen.print(f"[bold]{escaped(text)}[/bold]")
                named = "row" if all(hit.id is None for hit in hits or ()) else "id"
                if not hits:
                    why = "no words, so nothing is found" if hits is None else "no text has a word of this question"
                    screen.print(f"[dim]{why}[/dim]")
                    continue
                rows = []
                for hit in hits:
                    name = f"{hit.row:,}" if named == "row" else escaped(called(hit))
                    kept = "".join(
                        f"\n[dim]{escaped(f'{column}: {as_text(value)}')}[/dim]" for column, value in hit.kept.items()
                    )
                    rows.append((str(hit.rank), f"{hit.score:.4f}", name, escaped(shown_text(hit)) + kept))
                print_table(screen, ("", score, named, "text"), rows, slice(3))
            handle.flush()
    if blank:
        more = f" and {len(blank) - NAMED:,} more" if len(blank) > NAMED else ""
        note(f"no answer to questions without words: {'; '.join(blank[:NAMED])}{more}")


def _columns(hit: "Hit") -> dict[str, object]:
    """Its fields as columns of a table, and a column for each that is kept: hit_NAME where another has the name."""
    found = {name: value for name, value in vars(hit).items() if name not in ("kept", "id")} | {"hit_id": hit.id}
    for name, value in hit.kept.items():
        while name in found or name == "question":
            name = f"hit_{name}"
        found[name] = value
    return found


def _fields(hit: "Hit") -> dict[str, object]:
    """Its fields for JSON; what is kept with it where something is."""
    return {name: value for name, value in vars(hit).items() if value or name != "kept"}


def shown_text(hit: "Hit") -> str:
    """The nearest sentence, or the text, on one line; an ellipsis where the text goes on."""
    text, shown = (" ".join(each.split()) for each in (hit.text, hit.sentence or hit.text))
    before, after = ("" if text.startswith(shown) else "… "), ("" if text.endswith(shown) else " …")
    return before + (f"{shown[:160]}…" if len(shown) > 160 else shown + after)


def called(hit: "Hit") -> str:
    """Its id as in its file; of a text without one, its row."""
    if hit.id is None:
        return f"row {hit.row:,}"
    return hit.id if isinstance(hit.id, str) else json_text.dumps(hit.id, ensure_ascii=False)
