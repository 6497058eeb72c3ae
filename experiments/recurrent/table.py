"""The section on recurrent networks in docs/measured/results.md, from docs/results/*.json alone. What has measured it
and drawn its picture is in the parent of commit 1495ad18.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from experiments import results
from experiments.page import NOT_YET, table
from experiments.writing.table import Row, shown

ARMS = ("transformer", "lstm", "lstm, attention", "gru", "gru, attention")
PICTURE = "recurrent-window.svg"
NEAR = (0.5, 0.9, 0.99)


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    return ["## Recurrent networks compared with ours", "", *_text(), *_copy()]


def _text() -> list[str]:
    row = results.read("recurrent-text")
    lines = ["### A book read and continued", ""]
    if row is None or not row["arms"]:
        return [*lines, NOT_YET, ""]
    settings = row["settings"]
    rows = [
        [
            name,
            f"{arm['facts']['parameters']:,}",
            f"{arm['facts']['steps']:,}",
            f"{arm['trained_tokens_per_second']:,.0f}",
            *(f"{speed:,.0f}" for speed in arm["written_tokens_per_second"].values()),
            shown(arm["loss"]),
        ]
        for name, arm in row["arms"].items()
    ]
    first = next(iter(row["arms"].values()))
    at_once = [f"writing, {count} at once" for count in first["written_tokens_per_second"]]
    return [
        *lines,
        f"An encoder reads {settings['source']} tokens of a book, a decoder learns the next {settings['target']}. Ours",
        f"is an encoder–decoder with Marian's parts, {settings['layers']} + {settings['layers']} layers of",
        f"{settings['width']}; the recurrent ones have a bidirectional encoder, a decoder that begins with its last",
        f"states and, where named, Luong's attention. {row['minutes']:g} minutes each, one loop, one optimizer",
        "(AdamW, the same rate), not compiled: this compares architectures, not recipes. Speeds are tokens a",
        "second; the loss is nats per token of *Dracula*, which none has read.",
        "",
        table(["", "parameters", "steps", "training", *at_once, "loss"], rows),
        "",
        "How far back each reads: the norm of the gradient of the next token's log-probability by each word vector of",
        "the source, by its distance, as a share of the sum over all distances. The distances within which a half,",
        "nine tenths and 99 hundredths of it lie:",
        "",
        table(["", *(f"{share:.0%}" for share in NEAR), "before training: 90%"], _windows(row["arms"])),
        "",
        f"![Share of the gradient by distance for each architecture](../pictures/{PICTURE})",
        "",
        _made(row),
        "",
    ]


def _windows(arms: Mapping[str, Row]) -> list[list[str]]:
    return [
        [name, *(str(within(arm["window"], share)) for share in NEAR), str(within(arm["window_before"], 0.9))]
        for name, arm in arms.items()
    ]


def within(window: Sequence[float], share: float) -> int:
    """The distance within which this share of the gradient lies."""
    whole = sum(window)
    return next(number + 1 for number, near in enumerate(accumulate(window)) if near >= share * whole)


def _copy() -> list[str]:
    row = results.read("recurrent-copy")
    lines = ["### Copying over a distance", ""]
    if row is None or not row["arms"]:
        return [*lines, NOT_YET, ""]
    settings, distances = row["settings"], row["settings"]["distances"]
    rows = [
        [arm, *(_copied(row["arms"].get(f"{arm}, {distance}")) for distance in distances)]
        for arm in ARMS
        if any(f"{arm}, {distance}" in row["arms"] for distance in distances)
    ]
    return [
        *lines,
        f"{settings['kept']} symbols of {settings['symbols']} are in the middle of a source, so many blanks before",
        f"and after them, and must be copied. {row['minutes']:g} minutes for each number, {settings['layers']} +",
        f"{settings['layers']}",
        f"layers of {settings['width']} or as many parameters. The share of symbols that are right (by chance"
        f" {1 / settings['symbols']:.0%}), and the steps:",
        "",
        table(["distance", *map(str, distances)], rows),
        "",
        _made(row),
        "",
    ]


def _copied(found: Row | None) -> str:
    return "" if found is None else f"{found['symbols']:.0%} ({found['facts']['steps']:,})"


def _made(row: Row) -> str:
    arms: Mapping[str, Any] = row["arms"]
    where = sorted(
        {f"{arm['date']}, {arm['machine']}, torch {arm['torch']}, {arm['products']}" for arm in arms.values()}
    )
    return f"`{row['command']}`: {'; '.join(where)}"
