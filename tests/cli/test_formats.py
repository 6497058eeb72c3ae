"""`--out x.jsonl`, `.csv`, `.tsv`, `.parquet`: the suffix decides the format of answers."""

import csv
import gzip
import io
import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from glassformer.cli.terminal.outputs import RECORDS, write_table
from tests.cli.conftest import Run

_FIRST: list[dict[str, Any]] = [
    {"id": 1, "text": 'a, "b"\tc\nd', "label": "x", "shares": {"x": 0.5, "y": 0.5}, "tags": ["A", "B"]},
    {"text": "\ud800é", "label": None, "score": 2, "tags": []},
    {"id": "two", "text": "\\udc80", "score": 0.25, "shares": {}, "more": "NaN"},
]
_LATE: dict[str, Any] = {"text": "z", "label": "late", "score": -1e300, "new": True}
ROWS = [*_FIRST, *[_LATE] * 1500]


def table_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_records_come_back_from_a_table(tmp_path: Path, suffix: str) -> None:
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
    text = lines.encode("utf-8", errors="backslashreplace").decode()
    write_table(io.StringIO(text), tmp_path / f"x{suffix}", suffix)
    found = table_of(tmp_path / f"x{suffix}")
    assert len(found) == len(ROWS)
    assert list(found[0]) == ["id", "text", "label", "shares", "tags", "score", "more", "new"]
    assert (found[0]["text"], found[1]["text"], found[2]["text"]) == (ROWS[0]["text"], "\\ud800é", "\\udc80")
    assert json.loads(found[0]["shares"]) == ROWS[0]["shares"]
    assert [each["label"] or None for each in found[:3]] == ["x", None, None]
    if suffix == ".parquet":
        assert (found[0]["tags"], found[1]["tags"], found[2]["tags"]) == (["A", "B"], [], None)
        assert [each["score"] for each in found[:4]] == [None, 2.0, 0.25, -1e300]
        assert (found[0]["id"], found[2]["id"]) == ("1", "two")
    else:
        assert json.loads(found[0]["tags"]) == ["A", "B"]
        assert [each["score"] for each in found[:3]] == ["", "2", "0.25"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (b"\xef\xbb\xbfid;text\n1;a\n", b"\xef\xbb\xbfid;text;score\n1;a;0,25\n"),
        (b"id;text;price\n1;a;1.600\n", b"id;text;score\n1;a;0,25\n"),  # thousands
        (b"id;text;price\n1;a;1.5\n", b"id;text;score\n1;a;0.25\n"),
        (b"id;text;price\n1;a;1,5\n2;b;2,5\n3;c;12.05\n", b"id;text;score\n1;a;0,25\n"),  # most have a comma
        (b"id,text\n1,a\n", b"id,text,score\n1,a,0.25\n"),
        (b"\xef\xbb\xbfid|text\n1|a\n", b"\xef\xbb\xbfid,text,score\n1,a,0.25\n"),  # no spreadsheet writes it
        (b"", b"id,text,score\n1,a,0.25\n"),
        (b"a line of text\nanother\n", b"id,text,score\n1,a,0.25\n"),
    ],
)
@pytest.mark.parametrize("name", ["read.csv", "read.csv.gz"])
def test_a_csv_file_is_written_as_the_one_that_was_read(
    tmp_path: Path, name: str, written: bytes, expected: bytes
) -> None:
    (tmp_path / name).write_bytes(gzip.compress(written) if name.endswith("gz") else written)
    lines = io.StringIO('{"id": 1, "text": "a", "score": 0.25}\n')
    write_table(lines, tmp_path / "x.csv", ".csv", [tmp_path / "more.jsonl", tmp_path / name])
    assert (tmp_path / "x.csv").read_bytes() == expected


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_carriage_return_in_a_cell_divides_no_row(suffix: str, tmp_path: Path) -> None:
    table = tmp_path / f"x{suffix}"
    write_table(io.StringIO('{"id": 1, "text": "red\\rcat"}\n{"id": 2, "text": "a, b"}\n'), table, suffix)
    with table.open(newline="") as handle:
        rows = list(csv.reader(handle, delimiter="," if suffix == ".csv" else "\t"))
    assert rows == [["id", "text"], ["1", "red\rcat"], ["2", "a, b"]]


@pytest.mark.parametrize("name", ["answers.csv.gz", "answers.xlsx", "answers.json", "answers.conll"])
def test_a_suffix_that_would_not_be_kept_is_refused(run: Run, trained: Path, tmp_path: Path, name: str) -> None:
    for json_ in ([], ["--json"]):
        done = run("fill", trained, "She [MASK] the summer", "--out", tmp_path / name, *json_)
        as_it_is = bool(json_) and name == "answers.json"  # lines of JSON, as asked for
        assert (done.code, (tmp_path / name).exists()) == ((0, True) if as_it_is else (2, False))
        assert as_it_is or name in done.err


@pytest.mark.parametrize("files", [True, False])
def test_the_suffix_decides_the_format(run: Run, trained: Path, tmp_path: Path, files: bool) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("She [MASK] the summer\nHe [MASK] it\n")
    asked = ["--file", texts] if files else texts.read_text().splitlines()
    expected = run("fill", trained, *asked, "--json").records
    for suffix in RECORDS:
        out = tmp_path / f"answers{suffix}"
        assert run("fill", trained, *asked, "--out", out).code == 0
        if suffix == ".jsonl":
            assert [json.loads(line) for line in out.read_text().splitlines()] == expected
        else:
            assert [(list(each), each["text"]) for each in table_of(out)] == [(list(e), e["text"]) for e in expected]
    assert run("fill", trained, *asked, "--out", tmp_path / "answers").code == 0
    assert not (tmp_path / "answers").read_text().startswith("{")
    assert {path.suffix for path in tmp_path.iterdir()} == {".txt", "", *RECORDS}


def test_a_measurement_as_a_table(run: Run, trained: Path, text_file: Path, tmp_path: Path) -> None:
    assert run("evaluate", trained, text_file, "--out", tmp_path / "scores.csv").code == 0
    (row,) = table_of(tmp_path / "scores.csv")
    assert float(row["accuracy"]) >= 0
    assert (
        run("embed", trained, "She likes", "He likes", "--compare-word", "likes", "-o", tmp_path / "w.parquet").code
        == 0
    )
    assert "cosines" in table_of(tmp_path / "w.parquet")[0]


def test_integers_that_no_float_holds_are_texts_where_a_later_row_has_a_float(tmp_path: Path) -> None:
    large = (1 << 53) + 1
    whole: list[Any] = [large] * 600
    ids: dict[str, list[Any]] = {"whole": whole, "mixed": [*whole, 1.5], "lists": [[of] for of in [*whole, 1.5]]}
    for name, values in ids.items():
        lines = "".join(json.dumps({"id": value}) + "\n" for value in values)
        write_table(io.StringIO(lines), tmp_path / f"{name}.parquet", ".parquet")
        found = [row["id"] for row in pq.read_table(tmp_path / f"{name}.parquet").to_pylist()]
        assert found == (values if name == "whole" else [json.dumps(value) for value in values])


def test_dates_and_decimals_of_parquet_come_back_as_texts(run: Run, trained: Path, tmp_path: Path) -> None:
    ids = [date(2024, 1, 31), Decimal("1.50"), datetime(2024, 1, 31, 12, 30)]
    for number, value in enumerate(ids):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"id": [value], "text": ["A [MASK] film."]}), path)
        answered = run("fill", trained, "--file", path, "--json")
        assert json.loads(answered.out)["id"] == str(value)
        run("fill", trained, "--file", path, "--out", tmp_path / f"{number}.jsonl")
        assert json.loads((tmp_path / f"{number}.jsonl").read_text())["id"] == str(value)
