"""Tables: how they are written is found out, and each row is read or reported with its line."""

import csv
import io
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.base.errors import DataError, MissingColumnError
from glassformer.data.readers.lines import Skipped
from glassformer.data.readers.rows import lacks_column, read_table
from glassformer.data.readers.table_format import TableFormat, find_format
from tests.refusals import refused


def form(delimiter: str, columns: int | tuple[str, ...], *, quoted: bool = False) -> TableFormat:
    header = not isinstance(columns, int)
    names = tuple(map(str, range(columns))) if isinstance(columns, int) else columns
    return TableFormat("delimited", delimiter, quoted, header, names)


SICK = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
MRPC = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")


@pytest.mark.parametrize(
    ("name", "columns", "wanted", "rows"),
    [
        ("sst2/train.tsv", ("0", "1"), form("\t", 2), 6920),
        ("sms_spam/sms.tsv", ("1", "0"), form("\t", 2), 5574),
        ("mrpc/msr_paraphrase_train.txt", ("#1 String", "Quality"), form("\t", MRPC), 4076),
        ("mrpc/msr_paraphrase_test.txt", ("3", "0"), form("\t", MRPC), 1725),
        ("sick/SICK_train.txt", ("sentence_A",), form("\t", SICK), 4500),
        ("sick/SICK_trial.txt", ("1", "4"), form("\t", SICK), 500),
        ("sts_benchmark/stsb-en-train.csv", ("0", "2"), form(",", 3, quoted=True), 5749),
        ("tatoeba_en_fr/test.tsv", ("0", "1"), form("\t", 2), 3455),
        pytest.param("tatoeba_en_fr/train.tsv.gz", ("0",), form("\t", 2), 162_066, marks=pytest.mark.long),
    ],
)
def test_how_the_data_sets_are_written(
    name: str, columns: tuple[str, ...], wanted: TableFormat, rows: int, data_directory: Path
) -> None:
    path = data_directory / name
    if not path.exists():
        pytest.skip(f"{name} is not among the data sets here")
    assert find_format(path, columns) == wanted
    count = 0
    for row in read_table(path, columns):
        assert tuple(row.values) == columns
        assert all(row.values.values())
        count += 1
    assert count == rows


@pytest.mark.parametrize("name", ["sick/readme.txt", "self_dialogue/pop.txt", "text_state_union/1945-Truman.txt",
                                  "dailydialog_dev_test/readme.txt"])  # fmt: skip
def test_what_is_no_table(name: str, data_directory: Path, tmp_path: Path) -> None:
    path = data_directory / name
    if not path.exists():
        pytest.skip(f"{name} is not among the data sets here")
    copy = tmp_path / "copy.txt"
    copy.write_bytes(path.read_bytes())
    for each in (path, copy):
        with pytest.raises(DataError) as caught:
            find_format(each, ["0", "1"])
        assert str(each) in caught.value.wanted


MADE: list[tuple[str, str, tuple[str, ...], TableFormat]] = [
    ("x.csv", "text,label\ngood,1\nbad,0\n", ("text",), form(",", ("text", "label"), quoted=True)),
    ("x.csv", "text,label\ngood,1\nbad,0\n", ("0", "1"), form(",", ("text", "label"), quoted=True)),
    ("x.csv", "good,1\nbad,0\n", ("0", "1"), form(",", 2, quoted=True)),
    ("x.csv", "id;text\n1;a, b\n2;c\n3;d, e, f\n", ("text",), form(";", ("id", "text"), quoted=True)),
    ("x.csv", "id\ttext\n1\ta, b\n2\tc\n", ("text",), form("\t", ("id", "text"))),
    ("x.csv", "text\njust one\ncolumn\n", ("text",), form(",", ("text",), quoted=True)),
    ("x.csv", 'text\n"a, b"\n"c"\n', ("text",), form(",", ("text",), quoted=True)),
    ("x.csv", 'id,text\n1,he said "no"\n2,"why"? she asked\n', ("text",), form(",", ("id", "text"))),
    ("x.csv", 'id,text\n1,"a, b"\n2,"c"\n3,"d" e\n', ("text",), form(",", ("id", "text"), quoted=True)),
    ("x.tsv", '\ufeffid\ttext\r\n1\t"a\tb\r\nc"\r\n2\td\r\n', ("text",), form("\t", ("id", "text"), quoted=True)),
    ("x.tsv", 'id\ttext\n1\t"a" b\n2\t"c"\n', ("text",), form("\t", ("id", "text"))),
    ("x.tsv", 'id\ttext\n1\t"open\n2\tc\n', ("text",), form("\t", ("id", "text"))),
    ("x.txt", "id|text\n1|a\n2|b\n", ("text",), form("|", ("id", "text"))),
    ("x.txt", "spam\twin now\nham\tsee you\nham\tok\nspam\tcash, cash\n", ("0", "1"), form("\t", 2)),
    ("x.tsv", "kind\twords\nspam\twin now\nham\tsee you\nham\tok\nspam\tcash\n", ("0",), form("\t", ("kind", "words"))),
    ("x.tsv", "english\tfrench\n" + "".join(f"sentence {n}\tla phrase {n}\n" for n in range(12)), ("0", "1"),
      form("\t", ("english", "french"))),
    ("x.tsv", "first\tsecond\nA man eats.\tA dog runs.\n", ("0", "1"), form("\t", ("first", "second"))),
    ("x.tsv", "Hello\tBonjour\nGood morning.\tJour de chance.\n", ("0", "1"), form("\t", 2)),
    ("x.tsv", "hello\tbonjour\nGood morning.\tJour de chance.\n", ("0", "1"), form("\t", 2)),
    ("x.tsv", "English\tFrench\nGo.\tVa.\n", ("0", "1"), form("\t", ("English", "French"))),
    ("x.csv", "Frage;Antwort\nWie?;Gut.\n", ("0", "1"), form(";", ("Frage", "Antwort"), quoted=True)),
    ("x.csv", "Datum;Satz\n2026-11-30;Go.\n01.02.2026;Run.\n", ("1",), form(";", ("Datum", "Satz"), quoted=True)),
    ("x.tsv", "text\tlabel\nSo good.\tpos\nBad.\tneg\nGood.\tpos\n", ("0", "1"), form("\t", ("text", "label"))),
    ("x.tsv", "text\tlabel\nSo good.\tpos\ntext\tneg\n", ("0", "1"), form("\t", 2)),
    ("x.csv", ",text,label\n0,So good.,pos\n1,Bad.,neg\n2,Good.,pos\n3,So bad.,neg\n", ("1", "2"),
      form(",", ("", "text", "label"), quoted=True)),
    ("x.tsv", "A long film.\t12%\nSo good.\t3\nBad.\t1\n", ("0", "1"), form("\t", 2)),
    ("x.tsv", "A long film.\tNA\nSo good.\t3\nBad.\t1\n", ("0", "1"), form("\t", 2)),
    ("x.tsv", "a\tb\n", ("0",), form("\t", 2)),
    ("x.tsv", "a, b, c\tx\n" + "d, e, f\ty\tz\n" * 9, ("0",), form("\t", 2)),  # commas split all lines alike
    ("x.tsv", "a, b\nc, d\n", ("0",), form("\t", 1)),
    ("x.tsv", f"{'long, ' * 200_000}prose\tde la prose\na\tb\n", ("0", "1"), form("\t", 2)),
    ("x.csv", f"{'long ' * 300_000}prose;de la prose\na;b\n", ("0", "1"), form(";", 2, quoted=True)),
    ("x.txt", 'id,text\n1,"a, b\n\nc"\n2,d\n', ("text",), form(",", ("id", "text"), quoted=True)),
    ("x.txt", 'id\ttext\n1\t"a\n\nb"\n2\tc\n', ("text",), form("\t", ("id", "text"), quoted=True)),
    ("x.tsv", "id\ttext\n" + "".join(f'{n}\t"{n}\n' + "line\n" * 300 + '"\n' for n in range(9)), ("text",),
      form("\t", ("id", "text"), quoted=True)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "columns", "wanted"), MADE)
def test_how_a_table_is_written(
    name: str, content: str, columns: tuple[str, ...], wanted: TableFormat, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content, newline="", encoding="utf-8")
    assert find_format(path, columns) == wanted


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_rows_of_delimiters_alone_are_left_out_at_both_ends(delimiter: str, tmp_path: Path) -> None:
    """A spreadsheet writes them before its table and after it; one between others keeps the place of its answer."""
    path = tmp_path / "x.csv"
    rows = [["", ""], ["text", "label"], ["So good.", "pos"], [" ", ""], ["Bad.", ""], ["", "neg"], ["", ""]]
    path.write_text("".join(f"{delimiter.join(row)}\n" for row in rows))
    read = [(row.values["text"], row.values["label"], row.where) for row in read_table(path, ["text", "label"])]
    assert read == [
        ("So good.", "pos", f"{path}, line 3"),
        ("", "", f"{path}, line 4"),
        ("Bad.", "", f"{path}, line 5"),
        ("", "neg", f"{path}, line 6"),
    ]


def test_an_empty_cell_in_quotes_is_a_row(tmp_path: Path) -> None:
    """A CSV of one column has no other way to write one; a blank line is none."""
    for end in ("\n", "\r\n"):
        path = tmp_path / "x.csv"
        path.write_text(end.join(["text", '"She home."', '""', "", "  ", '"He away."', ""]), newline="")
        rows = [(row.values["text"], row.where) for row in read_table(path, ["text"])]
        assert rows == [(said, f"{path}, line {line}") for said, line in (("She home.", 2), ("", 3), ("He away.", 6))]


def test_a_first_row_of_several_megabytes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(f"{'long, ' * 600_000}prose\tde la prose\na, b\tc, d\n")
    rows = [list(row.values.values()) for row in read_table(path, ["0", "1"])]
    assert [len(str(rows[0][0])), *rows[0][1:]] == [6 * 600_000 + 5, "de la prose"]
    assert rows[1:] == [["a, b", "c, d"]]


def test_a_format_is_described_in_a_line(tmp_path: Path) -> None:
    assert str(form("\t", 2)) == "tab-separated, no quoting, no header, 2 columns"
    assert str(form(";", ("a",), quoted=True)) == "semicolon-separated, quoted, a header, 1 column"
    (tmp_path / "x.jsonl").write_text('{"a": 1, "b": 2}\n')
    assert str(find_format(tmp_path / "x.jsonl")) == "JSON Lines, 2 columns"


def test_the_caller_decides_about_the_header(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("a\t1\nb\t2\n")
    numbered = find_format(path, ["0"], header=False)
    named = find_format(path, ["0"], header=True)
    assert [row.values["0"] for row in read_table(path, ["0"], format=numbered)] == ["a", "b"]
    assert [row.values["0"] for row in read_table(path, ["0"], format=named)] == ["b"]
    assert [dict(row.values) for row in read_table(path, format=named)] == [{"a": "b", "1": "2"}]
    with pytest.raises(MissingColumnError):
        list(read_table(path, ["a"], format=numbered))


def test_the_look_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    with path.open("w") as file:
        file.write("id,text\n")
        for number in range(200_000):
            file.write(f'{number},"one, and two"\n')
    tracemalloc.start()
    assert find_format(path, ["text"]) == form(",", ("id", "text"), quoted=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * path.stat().st_size


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_columns_that_name_themselves_have_no_numbers(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}"
    if kind == "jsonl":
        path.write_text('{"text": "a", "id": 7}\n')
    else:
        pq.write_table(pa.table({"text": ["a"], "id": [7]}), path)
    assert [dict(row.values) for row in read_table(path, ["text"])] == [{"text": "a"}]
    assert [dict(row.values) for row in read_table(path)] == [{"text": "a", "id": 7}]
    assert find_format(path).columns == ("text", "id")
    with pytest.raises(MissingColumnError) as caught:
        list(read_table(path, ["0"]))
    assert str(path) in caught.value.wanted
    assert "0" in caught.value.got


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [("x.jsonl", b'{\n{"text": "a", "id": 7}\n', ("text", "id")), ("x.conll", b"\xff O\nis O\n", ("0", "1"))],
)
def test_a_bad_first_line_does_not_hide_the_others(
    name: str, content: bytes, columns: tuple[str, ...], tmp_path: Path
) -> None:
    path, bad = tmp_path / name, list[DataError]()
    path.write_bytes(content)
    assert find_format(path).columns == columns
    list(read_table(path, bad=bad.append))
    assert [error.where for error in bad] == [f"{path}, line 1"]
    path.write_bytes(content.splitlines()[0])
    with refused(DataError, wanted=f"{path}, line 1"):
        find_format(path)


def test_values_of_parquet_that_are_stored_once_or_as_maps_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    texts = [f"{number} " + "word " * 4_000 for number in range(300)]
    maps = pa.array([[("k", "v")]] * 300, pa.map_(pa.string(), pa.string()))
    pq.write_table(pa.table({"text": pa.array(texts).dictionary_encode(), "more": maps}), path)
    assert [row.values["text"] for row in read_table(path, ["text"])] == texts
    assert [row.values["more"] for row in read_table(path)] == [[("k", "v")]] * 300


def test_a_column_that_a_parquet_file_names_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_arrays([["x"], ["a"], ["q"]], names=["text", "text", "label"]), path)
    with refused(DataError, wanted=str(path), got="'text'"):
        list(read_table(path, ["text"]))
    assert [row.values for row in read_table(path, ["label"])] == [{"label": "q"}]


def test_of_a_parquet_file_only_what_is_asked_for_is_decoded(tmp_path: Path) -> None:
    """The other column is overwritten: whoever decodes it fails."""
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": ["a", "b"], "book": ["one" * 999, "two" * 999]}), path, use_dictionary=False)
    book = pq.ParquetFile(path).metadata.row_group(0).column(1)
    with path.open("r+b") as file:
        file.seek(book.data_page_offset)
        file.write(b"\xff" * book.total_compressed_size)
    assert find_format(path, ["text"]).columns == ("text", "book")
    assert [row.values for row in read_table(path, ["text"])] == [{"text": "a"}, {"text": "b"}]
    assert not lacks_column(path, "text")
    with refused(DataError, wanted=str(path)):
        list(read_table(path))


@pytest.mark.parametrize(
    ("column", "got"), [("2", "2 columns"), ("9" * 5000, "a, b"), ("²", "a, b"), ("c" * 10**6, "a, b"), ("-1", "a, b")]
)
def test_a_column_that_is_not_there(column: str, got: str, tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("a\tb\nx\t1\ny\t2\n")
    with pytest.raises(MissingColumnError) as caught:
        list(read_table(path, [column]))
    assert f"{path}, line 1" in caught.value.wanted
    assert got in caught.value.got
    assert len(str(caught.value)) < 500


def test_an_error_about_a_giant_header_is_short(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("\t".join(["word " * 1000] * 700) + "\n")
    with pytest.raises(MissingColumnError) as caught:
        list(read_table(path, ["text"]))
    assert len(str(caught.value)) < 3000


# --------------------------------------------------------------------------- quoted cells


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.text('ab";\t,\r\n é|', max_size=6), min_size=3, max_size=3), min_size=1, max_size=6),
    st.sampled_from(",;\t|"),
)
def test_quoted_tables_are_read_as_they_were_written(tmp_path: Path, rows: list[list[str]], delimiter: str) -> None:
    sink = io.StringIO()
    csv.writer(sink, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([["l", "m", "r"], *rows])
    path = tmp_path / "x.csv"
    path.write_text(sink.getvalue(), newline="")
    found = list(read_table(path, ["l", "m", "r"], format=form(delimiter, ("l", "m", "r"), quoted=True)))
    assert [list(row.values.values()) for row in found] == rows
    line = 2
    for row, written in zip(found, rows, strict=True):
        assert row.where == f"{path}, line {line}"
        line += 1 + sum(cell.count("\n") for cell in written)


def test_a_quote_that_is_never_closed_is_found_by_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text('id,text\n1,"two\nlines"\n2,"open\n4,b\n' + "5,c\n" * 99)
    for _ in range(2):
        with pytest.raises(DataError) as caught:
            list(read_table(path, ["text"], bad=Skipped()))
        assert f"{path}, line 4" in caught.value.wanted
        monkeypatch.setattr("glassformer.data.readers.rows.LONGEST_LINE", 100)  # found before the end of the file


def test_damaged_rows_are_reported_with_their_lines_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(
        b'id,text\n1,"a, b"\n2,"c" d\n3,"e\nf"\n4\n5,"g",h\n6,"\xff"\n7,i\rj\n8,"' + b"m" * 200_000 + b'"\n9,"k \0 l"\n'
    )
    bad = Skipped(keep=9)
    before = csv.field_size_limit()
    found = list(read_table(path, ["id", "text"], bad=bad))
    assert csv.field_size_limit() == before
    assert [row.values["id"] for row in found] == ["1", "3", "8"]
    assert [found[0].values["text"], found[1].values["text"]] == ["a, b", "e\nf"]
    assert [message.partition("line ")[2].partition(" ")[0] for message in bad.first] == ["3", "6", "7", "8", "9", "11"]


def test_the_limit_of_the_csv_module_is_given_back_between_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('id,text\n1,"a"\n2,"b"\n')
    before = csv.field_size_limit()
    for _ in read_table(path, ["text"]):
        assert csv.field_size_limit() == before


def test_a_first_row_with_a_label_of_its_own_is_a_record_where_its_text_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    rows = ["a good one\tg", "a bad one\tb", "bad bad\tb", "very bad day\tb", "how bad\tb"]
    path.write_text("\n".join(rows), encoding="utf-8")
    assert not find_format(path, ["0", "1"]).header
    for header in ("text\tkind", "mail\tlabel", "the words\tkind"):
        path.write_text("\n".join([header, *rows[1:]]), encoding="utf-8")
        assert find_format(path, ["0", "1"]).header


def test_a_column_with_a_long_name_is_found_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(f"{'word ' * 20}\tb\nc\td\n", encoding="utf-8")
    with refused(MissingColumnError, got="…", do="number"):
        next(read_table(path, ["text"]))
