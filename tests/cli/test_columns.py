"""Wherever a table is read, its columns are named by the same options, and the error for a missing one says so."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load

Run = Callable[..., Any]
TINY = ["--steps", "2", "--vocabulary", "120", "--length", "24", "--batch", "4", "--size", "tiny"]
ROWS = [(f"She likes\nday {number}.\n\nHe, too", "yes" if number % 2 else "no") for number in range(40)]


def table(path: Path) -> Path:
    """A CSV file as spreadsheets write it: cells with line ends and commas are quoted."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("body", "kind"), *ROWS])
    return path


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return table(tmp_path_factory.mktemp("mails") / "mails.csv")


def test_running_text_is_learned_and_measured_from_a_named_column(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run("train", "masked-lm", mails, "--text-column", "body", *TINY, "--out", out)
    assert done.code == 0, done.err
    model = load(out)
    assert model.data is not None
    assert model.data.text == "body"
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"said": "She likes day 3. He, too"}) + "\n")
    assert run("evaluate", out, other, "--text-column", "said").code == 0
    assert run("evaluate", out, mails).code == 0  # the column of the training table
    assert run("fill", out, "--file", other, "--text-column", "said").code == 2  # no [MASK] in it
    done = run("score", out, "--file", mails, "--json")
    assert [record["text"] for record in done.records] == [text for text, _ in ROWS]  # each cell whole
    wrong = run("evaluate", out, other)
    assert wrong.code == 2
    assert "--text-column" in wrong.err


@pytest.mark.parametrize("words", [["train", "masked-lm"], ["plan", "masked-lm"], ["train", "classify"]])
def test_the_error_for_a_missing_column_names_the_option(
    run: Run, mails: Path, tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for given in (mails, mails.parent):  # a folder of tables too
        done = run(*words, given, *TINY)
        assert done.code == 2
        assert "'text'" in done.err
        assert "--text-column" in done.err
        assert str(mails) in done.err or mails.name in done.err
    assert list(tmp_path.iterdir()) == []


def test_labels_are_named_too_and_cells_of_several_lines_are_one_text(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    wrong = run("train", "classify", mails, "--text-column", "body", *TINY, "--out", out)
    assert wrong.code == 2
    assert "'label'" in wrong.err
    assert "--label-column" in wrong.err
    assert (
        run("train", "classify", mails, "--text-column", "body", "--label-column", "kind", *TINY, "--out", out).code
        == 0
    )
    (record,) = run("evaluate", out, mails, "--json").records
    assert record["targets"] == len(ROWS)
    done = run("classify", out, "--file", mails, "--json")
    assert [record["text"] for record in done.records] == [text for text, _ in ROWS]
    folder = run("classify", out, "--file", mails.parent, "--out", tmp_path / "labels.jsonl", "--json")
    assert folder.code == 0
    again = run("classify", out, "--file", mails.parent, "--out", tmp_path / "labels.jsonl", "--overwrite")
    assert again.code == 0, again.err


def test_a_damaged_row_is_reported_with_the_line_where_it_begins(run: Run, mails: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.csv"
    path.write_text(mails.read_text(encoding="utf-8") + 'one cell alone\n"open\n', encoding="utf-8")
    lines = mails.read_text(encoding="utf-8").count("\n")
    done = run("train", "masked-lm", path, "--text-column", "body", *TINY, "--out", tmp_path / "run")
    assert done.code == 2
    assert f"{path}, line {lines + 1} " in done.err


@pytest.mark.parametrize(
    ("words", "row", "answer"),
    [
        (("translate", "en-fr", "--beams", "1"), {"text": "I like tea."}, "translation"),
        (("chat", "chat"), {"messages": [{"role": "user", "content": "How are you?"}]}, "reply"),
    ],
)
def test_the_columns_of_other_programs_are_read_where_the_usual_one_is_missing(
    run: Run, tmp_path: Path, words: tuple[str, ...], row: dict[str, Any], answer: str
) -> None:
    (value,) = row.values()
    usual = "turns" if answer == "reply" else "source"
    found = []
    for name, rows in (("x.jsonl", [row]), ("x", [row]), ("usual.jsonl", [{usual: value, "text": "No."}])):
        (tmp_path / name).write_text("".join(json.dumps(each) + "\n" for each in rows))
        done = run(*words, "--file", tmp_path / name, "--max-tokens", "9", "--json")
        assert done.code == 0, done.err
        found.append(done.records[0][answer])
    assert len(set(found)) == 1
    assert run(*words, "--file", tmp_path / "x.jsonl", "--text-column", usual).code == 2
