"""The bill of materials and the audit of a release: what is counted as known, and what could not be done."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.release import bill

FINE = {"name": "numpy", "version": "2.4.6", "vulns": []}
WEAK = {
    "name": "old",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}, {"id": "X-2", "fix_versions": []}],
}
UNKNOWN = {"name": "torch", "skip_reason": "not found"}
OURS = {"name": "glassformer", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "words"),
    [
        ([FINE, OURS], []),
        ([FINE, WEAK], [("old", "1.0", "PYSEC-1", "1.1"), ("old", "1.0", "X-2")]),
        ([FINE, UNKNOWN], [("torch",)]),
    ],
)
def test_each_weakness_has_a_line(packages: list[dict[str, Any]], words: list[tuple[str, ...]]) -> None:
    lines = bill.weaknesses({"dependencies": packages})
    assert len(lines) == len(words)
    assert all(word in line for line, its in zip(lines, words, strict=True) for word in its)


def test_a_database_that_knows_nothing_is_no_clean_audit() -> None:
    with pytest.raises(bill.NotDoneError, match="advisory database"):
        bill.weaknesses({"dependencies": [UNKNOWN, OURS]})


def test_a_tool_that_is_missing_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert bill.main([sys.executable, str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "[release]" in said
    assert said.count("\n") == 1


@pytest.mark.skipif(importlib.util.find_spec("cyclonedx_py") is None, reason="needs the extra release")
def test_the_bill_names_the_packages_of_an_environment(tmp_path: Path) -> None:
    found = bill.bill(sys.executable, tmp_path / "sbom.json")
    made = json.loads((tmp_path / "sbom.json").read_text())
    assert made["bomFormat"] == "CycloneDX"
    assert {"glassformer==0.1.0"} < set(found)
    assert all(part["purl"].startswith("pkg:pypi/") for part in made["components"] if part["name"] == "numpy")
