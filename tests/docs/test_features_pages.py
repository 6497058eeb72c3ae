"""The pages on features and search: each command and the Python, run on small data with the model of the package."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

from tests.docs.pages import run_commands, run_python

LINES = [f"The {('cat', 'dog', 'bird')[n % 3]} {('slept', 'was angry')[n % 2]} on day {n}." for n in range(24)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("texts.jsonl").write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(LINES)))
    Path("passages.jsonl").write_text(Path("texts.jsonl").read_text())
    Path("questions.txt").write_text("Which animal slept?\nWho was angry?\n")
    Path("labelled.tsv").write_text("".join(f"{text}\t{('calm', 'cross')[n % 2]}\n" for n, text in enumerate(LINES)))
    sentence = "Ann\tB-person\nmet\tO\nBob\tB-person\n\nthey\tO\nleft\tO\n"
    Path("names.conll").write_text("\n".join([sentence] * 12))
    return tmp_path


@pytest.mark.long
def test_the_page_on_features(repository: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = repository / "docs" / "do" / "features.md"
    run_commands(page, "--threads", "1")
    shown = capsys.readouterr().out
    assert "equal" in shown
    assert "TF-IDF" in shown
    width = np.load("vectors.npy").shape
    assert width[0] == len(LINES)
    assert pq.read_table("vectors.parquet")["id"].to_pylist() == [str(n) for n in range(len(LINES))]
    tensors = load_file("words.safetensors")
    assert tensors["last.mean"].shape == (sum(len(line.split()) + 1 for line in LINES), width[1])
    assert [json.loads(line)["id"] for line in Path("vectors.jsonl").read_text().splitlines()] == list(range(24))
    assert np.load("mixed.npy").shape == width
    exact, fast = np.load("vectors.npy"), np.load("fast.npy")
    assert ((exact * fast).sum(axis=1) >= 0.999 * np.linalg.norm(exact, axis=1) * np.linalg.norm(fast, axis=1)).all()
    names = run_python(page, {})
    assert names["vector"].shape == width[1:]
    assert names["quick"].shape == (2, *width[1:])
    assert set(names["vectors"]) == {"last.mean", "sum-all.mean"}
    assert len(names["words"].words) == 6


def test_the_page_on_search(repository: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = repository / "docs" / "do" / "search.md"
    run_commands(page, "--threads", "1")
    records = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    assert [len(each["hits"]) for each in records] == [5, 5]
    assert all(hit["text"] == LINES[hit["id"]] for each in records for hit in each["hits"])
    capsys.readouterr()
    run_python(page, {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["1", "2"]
