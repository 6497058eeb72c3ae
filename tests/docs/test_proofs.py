"""The longer proofs' results: each stays with the day, the machine and the torch that it ran on."""

import time
from pathlib import Path

import pytest
import torch

from experiments import proofs, results
from glassformer.runtime import made_on

REPORT = """<testsuites><testsuite name="pytest">{}</testsuite></testsuites>"""
CASE = '<testcase classname="tests.training.test_killed" name="{}" time="{}">{}</testcase>'


def run(path: Path, *cases: str) -> dict[str, dict[str, object]]:
    """All that is kept after a run of these cases, by the name of the test."""
    path.write_text(REPORT.format("".join(cases)), encoding="utf-8")
    proofs.keep(path)
    kept = results.read(proofs.NAME)
    assert kept is not None
    return {name.rpartition("::")[2]: proof for name, proof in kept["proofs"].items()}


def test_what_was_not_run_again_keeps_its_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(made_on, "processor", lambda: "an abacus")
    monkeypatch.setattr(made_on, "products", lambda: "float32")
    monkeypatch.setattr(torch, "__version__", "1.0")
    monkeypatch.setattr(time, "strftime", lambda _: "1999-12-31")
    first = run(tmp_path / "report.xml", CASE.format("twice", 12.34, ""), CASE.format("once", 1, ""))
    monkeypatch.setattr(made_on, "processor", lambda: "a loom")
    monkeypatch.setattr(made_on, "products", lambda: "bfloat16")
    monkeypatch.setattr(torch, "__version__", "2.0")
    monkeypatch.setattr(time, "strftime", lambda _: "2000-01-01")
    second = run(tmp_path / "report.xml", CASE.format("twice[a]", 7, "<failure/>"), CASE.format("twice[b]", 0.5, ""))
    assert second["once"] == first["once"]
    assert second["once"] == {
        "outcome": "passed",
        "cases": 1,
        "seconds": 1.0,
        "date": "1999-12-31",
        "machine": "an abacus",
        "torch": "1.0",
        "products": "float32",
    }
    assert second["twice"] == {
        "outcome": "failure",
        "cases": 2,
        "seconds": 7.5,
        "date": "2000-01-01",
        "machine": "a loom",
        "torch": "2.0",
        "products": "bfloat16",
    }


def test_the_slowest_cases_are_kept_with_the_sum_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    cases = [CASE.format(f"of[{seconds}]", seconds, "") for seconds in (3, 9, 1)]
    (tmp_path / "report.xml").write_text(REPORT.format("".join(cases)), encoding="utf-8")
    proofs.keep_slowest(tmp_path / "report.xml", most=2)
    kept = results.read(proofs.SLOWEST)
    assert kept is not None
    assert (kept["cases"], kept["seconds"], list(kept["slowest"].values())) == (3, 13.0, [9.0, 3.0])
