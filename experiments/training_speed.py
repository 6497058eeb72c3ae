"""The parts of docs/measured/bench.md on learning to translate and to write, from
docs/results/bench-translation-*.json and bench-language-model.json.
"""

from typing import Any

from experiments import results
from experiments.page import NOT_YET, made_by, table


def translation() -> str:
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
    head = ["", "products", "target tokens a second", "ours, times"]
    return (
        f"multi30k, {row['size']}; {row['target_tokens_of_a_step']:,} target tokens in a step, padding included, or\n"
        f"the same {row['pairs_of_a_step']} pairs. Counted are target tokens that are no padding. The Seq2SeqTrainer\n"
        "has its defaults, the plain loop random batches, the expert's loop is compiled and has fused AdamW and\n"
        "batches sorted by length. Ours smooths the labels, the peers do not. Loss of the same weights by ours and by\n"
        f"transformers': {losses}.\n\n" + table(head, [each[:4] for each in _rows(row)])
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


def writing() -> str:
    """Tokens a second of learning, and the memory."""
    return "\n\n".join(map(_writing, results.read_each("bench-language-model"))) or NOT_YET


def _writing(row: dict[str, Any]) -> str:
    return (
        f"text_books, GPT-2's shape: {row['size']}; {row['rows']} rows of {row['length']} tokens in a step, AdamW. The "
        "Trainer\nhas its defaults, the expert's loop is compiled and has fused AdamW. Memory is the most that the "
        "process held\nafter its warm-up.\n\n"
        + table(["", "products", "tokens a second", "ours, times", "peak, MB"], _rows(row))
        + f"\n\n{made_by(row)}"
    )


def _rows(row: dict[str, Any]) -> list[list[str]]:
    """Of each system: its products, tokens a second, ours in ratio to it, and its memory where that is known."""
    return [
        [
            system, row["products_of"][system], f"{speed:,.0f}",
            f"**{row['ratios'][system]:.2f}**" if system in row["ratios"] else "1",
            *([f"{row['peak_megabytes'][system]:,.0f}"] if "peak_megabytes" in row else []),
        ]
        for system, speed in row["tokens_per_second"].items()
    ]  # fmt: skip
