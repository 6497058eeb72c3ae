"""The part of docs/bench.md on writing behind a prompt, from docs/results/bench-generation-*.json."""

from __future__ import annotations

from typing import Any

from experiments import results
from experiments.page import NOT_YET, made_by, table

_TITLES = {"one": "One text", "sixteen": "Sixteen texts at once"}
_TEXT = """\
Twelve layers of width 768, GPT-2's vocabulary of 50,257 tokens, random weights, a prompt of 128 tokens and 128 new
ones, the most likely each time. Tokens a second count those after the first new token. transformers keeps keys and
values in a cache that grows, in one of fixed size, and in that one with the step compiled. Float32 but in the row of
8-bit weights."""


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


def section() -> str:
    """One text, and sixteen at once."""
    parts = [_TEXT, ""]
    for name, title in _TITLES.items():
        row = results.read(f"bench-generation-{name}")
        parts += [f"### {title}", "", NOT_YET if row is None else _written(row), ""]
        if row is not None:
            parts += [made_by(row), ""]
    return "\n".join(parts).rstrip()


def _written(row: dict[str, Any]) -> str:
    speeds, same = row["tokens_per_second"], row["same_tokens_as_the_growing_cache"]
    of = row["rows"] * row["new_tokens"]
    rows = [
        [
            system,
            f"{speed:,.1f}",
            f"{row['whole_tokens_per_second'][system]:,.1f}",
            f"{row['peak_megabytes'][system]:,.0f}",
            f"{same[system] / of:.0%}",
        ]
        for system, speed in speeds.items()
    ]
    best, share = row["times_the_best_peer"], row["share_of_bandwidth"]
    return (
        table(["", "tokens a second", "with the prompt", "peak, MB", "same tokens"], rows)
        + f"\n\nOurs is **{best['ours']:.2f}** times the best of transformers ({row['best_peer']}), with 8-bit weights "
        f"**{best['ours, int8']:.2f}** times;\n8-bit weights are {row['int8_times_float32']:.2f} times as fast as "
        f"float32. Reading the weights once a step is {share:.0%} of the\n"
        f"{row['readable_gigabytes_per_second']:.1f} GB/s that a sum over a large array reads. With random weights "
        "many tokens\nare equally likely, and 8 bits choose others."
    )
