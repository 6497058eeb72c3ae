"""Files are read as what they are, and what is not read is reported, by every verb that reads files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet

Run = Callable[..., Any]


def test_a_table_without_its_suffix_and_the_files_of_a_folder_that_are_left_out(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "export").write_text('id,text\n1,"She likes [MASK], he said."\n2,He likes [MASK].\n')
    (folder / "notes.txt").write_text("They go [MASK] often.\n")
    (folder / "old.txt").write_bytes(b"He loves [MASK].\rShe loves [MASK].\r")
    (folder / "plan.docx").write_text("no")
    (folder / "b.xlsx").write_text("no")
    done = run("fill", trained, "--file", folder, "--json")
    assert done.code == 0, done.err
    assert [record["text"] for record in done.records] == [
        "She likes [MASK], he said.",
        "He likes [MASK].",
        "They go [MASK] often.",
        "He loves [MASK].",
        "She loves [MASK].",
    ]
    assert all(name in done.err for name in ("plan.docx", "b.xlsx", "export", "'text'"))
    assert done.err.count("export") == 1
    # A line that begins like a header, in a text: the others have other numbers of commas.
    (tmp_path / "verse").write_text("Some text, text, and [MASK].\nShe likes [MASK].\nHe, and she, and they [MASK].\n")
    done = run("fill", trained, "--file", tmp_path / "verse", "--json")
    assert len(done.records) == 3
    assert done.err == ""


def test_a_missing_column_names_the_options_of_the_command(run: Run, trained: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"said": "She"}\n')
    done = run("embed", trained, "--file", file)
    assert done.code == 2
    assert "--text-column" in done.err
    assert "--pair-column" not in done.err
    done = run("export", trained, tmp_path / "onnx", "--to", "onnx", "--pooling", "mean")
    assert done.code == 2
    assert "--features" in done.err


def test_blank_lines_without_an_answer_are_counted_and_words_keep_the_number_of_their_line(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("a [MASK]\n\n\nb [MASK]\n", encoding="utf-8")
    done = run("fill", trained, "--file", texts, "--json")
    assert len(done.records) == 2
    assert "left out: 2" in done.err
    run("embed", trained, "--file", texts, "--per-word", "--out", tmp_path / "words.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "words.parquet")
    assert {*table["text"].to_pylist()} == {0, 3}
