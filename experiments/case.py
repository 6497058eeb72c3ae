"""What taggers gain from the case of words; the experiment is finished, its figures are in docs/results/case.json."""

from collections.abc import Sequence
from statistics import mean

from experiments import results
from experiments.page import made_by, table


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    lines, row = ["## The case of words", ""], results.read("case")
    assert row is not None
    shown = [[of["start"], of["data"], *(spread(of[way]) for way in ("without", "with"))] for of in row["rows"]]
    text = "`train tag` with its defaults, F1 in percent on the test part: the mean of three seeds, lowest and highest."
    return [*lines, text, "", table(["start", "", "without the case", "with it"], shown), "", made_by(row), ""]


def spread(of: Sequence[float]) -> str:
    return f"{mean(of):.1f} ({min(of):.1f} … {max(of):.1f})"
