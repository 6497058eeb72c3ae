"""The rows, scores and verdicts of translation: what both sides learn from, how they are measured and judged."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from experiments import results
from experiments.page import NOT_YET
from experiments.translation import claims, table

# --------------------------------------------------------------------------- verdicts


def interval(low: float, high: float) -> dict[str, float]:
    return {"value": (low + high) / 2, "low": low, "high": high}


TOKENS = "bleu of tokens, lower case"
MADE = {"command": "a command", "date": "2026-01-01", "machine": "a machine", "torch": "2", "products": "float32"}


def translating(low: float) -> dict[str, Any]:
    """A row of multi30k in which ours has this lower end of BLEU."""
    tests = ("test 2016", "test 2017", "MSCOCO")
    found = dict.fromkeys(("bleu", "chrf", "ter", TOKENS), interval(low, low + 4))
    side = {
        "command": "a command",
        "scores": dict.fromkeys(tests, found),
        "curve": [{"minutes": 5.1, "step": 10, "bleu": 31.7}, {"minutes": 10.1, "step": 20, "bleu": 47.3}],
        "facts": {
            **MADE,
            **{"steps": 20, "parameters": 5, "size": "tiny", "dropout": 0.3, "batch_tokens": 64, "threads": 1},
        },
    }
    return {
        **MADE,
        "tested_on": dict.fromkeys(tests, 3),
        "sides": {"ours": side, "peer": side},
        "copied": {test: {"bleu": interval(4, 6)} for test in tests},
        "against": {"ours against peer": dict.fromkeys(tests, found)},
        "samples": [],
    }


def arms(differences: dict[str, tuple[float, float] | None]) -> dict[str, Any]:
    """A short row with these intervals of the difference of losses; None is what others are compared with."""
    looks = {"largest weight": 0.2, "gradient": 0.01}
    return {
        **MADE,
        "steps": 7,
        "settings": {"model.settings": {"width": 128}},
        "unit": {size: {"scaled": 0.2, "unscaled": 0.1} for size in ("8", "32")},
        "arms": {
            name: {
                "parameters": 5,
                "before": looks,
                "after": looks,
                "bleu": 1.25,
                "processor seconds of training": 3.0,
                "processor seconds of translating": None,
                "scores": {"loss": interval(2, 3)},
                "difference": {} if ends is None else {"loss": interval(*ends)},
            }
            for name, ends in differences.items()
        },
    }


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """Make rows the ones that have been measured."""
    return lambda rows: monkeypatch.setattr(results, "read", lambda name: rows.get(name.removeprefix("translation-")))


@pytest.mark.parametrize(
    ("rows", "verdicts"),
    [
        ({}, ["**not measured yet**"] * 3),
        ({"multi30k-60-minutes": translating(58)}, ["**holds**"]),
        ({"multi30k-30-minutes": translating(40)}, ["**in part**"]),
        ({"multi30k-30-minutes": translating(3)}, ["**not shown**"]),
    ],
)
def test_verdicts_follow_their_rules(
    read: Callable[[dict[str, Any]], None], rows: dict[str, Any], verdicts: list[str]
) -> None:
    read(rows)
    found = re.findall(r"^\*\*Verdict\*\*: (\*\*.+?\*\*)", "\n".join(claims.sections()), re.MULTILINE)
    assert found[: len(verdicts)] == verdicts


@pytest.mark.parametrize(
    ("name", "differences", "verdict"),
    [
        ("scaling", {"8, scaled": None, "8, unscaled": (0.1, 0.2)}, "**holds**"),
        ("scaling", {"8, scaled": None, "8, unscaled": (-0.1, 0.2)}, "**not shown**"),
        (
            "scaling",
            {"8, scaled": None, "8, unscaled": (-0.1, 0.2), "32, scaled": None, "32, unscaled": (0.1, 0.2)},
            "**in part**: worse without scaling at 32",
        ),
        ("layers", {"3+3": None, "3+3, seed 1": (-0.1, 0.1)}, "**not measured yet**"),
        ("layers", {"3+3": None, "2+3": (0.1, 0.2), "4+2": (-0.1, 0.1)}, "**does not hold**: not worse than 3+3: 4+2"),
        ("layers", {"3+3": None, "2+3": (0.1, 0.2), "1+1": (-0.1, 0.1)}, "**not shown**: other numbers work"),
    ],
)
def test_verdicts_of_short_rows(
    read: Callable[[dict[str, Any]], None],
    name: str,
    differences: dict[str, tuple[float, float] | None],
    verdict: str,
) -> None:
    read({name: arms(differences)})
    found = re.findall(r"^\*\*Verdict\*\*: (.+)\.$", "\n".join(claims.sections()), re.MULTILINE)
    assert found[{"scaling": 1, "layers": 2}[name]].startswith(verdict)


def test_the_section_shows_what_was_measured(read: Callable[[dict[str, Any]], None]) -> None:
    bleu = dict.fromkeys(("test 2016", "test 2017", "MSCOCO"), interval(6, 8))
    read(
        {
            "multi30k-60-minutes": translating(58),
            "multi30k-two-cores": {**MADE, "bleu": bleu, "steps": 1234, "shared": "shared"},
            "layers": arms({"3+3": None, "2+3": (0.1, 0.2)}),
            "scaling": arms({"8, scaled": None, "8, unscaled": (0.1, 0.2)}),
        }
    )
    shown = "\n".join(table.section())
    assert NOT_YET not in shown
    assert "| 60.0 (58.0 … 62.0) |" in shown
    assert "| 5 | 31.7 | 31.7 |" in shown
    assert "| 10 | 47.3 | 47.3 |" in shown
    assert "| 7.0 (6.0 … 8.0) |" in shown
    assert "1,234 steps" in shown
    assert "+0.150 (+0.100 … +0.200)" in shown
    read({})
    assert "\n".join(table.section()).count(NOT_YET) == 3
