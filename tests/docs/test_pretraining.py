"""X-14 and N-11: the arms in small, what is kept of them, and that the verdicts follow their rules."""

import re
from typing import Any

import pytest

from experiments import results
from experiments.page import NOT_YET
from experiments.page import table as markdown
from experiments.pretraining import table


def interval(low: float, high: float) -> dict[str, float]:
    return {"value": (low + high) / 2, "low": low, "high": high}


UP, NONE, DOWN = interval(0.01, 0.03), interval(-0.01, 0.02), interval(-0.04, -0.01)


Differences = dict[str, tuple[dict[str, float], dict[str, float]]]


def measured(tuned: Differences, frozen: Differences, above: Any = UP) -> dict[str, Any]:
    """A result with these differences on both sets, and pairs that are `above` chance."""
    tasks = dict.fromkeys(("sst2", "mrpc"), interval(0.6, 0.7))
    pairs = {"accuracy": interval(0.6, 0.7), "chance": 0.5, "above": above}
    arm = {"words": interval(0.2, 0.3), "pairs": pairs, "tasks": {"tuned": tasks, "frozen": {}}, "command": "command"}
    against = {
        way: {pair: dict(zip(("sst2", "mrpc"), each, strict=True)) for pair, each in its.items()}
        for way, its in (("tuned", tuned), ("frozen", frozen))
    }
    return {
        **{"minutes": 10, "steps": 100, "seconds": 0.1, "seeds": {"tuned": 1, "frozen": 1}, "overfit": None},
        **{"command": "command", "date": "2026-01-01", "machine": "a machine", "torch": "2"},
        "settings": {"length": 64, "batch": 32, "rows": 10, "fine_steps": 5, "fine_rates": [1e-3], "kept": 2},
        "tested_on": {"sst2": {"rows": 10, "chance": 0.5}},
        "arms": dict.fromkeys(("random", "alone", "next", "order"), arm),
        "against": against,
    }


def test_a_verdict_follows_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdict(row: dict[str, Any] | None) -> list[str]:
        monkeypatch.setattr(results, "read", lambda name: row if name == "pretraining" else None)
        table.section(markdown)  # is written at each stage
        text = " ".join(" ".join(table.claims(markdown)).split())
        (found,) = re.findall(r"\*\*Verdict\*\*: (.+?)\.(?: Two layers|$)", text)
        return found.split("; ")

    assert verdict(None) == [f"**{NOT_YET}**"]
    useful, following, order, masking = verdict(measured({"alone against random": (UP, DOWN)}, {}))
    assert useful.endswith(f"**holds** fine-tuned, **{NOT_YET}** frozen")  # judged on SST-2
    assert all(NOT_YET in each for each in (following, order, masking))
    assert "**learned**" in following
    differences = {
        "alone against random": (NONE, UP),
        "next against alone": (NONE, UP),
        "order against alone": (DOWN, NONE),
        "alone against alone-100": (NONE, NONE),
        "next against next-100": (UP, DOWN),
    }
    useful, following, order, masking = verdict(measured(differences, differences, above=NONE))
    assert useful.endswith("**not shown**")
    assert "**not learned**" in following
    assert following.endswith("**helps**")
    assert order.endswith("**harms**")
    assert "**mixed**" in masking
    assert "1 of 4" in masking
