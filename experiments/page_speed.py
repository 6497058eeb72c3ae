"""The part of docs/measured/bench.md on the page of the explorer, from docs/results/bench-page-*.json."""

from typing import Any

from experiments import results
from experiments.page import NOT_YET, table

ROWS = {
    "bundle": "Script and style",
    "sizes": "Exported pages",
    "first-paint": "Opening",
    "first-view": "The first view of a large model",
    "words": "Words",
    "hover": "Mouse and arrow keys",
    "explain": "A click on a number",
    "change-word": "Another word",
    "search": "A search, and its nodes as runs",
    "replay": "A training, step by step",
    "pages": "Fifty pages at once",
    "memory": "An hour of use",
}
TEXT = """Headless Chromium that reaches this machine alone. A time runs from the input event to the last command to the
canvas, or the last element of the picture. Opening: the median of five runs in fresh windows; the first paint of a
served page is its head, which comes with it, and the picture is held to the same goal. Mouse, keys and clicks: the 95th
percentile of the samples, and the median. Text below a head that appears when the cell in hand rests, and folded
parts, are not waited for. An hour of use: the objects of the page are counted without and with the code that the
browser compiles, which it does for half an hour."""


def section() -> str:
    """One table of all rows that were measured, with their goals."""
    lines: list[list[str]] = []
    commands = []
    for name, title in ROWS.items():
        row = results.read(f"bench-page-{name}")
        if row is None:
            lines.append([f"**{title}**", NOT_YET, "", "", ""])
            continue
        lines.append([f"**{title}**", "", "", "", ""])
        lines += [line(case) for case in row["cases"]]
        load = f", load {row['load_before']:g} before" if row["load_before"] > 0.5 else ""
        commands.append(f"`{row['command']}`: {row['date']}, {row['machine']}, Chromium {row['chromium']}{load}")
    head = ["", "measured", "median", "goal", "reached"]
    return "\n\n".join([TEXT, table(head, lines), *commands])


def line(case: dict[str, Any]) -> list[str]:
    """One measured thing."""
    if case["value"] is None:
        return [case["what"], case["why"], "", written(case["goal"], case["unit"]), ""]
    reached = "" if case["reached"] is None else "yes" if case["reached"] else "**no**"
    median = written(case["median"], case["unit"]) if "median" in case else ""
    return [case["what"], written(case["value"], case["unit"]), median, written(case["goal"], case["unit"]), reached]


def written(value: float | None, unit: str) -> str:
    """A number with its unit, in the digits that matter."""
    if value is None:
        return ""
    return f"{value:,.0f} {unit}" if abs(value) >= 100 or value == int(value) else f"{value:.1f} {unit}"
