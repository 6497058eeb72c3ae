"""The section on writing in docs/measured/results.md, from docs/results/*.json alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments import page, results
from experiments.page import NOT_YET, table

OURS = "ours"
LABELS = {
    OURS: "glassformer",
    "transformers": "transformers' GPT-2",
    "lstm": "LSTM, two layers",
    "trigram": "trigram, counted",
}
WAYS = ("each row alone", "with what came before")
# Of the times that have been measured, the longest is shown.
MINUTES = (60, 40, 30, 25, 20, 15, 10)
BITS = "bits_per_byte"

Row = Mapping[str, Any]


def longest(name: str, minutes: Sequence[int] = MINUTES) -> Row | None:
    """The row of that name with the most minutes."""
    rows = (results.read(f"{name}-{each}-minutes") for each in minutes)
    return next((row for row in rows if row is not None), None)


def row_of() -> Row | None:
    """The row of writing that ran longest."""
    return longest("writing")


def shown(found: Mapping[str, float], *, signed: bool = False) -> str:
    """A score in bits or nats with its interval."""
    return page.shown(found, digits=3, signed=signed)


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    row = row_of()
    lines = ["## Writing: bits per byte of a held-out book", ""]
    if row is None:
        return [*lines, NOT_YET, ""]
    settings = row["settings"]
    return [
        *lines,
        f"54 books of `text_books` to learn from, *Dracula* to measure on ({row['tokens']:,} tokens, {row['bytes']:,}",
        "bytes; its author has written none of the others). Ours is `glassformer train language-model` with the",
        "minutes named and nothing else set. GPT-2 and the LSTM have the same vocabulary, rows, minutes and about as",
        "many parameters, in a plain loop: AdamW, warm-up, linear decay, not compiled. The LSTM learns with its state",
        f"carried from row to row. *Each row alone*: rows of {settings['length']} tokens, nothing before their first.",
        "*With what came before*: the LSTM reads the book from its beginning; ours and GPT-2 read windows that",
        "overlap by half, of which the second half counts. Lower is better; brackets are 95 % bootstrap intervals",
        "over rows, those of differences are paired.",
        "",
        table(["bits per byte", *WAYS, "steps", "parameters"], [_cells(row, side) for side in row["sides"]]),
        "",
        *_differences(row),
        *_written(row),
        *made(row["sides"]),
    ]


def _cells(row: Row, side: str) -> list[str]:
    its = row["sides"][side]
    facts = its["facts"]
    counts = [f"{facts[name]:,}" if name in facts else "" for name in ("steps", "parameters")]
    return [LABELS[side], *(shown(its["scores"][way][BITS]) for way in WAYS), *counts]


def _differences(row: Row) -> list[str]:
    if not row["against"]:
        return []
    rows = [
        [
            f"ours − {LABELS[pair.removeprefix('ours against ')]}",
            *(shown(found[way][BITS], signed=True) for way in WAYS),
        ]
        for pair, found in row["against"].items()
    ]
    return [table(["difference", *WAYS], rows), ""]


def _written(row: Row) -> list[str]:
    written = row["sides"].get(OURS, {}).get("facts", {}).get("written", [])
    texts = [f"{number + 1}. *{row['prompt']}*{one_line(text)}" for number, text in enumerate(written)]
    return (
        [f"Continuations of the prompt with the seeds 0 to {len(texts) - 1}, not selected:", "", *texts, ""]
        if texts
        else []
    )


def made(sides: Mapping[str, Any], labels: Mapping[str, str] = LABELS) -> list[str]:
    """With which command and where each side was made."""
    lines = []
    for side, its in sides.items():
        facts = its["facts"]
        command = its.get("command", facts.get("command"))
        where = f"{facts['date']}, {facts['machine']}, torch {facts['torch']}, {facts['products']}"
        lines.append(f"- {labels.get(side, side)}: `{command}`; {where}")
    return [*lines, ""]


def one_line(text: str) -> str:
    """A text that a table or a list can hold."""
    kept = " " if text[:1].isspace() else ""
    plain = kept + " ".join(text.split())
    for sign in "\\`*_|<>[]":
        plain = plain.replace(sign, f"\\{sign}")
    return plain
