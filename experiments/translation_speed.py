"""The part of docs/bench.md on translation, from docs/results/bench-translation-*.json."""

from __future__ import annotations

from typing import Any

from experiments import results
from experiments.page import NOT_YET, made_by, table


def section() -> str:
    """Training and memory, each with how it was made."""
    parts = []
    for name, written in (("training", training), ("memory", memory)):
        row = results.read(f"bench-translation-{name}")
        parts += [f"### {name.capitalize()}", "", NOT_YET if row is None else written(row), ""]
        if row is not None:
            parts += [made_by(row), ""]
    return "\n".join(parts).rstrip()


def training(row: dict[str, Any]) -> str:
    """Target tokens a second of each system."""
    losses = " and ".join(f"{loss:.5f}" for loss in row["loss_of_the_same_weights"].values())
    rows = [
        [
            system,
            row["products_of"][system],
            f"{speed:,.0f}",
            f"**{row['ratios'][system]:.2f}**" if system in row["ratios"] else "1",
        ]
        for system, speed in row["tokens_per_second"].items()
    ]
    return (
        f"multi30k, {row['size']}; {row['target_tokens_of_a_step']:,} target tokens in a step, padding included, or\n"
        f"the same {row['pairs_of_a_step']} pairs. Counted are target tokens that are no padding. The Seq2SeqTrainer\n"
        "has its defaults, the plain loop random batches, the expert's loop is compiled and has fused AdamW and\n"
        "batches sorted by length. Ours smooths the labels, the peers do not. Loss of the same weights by ours and by\n"
        f"transformers': {losses}.\n\n" + table(["", "products", "target tokens a second", "ours, times"], rows)
    )


def memory(row: dict[str, Any]) -> str:
    """The most memory of each system's process."""
    rows = [
        [
            system,
            row["products_of"][system],
            f"{peak:,.0f}",
            f"{row['libraries_megabytes'][system]:,.0f}",
            f"**{row['ratios'][system]:.2f}**" if system in row["ratios"] else "1",
        ]
        for system, peak in row["peak_megabytes"].items()
    ]
    return (
        f"{row['size']}; {row['rows']} x {row['tokens_of_a_row']} target tokens a step. The most that a process held "
        "after its\nwarm-up, with interpreter and libraries.\n\n"
        + table(["", "products", "peak, MB", "before the model, MB", "times ours"], rows)
    )
