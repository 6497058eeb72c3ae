"""Taggers: the case of words, word dropout, a small one taught by a larger one; the experiments are finished, their
figures are in docs/results."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from experiments import results
from experiments.page import made_by, table

TEXT = "`train tag` with its defaults, F1 in percent on the test part: the mean of the seeds, lowest and highest."
DROPPED = f"""{TEXT} Those of `sentences` without dropout were trained
in bfloat16 on another machine. With it 15 % of the words are `[MASK]` in training, and small data have more epochs.
Smaller steps: 16 sentences in place of 32, as many epochs; this is the default."""
TAUGHT = """The six-layer encoder learns from wnut17 by defaults (without the case of words) and tags 120,000
sentences of `self_dialogue`, `squadshifts` and `sms_spam`; half of those that are kept have an entity. `sentences` is
tuned on them for two epochs and reads no tag of wnut17 but for its best step. F1 in percent: mean of the seeds, lowest
and highest.
"""


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    lines = list[str]()
    for name, title, text, ways in (
        ("case", "The case of words", TEXT, {"without": "without the case", "with": "with it"}),
        (
            "word-dropout",
            "Word dropout",
            DROPPED,
            {"without": "without, three epochs", "with": "with it", "now": "and smaller steps"},
        ),
    ):
        row = read(name)
        shown = [
            [of["start"], of["data"], *(spread(of[way]) if way in of else "–" for way in ways)] for of in row["rows"]
        ]
        lines += [f"## {title}", "", text, "", table(["start", "", *ways.values()], shown), "", made_by(row), ""]
    row = read("taught-tags")
    shown = [
        [name, *(spread([of[part] for of in parts]) for part in ("dev", "test"))] for name, parts in row["f1"].items()
    ]
    lines += ["## A small tagger taught by a larger one", "", TAUGHT, table(["", "development", "test"], shown), ""]
    return [*lines, made_by(row), ""]


def read(name: str) -> Mapping[str, Any]:
    row = results.read(name)
    assert row is not None
    return row


def spread(of: Sequence[float]) -> str:
    return f"{mean(of):.1f} ({min(of):.1f} … {max(of):.1f})" if of else "–"
