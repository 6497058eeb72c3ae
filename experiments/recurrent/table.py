"""The section on recurrent networks in docs/measured/results.md and its picture, from docs/results/*.json alone."""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from experiments import results
from experiments.page import NOT_YET, table
from experiments.writing.table import Row, shown

ARMS = ("transformer", "lstm", "lstm, attention", "gru", "gru, attention")
PICTURE = "recurrent-window.svg"
# Okabe and Ito's colours, which also the colour-blind tell apart.
COLOURS = ("#0072b2", "#d55e00", "#e69f00", "#009e73", "#56b4e9")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 720, 360, 64, 24, 52, 140
FLOOR, NEAR = 1e-6, (0.5, 0.9, 0.99)


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


# --------------------------------------------------------------------------- the picture


def picture(arms: Mapping[str, Row]) -> Path:
    """Draw the shares of the gradient by distance; a line for each architecture, both axes logarithmic."""
    path = results.RESULTS.parent / "pictures" / PICTURE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(drawn(arms), encoding="utf-8")
    return path


def drawn(arms: Mapping[str, Row]) -> str:
    """The picture as SVG."""
    longest = max(len(arm["window"]) for arm in arms.values())
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    lowest = math.log10(FLOOR)

    def place(distance: int, share: float) -> str:
        x = LEFT + wide * math.log(distance) / math.log(longest)
        y = TOP + high * math.log10(max(share, FLOOR)) / lowest
        return f"{x:.1f},{y:.1f}"

    marks = [each for each in (1, 2, 5, 10, 20, 50, 100, 200, 500) if each <= longest]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="13">',
        "<title>Share of the gradient by distance, for each architecture</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for mark in marks:
        x = place(mark, 1).partition(",")[0]
        parts.append(f'<path d="M{x},{TOP}V{TOP + high}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{TOP + high + 18}" text-anchor="middle">{mark}</text>')
    for power in range(0, int(lowest) - 1, -1):
        y = place(1, 10.0**power).partition(",")[2]
        parts.append(f'<path d="M{LEFT},{y}H{LEFT + wide}" stroke="#ddd"/>')
        tick = "1" if power == 0 else f'10<tspan dy="-5" font-size="10">{power}</tspan>'
        parts.append(f'<text x="{LEFT - 8}" y="{float(y) + 4:.1f}" text-anchor="end">{tick}</text>')
    middle = LEFT + wide / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">distance of a word, in tokens</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 8}">share of the gradient</text>')
    for number, (name, arm) in enumerate(arms.items()):
        whole, colour = sum(arm["window"]), COLOURS[number % len(COLOURS)]
        points = " ".join(place(at + 1, each / whole) for at, each in enumerate(arm["window"]))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        line = TOP + 18 * number + 12
        parts.append(f'<path d="M{LEFT + wide + 12},{line - 4}h18" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="{LEFT + wide + 36}" y="{line}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])
