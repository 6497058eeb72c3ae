"""`python -m bench`: its help measures nothing, and where there is no browser the end says so."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from bench import __main__ as bench


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
    assert measured == [row[0] for row in bench.ROWS if row[0] != "bench.page"]


def test_a_row_that_fails_is_named(measured: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "ROWS", (("bench.broken",), ("bench.startup",)))
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert "bench.broken" in str(ended.value.code)
    assert measured == ["bench.broken"]
