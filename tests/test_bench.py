"""`python -m bench`: its help measures nothing, and where there is no browser the end says so."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch

from bench import __main__ as bench
from bench import gpu
from tests.contracts.families import FAMILIES


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rows that were measured, of which each takes no time."""
    rows: list[str] = []

    def run(words: list[str], **given: Any) -> Any:
        rows.append(words[2])
        return subprocess.CompletedProcess(words, 3 if words[2] == "bench.broken" else 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(bench, "path", lambda: None)
    monkeypatch.setattr(sys, "argv", ["bench"])
    return rows


def test_help_measures_nothing(measured: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--help"])
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert (ended.value.code, measured) == (0, [])


def test_without_a_browser_all_other_rows_are_measured(measured: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert "Chromium" in str(ended.value.code)
    assert measured == [row[0] for row in bench.ROWS.values() if row[0] != "bench.page"]


def test_a_row_that_fails_is_named(measured: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "ROWS", {"broken": ("bench.broken",), "startup": ("bench.startup",)})
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert "bench.broken" in str(ended.value.code)
    assert measured == ["bench.broken"]


def test_one_row_is_run_by_its_name(measured: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "engines-query", "--try"])
    bench.main()
    assert measured == ["bench.engines"]


def test_the_run_of_a_gpu_finds_nothing_wrong_on_the_cpu() -> None:
    found = gpu.measured(torch.device("cpu"), dry=True)
    assert found["wrong"] == []
    assert found["parity"]["models"] == len(FAMILIES)
    assert found["parity"]["worst"]["float32"]["difference"] < 1e-5
    assert found["resumed"] == {**found["resumed"], "to_the_bit": True, "largest_difference": 0.0}
    assert found["decoding"]["equal"] == 1.0
    assert found["vectors"]["least_cosine"] > 0.999
    assert {"ours", "transformers, expert"} == set(found["masked_words"]["tokens_per_second"])


def test_what_a_gpu_gets_wrong_is_named() -> None:
    right = {"parity": {"too_large": []}, "decoding_parity": {"wrong": []}, "resumed": {"to_the_bit": False}}
    assert gpu.wrong(right, torch.device("cuda")) == []
    bad = {**right, "parity": {"too_large": ["bert"]}, "vectors": {"error": "RuntimeError: no memory"}}
    assert len(gpu.wrong(bad, torch.device("cpu"))) == 3
