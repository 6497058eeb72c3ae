"""The figures of a claim as rows of words, for the screen and for docs/measured/claims.md."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from glassformer.scoring.verdict import difference, shown

# Scores that are written without decimals; a speed is tokens, or bytes, a second.
COUNTS = ("steps", "speed")


def scores_table(found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """A head, and a row of each arm: the mean over the seeds of each test, with the least and the greatest."""
    tests = {each["test"]: each["score"] for each in found["scores"]}
    arms: dict[str, dict[str, str]] = {}
    for each in found["scores"]:
        values = each["mean"], min(each["of_seeds"]), max(each["of_seeds"])
        arms.setdefault(each["arm"], {})[each["test"]] = _interval(each["score"], values, _value)
    head = ["arm", *(test if score in test else f"{test}: {score}" for test, score in tests.items())]
    return head, [[arm, *(its.get(test, "") for test in tests)] for arm, its in arms.items()]


def answers_table(found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """A head, and a row of each question: the mean difference of two arms with its 95 % interval, and what it says."""
    rows = []
    for each in found["questions"]:
        alone = each["against"].startswith("at ")
        values = each["value"], each["low"], each["high"]
        cell = _interval(each["score"], values, _value if alone else _difference)
        arms = f"{each['of']}: {each['against']}" if alone else f"{each['of']} − {each['against']}"
        rows.append([arms, each["test"], cell, each["found"], each["expected"]])
    return ["arms", "in", "difference", "is", "expected"], rows


def _interval(score: str, values: Sequence[float], write: Callable[[str, float], str]) -> str:
    value, low, high = (write(score, each) for each in values)
    return f"{value} ({low} … {high})"


def _value(score: str, value: float) -> str:
    if score == "change":
        return f"{value:.1e}"
    return f"{value:,.0f}" if score in COUNTS else shown(score, value)


def _difference(score: str, value: float) -> str:
    return f"{value:+,.0f}" if score in COUNTS else difference(score, value)
