"""Tables and lines of any size are read in bounded memory, or reported with their line."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from glassformer.base.errors import DataError
from glassformer.data.readers import lines
from glassformer.data.readers.lines import LONGEST_LINE, Skipped, read_lines
from glassformer.data.readers.read import read
from glassformer.data.readers.rows import read_table
from tests.refusals import refused

BIG = 4_000_000


def made(kind: str, path: Path) -> Path:
    text = "w\u00f6rd " * (BIG // 6)
    with path.open("w", encoding="utf-8") as file:
        match kind:
            case "jsonl":
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
            case "csv":
                file.write(f'id,text\n1,"{text}"\n')
            case "tsv":
                file.write(f"id\ttext\n1\t{text}\n")
    return path


@pytest.mark.parametrize(("kind", "times"), [("jsonl", 6), ("tsv", 6), ("csv", 12)])
def test_a_row_of_4_megabytes_is_read_in_a_few_times_its_size(kind: str, times: int, tmp_path: Path) -> None:
    path = made(kind, tmp_path / f"x.{kind}")
    assert path.stat().st_size > BIG
    tracemalloc.start()
    found = 0
    for document in read(path):
        assert len(document.text) <= 1 << 20
        found += len(document.text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == BIG // 6 * 5
    assert peak < times * path.stat().st_size


def test_long_cells_of_parquet_that_are_stored_once_are_decoded_a_few_at_a_time(tmp_path: Path) -> None:
    path, cell, rows = tmp_path / "x.parquet", "word " * 100_000, 2000
    once = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([cell]))
    pq.write_table(pa.table({"text": once}), path)
    assert path.stat().st_size < 1_000_000 < rows * len(cell)
    del once
    found, most, before = 0, 0, pa.total_allocated_bytes()
    tracemalloc.start()
    for row in read_table(path, ["text"]):
        found += row.values["text"] == cell
        most = max(most, pa.total_allocated_bytes() - before)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == rows
    assert most < 200 * len(cell)
    assert peak < 200 * len(cell)


NULLS = pa.array([[None] * 2_000_000], pa.list_(pa.null()))
BOOK = "word " * 1_000_000
ROWS = {
    "a text": pa.table({"text": [BOOK]}),
    "a text stored once": pa.table({"text": pa.DictionaryArray.from_arrays(pa.array([0] * 9, pa.int32()), [BOOK])}),
    "a list of nulls": pa.table({"text": ["a"], "more": NULLS}),
}


@pytest.mark.parametrize("rows", ROWS)
def test_a_row_of_parquet_that_is_too_long_is_refused_before_python_holds_it(rows: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(ROWS[rows], path, compression="zstd")
    bad = Skipped()
    tracemalloc.start()
    assert list(read_table(path, bad=bad)) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bad.count == len(ROWS[rows])
    assert peak < LONGEST_LINE


@pytest.mark.long
def test_a_column_of_parquet_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": [BOOK * 16]}), path, compression="zstd")
    with refused(DataError, wanted=str(path), got="bytes"):
        next(read_table(path, ["text"], bad=Skipped()), None)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("content", ["[]", "{}", "1", '"ab"', "[1]"])
def test_a_json_line_of_many_values_takes_30_times_its_size_at_most(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a", "more": [' + ",".join([content] * (2_000_000 // (len(content) + 1))) + "]}\n")
    tracemalloc.start()
    assert len(list(read_table(path, ["text"]))) == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * path.stat().st_size


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv"])
def test_a_line_without_end_is_reported_and_not_kept(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}"
    row = {"jsonl": '{"text": "a"}\n', "csv": "1,a\n", "tsv": "1\ta\n"}[kind].encode()
    with path.open("wb") as file:
        file.write(row if kind == "jsonl" else b"id,text\n1,a\n" if kind == "csv" else b"id\ttext\n1\ta\n")
        for _ in range(50):
            file.write(b"x" * 1_000_000)
        file.write(b"\n" + row)
    bad = Skipped()
    tracemalloc.start()
    assert len(list(read_table(path, ["text"], bad=bad))) == 2
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * LONGEST_LINE
    assert bad.count == 1
    assert f"{path}, line {2 if kind == 'jsonl' else 3} " in bad.first[0]
    assert "50,000,001" in bad.first[0]


def test_the_longest_line_is_read_and_one_byte_more_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 10)
    monkeypatch.setattr(lines, "_BLOCK", 4)
    path = tmp_path / "x"
    path.write_bytes("\ufeffé234567\n".encode() + b"123456789\n1234567890\n\n12345678901")
    bad = Skipped()
    assert [(line.text, line.number) for line in read_lines(path, bad=bad)] == [("123456789", 2), ("", 4)]
    assert [message.partition("line ")[2][0] for message in bad.first] == ["1", "3", "5"]


def test_an_endless_file_of_zeros_is_binary_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with path.open("wb") as file:
        file.truncate(20 << 30)  # takes no room on the disk
    tracemalloc.start()
    with pytest.raises(DataError) as caught:
        list(read_table(path, ["text"]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(path) in caught.value.wanted
    assert peak < 10e6


def _one_endless_row() -> Iterator[bytes]:
    yield b'id,text\n1,"'
    for _ in range(60):
        yield b"x" * 999_999 + b"\n"


def test_an_endless_quoted_cell_is_reported_before_the_memory_is_full(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    with path.open("wb") as file:
        file.writelines(_one_endless_row())
    tracemalloc.start()
    with pytest.raises(DataError) as caught:
        list(read_table(path, ["text"], bad=Skipped()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert f"{path}, line 2" in caught.value.wanted
    assert peak < 12 * LONGEST_LINE
