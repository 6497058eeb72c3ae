"""The part of docs/bench.md on learning to write, from docs/results/bench-language-model.json."""

from __future__ import annotations

from experiments import results
from experiments.page import NOT_YET, made_by, table


def training() -> str:
    """Tokens a second of learning, and the memory."""
    row = results.read("bench-language-model")
    if row is None:
        return NOT_YET
    rows = [
        [
            system,
            row["products_of"][system],
            f"{speed:,.0f}",
            f"**{row['ratios'][system]:.2f}**" if system in row["ratios"] else "1",
            f"{row['peak_megabytes'][system]:,.0f}",
        ]
        for system, speed in row["tokens_per_second"].items()
    ]
    return (
        f"text_books, GPT-2's shape: {row['size']}; {row['rows']} rows of {row['length']} tokens in a step, AdamW. The "
        "Trainer\nhas its defaults, the expert's loop is compiled and has fused AdamW. Memory is the most that the "
        "process held\nafter its warm-up.\n\n"
        + table(["", "products", "tokens a second", "ours, times", "peak, MB"], rows)
        + f"\n\n{made_by(row)}"
    )
