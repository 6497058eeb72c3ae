"""Files become documents: each format alike, as a stream, and with clear words for what cannot be read."""

import csv
import errno
import gzip
import io
import json
import os
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.base.errors import DataError, MissingColumnError
from glassformer.data.readers.files import files_of
from glassformer.data.readers.lines import Skipped, read_lines
from glassformer.data.readers.read import Documents, read
from glassformer.data.readers.rows import quoted_records, read_table
from tests.refusals import refused

TEXTS = ["She likes the summer.", 'He said "no, never" – twice.', "東京, naïve café", "one | two ; three"]


def write(path: Path, texts: list[str]) -> Path:
    """The texts as documents of a file of the kind its name says."""
    kind = path.name.removesuffix(".gz").rsplit(".", 1)[-1]
    if kind == "parquet":
        sink = io.BytesIO()
        pq.write_table(pa.table({"id": list(range(len(texts))), "text": texts}), sink)
        content = sink.getvalue()
    else:
        rows: dict[str, Callable[[], str]] = {
            "txt": lambda: "\n\n".join(texts) + "\n",
            "jsonl": lambda: "".join(json.dumps({"id": n, "text": t}) + "\n" for n, t in enumerate(texts)),
            "tsv": lambda: "id\ttext\n" + "".join(f"{n}\t{t}\n" for n, t in enumerate(texts)),
            "csv": lambda: _csv([["id", "text"], *([str(n), t] for n, t in enumerate(texts))]),
        }
        content = rows[kind]().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def _csv(rows: list[list[str]]) -> str:
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\n").writerows(rows)
    return sink.getvalue()


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("kind", ["txt", "jsonl", "csv", "tsv", "parquet"])
def test_each_kind_of_file_is_read_alike(kind: str, packed: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"notes.{kind}{packed}", TEXTS)
    documents = list(read(path))
    assert [document.text for document in documents] == TEXTS
    assert not any(document.continued for document in documents)
    unit, numbers = {"txt": ("line", [1, 3, 5, 7]), "jsonl": ("line", [1, 2, 3, 4])}.get(kind, ("line", [2, 3, 4, 5]))
    if kind == "parquet":
        unit, numbers = "row", [1, 2, 3, 4]
    assert [document.where for document in documents] == [f"{path}, {unit} {number}" for number in numbers]


@pytest.mark.parametrize(
    ("documents", "wanted"),
    [
        ("blank-line", [("a\nb", 3), ("c", 7), ("d", 9)]),
        ("line", [("a", 3), ("b", 4), ("c", 7), ("d", 9)]),
        ("file", [("a\nb\n\n\nc\n  \nd", 3)]),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_where_documents_end(documents: Documents, wanted: list[tuple[str, int]], end: str, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_bytes("\ufeff\n\na\nb\n\n\nc\n  \nd\n\n".replace("\n", end).encode())
    assert [tuple(each) for each in read(path, documents=documents)] == [
        (text, f"{path}, line {line}", False) for text, line in wanted
    ]


def test_a_folder_is_its_texts_in_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt.gz", "deep/er/c.md", "plain"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        path = tmp_path / name
        path.write_bytes(gzip.compress(name.encode()) if name.endswith("gz") else name.encode())
    (tmp_path / "INDEX.tsv").write_text("a\tb\n")
    (tmp_path / ".hidden.txt").write_text("no")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config.txt").write_text("no")
    assert [document.text for document in read(tmp_path)] == ["a.txt.gz", "b.txt", "deep/er/c.md", "plain"]
    tables = tmp_path / "tables"
    tables.mkdir()
    write(tables / "y.tsv", ["two"])
    write(tables / "x.jsonl", ["one"])
    (tables / "picture.png").write_bytes(b"\x89PNG")
    assert [document.text for document in read(tables)] == ["one", "two"]


def test_columns_go_by_name_or_by_number(tmp_path: Path) -> None:
    path = tmp_path / "sms.tsv"
    path.write_text('ham\tsee you\nspam\t"win\n')
    assert [document.text for document in read(path, text="1")] == ["see you", '"win']
    path.write_text("text\tnumber\na\t1\nb\t2\n")
    assert [document.text for document in read(path)] == ["a", "b"]
    assert [document.text for document in read(path, text="0")] == ["a", "b"]
    assert [dict(row.values) for row in read_table(path)] == [
        {"text": "a", "number": "1"},
        {"text": "b", "number": "2"},
    ]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.text('ab",\n é', max_size=6), min_size=2, max_size=2), min_size=1, max_size=6))
def test_csv_is_read_as_the_standard_library_writes_it(tmp_path: Path, rows: list[list[str]]) -> None:
    path = tmp_path / "x.csv"
    path.write_text(_csv([["left", "right"], *rows]), newline="")
    filled = [bool("".join(row).strip() or "\n" in "".join(row)) for row in rows]
    whole = [row if its else ["", ""] for row, its in zip(rows, filled, strict=True)]
    while filled and not filled.pop():  # delimiters alone after the last row
        whole.pop()
    assert [list(row.values.values()) for row in read_table(path, ["left", "right"])] == whole


@pytest.mark.parametrize("row", ['5" disk,"x\r\ny"', '"x ""q"" \r\ny",2', '6" by 5","x\r\ny"'])
def test_a_line_end_in_quotes_stays_whatever_quotes_are_next_to_it(row: str, tmp_path: Path) -> None:
    path, written = tmp_path / "x.csv", f"left,right\r\n{row}\r\n1,2\r\n"
    path.write_text(written, newline="")
    wanted = list(csv.reader(io.StringIO(written, newline="")))
    assert [cells for _, cells in quoted_records(path, ",")] == wanted


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from("aé東😀\n "), min_size=1, max_size=40), st.integers(1, 9))
def test_long_lines_are_cut_between_characters(tmp_path: Path, text: str, longest: int) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text, newline="")
    whole = list(read_lines(path))
    parts: dict[int, str] = {}
    for line in read_lines(path, longest=max(longest, 4)):
        parts[line.number] = parts.get(line.number, "") + line.text
    assert parts == {line.number: line.text for line in whole}


@pytest.mark.long
@pytest.mark.parametrize("line_length", [80, 10**9])
@pytest.mark.parametrize("documents", ["blank-line", "file"])
def test_a_long_document_streams_in_parts(documents: Documents, line_length: int, tmp_path: Path) -> None:
    words = "".join(f"wörd{number} " for number in range(750_000))
    text = "\n".join(words[at : at + line_length] for at in range(0, len(words), line_length)).rstrip("\n")
    path = tmp_path / "book.txt"
    path.write_text(text, newline="")
    del words
    tracemalloc.start()
    count, hashed, continued = 0, 0, []
    for document in read(path, documents=documents):
        count, hashed = count + len(document.text), hash((hashed, document.text[-9:]))
        continued.append(document.continued)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6 < path.stat().st_size
    assert continued == [False] + [True] * (len(continued) - 1)
    assert "".join(document.text for document in read(path, documents=documents)) == text


def _bad_gzip(path: Path) -> None:
    path.write_bytes(gzip.compress(b"some words and more of them\n" * 99)[:-20])


def _bad_sum(path: Path) -> None:
    content = bytearray(gzip.compress(b"some words"))
    content[-6] ^= 1
    path.write_bytes(bytes(content))


def _bad_page(path: Path) -> None:
    """Heading and end are whole, a page between them is not."""
    write(path, [f"{text} {number}" for number, text in enumerate(TEXTS * 200)])
    content = bytearray(path.read_bytes())
    content[len(content) // 4 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 4)
    path.write_bytes(bytes(content))


def _late_date(path: Path) -> None:
    pq.write_table(pa.table({"text": pa.array([2**62], pa.timestamp("us"))}), path)


def _long_time(path: Path) -> None:
    pq.write_table(pa.table({"text": pa.array([2**60], pa.duration("s"))}), path)


def _folder(path: Path) -> None:
    path.mkdir()


def _bytes(content: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(content)

    return make


# What makes the file, then what the error carries: in `wanted` besides the path, and in `got`.
BROKEN: list[tuple[str, Callable[[Path], None], str, str]] = [
    ("x.txt", _bytes(b""), "", "empty"),
    ("x.txt", _bytes(b" \n\t\n\n"), "", "blanks"),
    ("x.txt.gz", _bytes(gzip.compress(b"")), "", "empty"),
    ("x.txt", _bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "", "8"),
    ("x.txt", _bytes("wörds".encode("utf-16")), "UTF-8", "UTF-16"),
    ("x.txt", _bytes("wörds".encode("utf-32")), "UTF-8", "UTF-32"),
    ("x.txt", _bytes(b"\0\0\xfe\xff" + "wörds".encode("utf-32-be")), "UTF-8", "UTF-32"),
    ("x.txt", _bytes(b"good\n" * 5000 + b"bad \0\n"), "line 5001", "0x00 at byte 25004"),
    ("x.jsonl", _bytes(b'{"text": "good"}\n' * 5000 + b'{"text": "\0"}\n'), "line 5001", "0x00 at byte 85010"),
    ("x.csv", _bytes(b"id,text\n" + b"1,good\n" * 5000 + b"2,\0\n"), "line 5002", "0x00 at byte 35010"),
    ("x.jsonl", _bytes(b'{"text": "a"}\n{"text": "b", "text": "c"}\n'), "line 2", "'text'"),
    ("x.jsonl", _bytes(b'{"text": "a", "more": [{"b": 1, "b": 1}]}\n'), "line 1", "'b'"),
    ("x.txt", _bytes(b"good\nbad \xff\n"), "line 2", "0xff at byte 9"),
    ("x.txt", _bytes(b"\xef\xbb\xbfgood\nbad \xff\n"), "line 2", "0xff at byte 12"),
    ("x.txt", _bytes(b"cut in the character \xe6\x9d"), "line 1", "0xe6 at byte 21"),
    ("x.txt.gz", _bad_gzip, "gzip", "damaged"),
    ("x.txt.gz", _bad_sum, "gzip", "damaged"),
    ("x.txt.gz", _bytes(b"no gzip"), "gzip", "damaged"),
    ("x.jsonl", _bytes(b'{"text": "a"}\n{"text": \n'), "line 2", "column 10"),
    ("x.jsonl", _bytes(b"[" * 100_000), "line 1", "brackets"),
    ("x.jsonl", _bytes(b'{"text": "a", "id": ' + b"1" * 5000 + b"}"), "line 1", "5000"),
    ("x.jsonl", _bytes(b'{"text": "a \\ud800 b"}'), "line 1", r"'\ud800'"),
    ("x.jsonl", _bytes(b'["a"]\n'), "line 1", "list"),
    ("x.jsonl", _bytes(b'{"text": 3}\n'), "line 1: column 'text'", "3"),
    ("x.jsonl", _bytes(b'{"text": " "}\n'), "line 1: column 'text'", "blanks"),
    ("x.csv", _bytes(b"id,text\n1,a\n\n2\n"), "line 4", "1"),
    ("x.csv", _bytes(b'id,text\n1,"a\n2,b\n'), "line 2", "none"),
    ("x.csv", _bytes(b"text,id,text\n1,2,3\n"), "line 1", "'text'"),
    ("x.csv", _bytes(b"\n \n"), "rows", "none"),
    ("x.tsv", _bytes(b"text\n"), "text", "blanks"),
    ("x.tsv", _bytes(b"id\ttext\n1\ta\tb\n"), "line 2", "3"),
    ("x.parquet", _bytes(b"PAR1 no"), "Parquet", "7"),
    ("x.parquet", _bytes(b""), "Parquet", "0"),
    ("x.parquet", _bad_page, "Parquet", ""),
    ("x.parquet", _late_date, "dates and times", "range"),
    ("x.parquet", _long_time, "dates and times", "too large"),
    ("x.parquet.gz", _bad_gzip, "gzip", "damaged"),
    ("x.json", _bytes(b'["a"]'), "table", "JSON"),
    ("nowhere.txt", lambda path: None, "", "no such file"),
    ("folder", _folder, ".parquet", "empty"),
]


@pytest.mark.parametrize(("name", "make", "wanted", "got"), BROKEN)
def test_what_cannot_be_read_is_said_in_a_sentence(
    name: str, make: Callable[[Path], None], wanted: str, got: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    make(path)
    with refused(DataError, wanted=(str(path), wanted), got=got):
        list(read(path))


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [("x.jsonl", b'{"txt": "a"}\n', "txt"), ("x.csv", b"id,txt\n1,a\n", "id, txt")],
)
def test_a_missing_column_is_reported_with_those_that_are_there(
    name: str, content: bytes, columns: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with refused(MissingColumnError, wanted=(f"{tmp_path / name}, line 1", "'text'"), got=columns, do="'txt'"):
        list(read(tmp_path / name))


def test_more_that_cannot_be_read(tmp_path: Path) -> None:
    with refused(DataError, got="none", do="data.files"):
        files_of([])
    with refused(DataError, wanted=str(tmp_path), got="folder"):
        list(read_lines(tmp_path))
    with refused(DataError, wanted=str(tmp_path / "nowhere"), got="no such file"):
        list(read_lines(tmp_path / "nowhere"))
    with refused(DataError, wanted=str(tmp_path / "x.md"), do=(".jsonl", ".csv", ".tsv", ".parquet")):
        list(read_table(tmp_path / "x.md"))
    path = write(tmp_path / "x.parquet", ["a"])
    with refused(MissingColumnError, wanted=(str(path), "'txt'"), got="id, text", do="'text'"):
        list(read(path, text="txt"))
    (tmp_path / "sub").mkdir()
    shutil.move(path, tmp_path / "sub" / "x.bin")
    with refused(DataError, wanted=str(tmp_path / "sub"), got="x.bin"):
        files_of([tmp_path / "sub"])


def test_a_disk_that_fails_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(io.BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = write(tmp_path / "x.txt", TEXTS)
    monkeypatch.setattr("glassformer.data.readers.lines.open_bytes", lambda path: Failing())
    with refused(DataError, wanted=str(path), got="Input/output error"):
        list(read(path))


def test_half_a_character_where_nobody_looks(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a \\ud83d\\ude00", "id": "\\ud800"}')
    assert [document.text for document in read(path)] == ["a 😀"]


@pytest.mark.parametrize(
    ("name", "content", "good", "count"),
    [
        ("x.jsonl", b'{"text": "a"}\n{\n{"txt": "b"}\n{"text": ""}\n\xff\n{"text": "c"}\n', ["a", "c"], 4),
        ("x.jsonl", b'{"text": "a"}\n{"n": ' + b"9" * 5000 + b'}\n{"text": "\\udc00"}\n{"text": "c"}', ["a", "c"], 2),
        ("x.csv", b"id,text\n1,a\n2\n3,c\n", ["a", "c"], 1),
        ("x.txt", b"a\n\n\xff\n\nc\n", ["a", "c"], 1),
    ],
)
def test_bad_rows_can_be_set_aside_and_are_counted(
    name: str, content: bytes, good: list[str], count: int, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    bad = Skipped(keep=2)
    assert [document.text for document in read(path, bad=bad)] == good
    assert bad.count == count
    assert len(bad.first) == min(count, 2)
    assert all(name in message for message in bad.first)


def test_a_file_of_bad_lines_alone_is_left_out_with_them(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9\n")
    (tmp_path / "good.txt").write_text("good")
    bad = Skipped()
    assert [document.text for document in read(tmp_path, bad=bad)] == ["good"]
    assert bad.count == 1
