"""What is reported of a table of pairs before training: which of its columns are not read."""

import json
from pathlib import Path
from typing import Any

import pytest

from glassformer.tasks.writing.translate.settings import TranslateData
from glassformer.tasks.writing.translate.task import table_note

ROWS = [("Two dogs run.", "Deux chiens courent.", f"note {number}", "x") for number in range(12)]
HEADER = ("source", "target", "note", "more")


def table(path: Path, columns: int, *, header: bool) -> Path:
    rows = [HEADER, *ROWS] if header else ROWS
    if path.suffix == ".jsonl":
        lines = [json.dumps(dict(zip(HEADER[:columns], row, strict=False))) for row in ROWS]
    else:
        lines = ["\t".join(row[:columns]) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "header", "data", "unread"),
    [
        ("a.tsv", True, {}, ["note", "more"]),
        ("a.tsv", False, {}, ["2", "3"]),
        ("a.tsv", True, {"text": "2", "target": "1"}, ["source", "more"]),
        ("a.tsv", True, {"text": "note", "target": "source"}, ["target", "more"]),
        ("a.jsonl", True, {}, ["note", "more"]),
    ],
)
def test_columns_that_are_not_read_are_named(
    tmp_path: Path, name: str, header: bool, data: dict[str, Any], unread: list[str]
) -> None:
    found = table_note(TranslateData(**data), table(tmp_path / name, 4, header=header))
    assert found.rpartition("not read: ")[2].split(", ") == unread


def test_a_table_of_two_columns_leaves_none_out(tmp_path: Path) -> None:
    assert "not read" not in table_note(TranslateData(), table(tmp_path / "a.tsv", 2, header=True))


def test_of_many_columns_a_few_are_named(tmp_path: Path) -> None:
    path = tmp_path / "wide.tsv"
    names = ["source", "target", *(f"{'long' * 20}{n}" for n in range(50))]
    path.write_text("\t".join(names) + "\n" + "\t".join(["a"] * 52) + "\n", encoding="utf-8")
    found = table_note(TranslateData(), path)
    assert "46 more" in found
    assert len(found) < 350
