from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.terminal.opened import Machine
from glassformer.cli.terminal.options import FAST, Json, ModelFolder
from glassformer.cli.terminal.screen import console, escaped, note, print_table, record

if TYPE_CHECKING:
    from rich.console import Console


def info(
    model: ModelFolder,
    fast: Annotated[bool, typer.Option("--fast", help=f"{FAST}  The output shows the resulting precision.")] = False,
    json: Json = False,
) -> None:
    """Show the family, sizes, parameters by part, tokenizer, task, precision, data and scores of a model."""
    facts = Machine("cpu", fast=fast).open(model).info()
    note_changed(facts["changed_files"])
    if json:
        record(facts, sys.stdout)
        return
    screen = console()
    screen.print(f"[bold]{escaped(str(model))}[/bold]: {facts['family']}, {facts['task'] or 'no task'}\n")
    for title, rows in _sections(facts):
        _show(screen, title, rows)
    if "not_in_this_document" in facts:
        _show_not_drawn(screen, facts["not_in_this_document"])


def note_changed(names: Sequence[str]) -> None:
    """Note which files of a model are not as they were saved."""
    for name in names:
        note(f"{name} is damaged or changed since the model was saved; the model's answers do not depend on it")


def _sections(facts: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    from glassformer.saved.info import shown_labels  # not at the top: --help must not import it

    sections = [(name, sizes) for name, sizes in facts["sizes"].items()]
    sections.append(("parameters", {part: f"{count:,}" for part, count in facts["parameters"].items()}))
    tokenizer = facts["tokenizer"]
    if tokenizer is not None:
        special = ", ".join(f"{role} {token}" for role, token in tokenizer["special"].items())
        sizes = {name.replace("_", " "): f"{size:,}" for name, size in tokenizer.items() if name.endswith("tokens")}
        sections.append(("tokenizer", {**sizes, "special": special or "none"}))
    if facts["labels"]:
        sections.append(("answers", {"labels": shown_labels(facts["labels"])}))
    prediction = {
        **facts["prediction"],
        "reads at most": f"{facts['reads_at_once'] or 'any number of'} tokens",
        "a text's vector": facts["pooling"],
    }
    sections.append(("prediction", prediction))
    data = facts["data"]
    if data is not None and data["files"]:
        known = ("files", "documents", "validation", "length")
        sections.append(("data", {key: data[key] for key in known if key in data}))
    if scores := facts["scores"]:
        sections.append(("scores", {name: f"{of:,.4g}" for name, of in scores.items() if of is not None}))
    return sections


def _show(screen: Console, title: str, rows: Mapping[str, Any]) -> None:
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", min_width=16)
    table.add_column()
    for name, value in rows.items():
        if value not in (None, []):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            table.add_row(escaped("  " + name.replace("_", " ")), escaped(shown))
    screen.print(f"[bold cyan]{title}[/bold cyan]")
    screen.print(table)


def _show_not_drawn(screen: Console, rows: list[dict[str, Any]]) -> None:
    screen.print("[bold cyan]not in this document[/bold cyan] [dim](the slides do not draw it)[/dim]")
    shown = [(row["name"], row["what"], "on" if row["on"] else "off") for row in rows]
    print_table(screen, ("", "what", "here"), shown)
    screen.print("[dim]to change one of them, train again:[/dim]")
    for row in rows:
        if row["switch"].startswith("glassformer "):  # a command has its own line, so that it can be copied
            screen.print(f"  {escaped(row['switch'])}", soft_wrap=True)
