"""A report for display: nothing wider than 80 columns, no user text read as markup, unknown parts left alone."""

import io
from typing import Any

import pytest
from rich.cells import cell_len

from glassformer.cli.train.report import show_report
from glassformer.scoring.calibration import Reliability
from glassformer.scoring.verdict import MATRIX_LABELS, PAIRS, QUOTED, WORST, Worst, by_label, confusion
from glassformer.tasks.labels.labels import Labelled


def shown(report: dict[str, Any]) -> str:
    handle = io.StringIO()
    show_report(report, handle)
    return handle.getvalue()


@pytest.mark.parametrize("labels", [2, 4, 12, 13, 10_000])
def test_a_report_is_at_most_80_columns_wide(labels: int) -> None:
    names = [f"[b]label 猫 {number} with a long name that goes on and on" for number in range(labels)]
    true = [number * 7919 % labels for number in range(2000)]
    guessed = [number * 7919 % labels if number % 3 else number * 13 % labels for number in range(2000)]
    reliability, worst = Reliability(), Worst()
    for number in range(2000):
        reliability.add(number % 100 / 100, number % 2)
        worst.add(
            number % 37, Labelled(f"[red]{'word ' * number}", "猫" * 300, 0), {"label": names[0], "probability": 0.1}
        )
    report = {
        "labels": by_label([[one] for one in true], [[one] for one in guessed], names),
        **confusion(true, guessed, names),
        "calibration": reliability.report(1.5),
        **worst.report(),
        "unknown": [1],
        "by_kind": [{"kind": "[i]" * 40, "share": 0.123456, **{f"column {n}": n for n in range(9)}}] * 50,
        "number_of_things": 1234,
    }
    assert ("confusion" in report) is (labels <= MATRIX_LABELS)
    assert len(report["confused"]) <= PAIRS
    assert len(report["worst"]) == WORST
    assert max(len(each["text"]) for each in report["worst"]) <= QUOTED
    lines = shown(report).splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert any("[b]label" in line for line in lines)
    assert "number of things: 1,234" in lines


def test_source_reference_and_translation_are_distinguished() -> None:
    texts = {"source": "Two [b]dogs run " * 12, "reference": "Deux chiens courent.", "translation": "Un chien court."}
    lines = shown({"worst": [{**texts, "chrf": 17.12}]}).splitlines()
    assert max(map(cell_len, lines)) <= 80
    at = {role: next(n for n, line in enumerate(lines) if line.split()[:1] == [role]) for role in texts}
    assert at["source"] < at["reference"] < at["translation"]
    for role, text in texts.items():
        end = min((other for other in at.values() if other > at[role]), default=len(lines))
        assert " ".join(lines[at[role] : end]).split() == [role, *text.split()]
    assert any("17.12" in line for line in lines[: at["source"]])


def test_labels_that_share_their_beginning_can_be_distinguished() -> None:
    names = [
        f"the customer's request number one concerns {what}"
        for what in ("a refund", "a parcel", "猫猫猫猫", "an account")
    ]
    true = [0, 1, 2, 3, 0, 1, 2, 3]
    guessed = [1, 2, 3, 0, 0, 1, 2, 3]
    report = {
        "labels": by_label([[one] for one in true], [[one] for one in guessed], names),
        **confusion(true, guessed, names),
    }
    rows = [line.split("  ")[0].strip() for line in shown(report).splitlines() if "…" in line]
    assert len({row for row in rows if row.startswith("the")}) >= 4
    assert all(any(what in line for line in shown(report).splitlines()) for what in ("refund", "parcel", "account"))


def test_the_confusion_matrix_counts_and_shades() -> None:
    found = confusion([0, 0, 0, 0, 1], [0, 0, 0, 1, 1], ["cat", "dog"])
    assert found["confusion"]["counts"] == [[3, 1], [0, 1]]
    assert found["confused"] == [{"label": "cat", "guessed": "dog", "count": 1}]
    text = shown(found)
    assert "▓3▓" in text
    assert "█1█" in text
    assert " 0 " in text


def test_the_worst_are_those_with_the_largest_errors_in_order() -> None:
    worst = Worst()
    for number in range(100):
        worst.add(number * 37 % 101, Labelled(f"text {number}", None, None), {"error": number * 37 % 101})
    errors = [each["error"] for each in worst.report()["worst"]]
    assert errors == sorted((number * 37 % 101 for number in range(100)), reverse=True)[:WORST]
    assert "quotes" in worst.report()
    assert Worst().report() == {}


def test_nothing_is_shown_of_an_empty_report() -> None:
    assert shown({}) == ""
