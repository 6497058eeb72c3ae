"""`--engine`: the same records from each, and one sentence where it cannot be."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from glassformer.answering.engines import engine
from glassformer.answering.engines.choice import Chosen
from glassformer.answering.engines.compared import equal
from glassformer.cli.terminal.partial import Partial
from glassformer.cli.vectors import embed_fill
from tests.cli.conftest import Run
from tests.page.serving import small_model


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.jsonl"
    words = ("dog", "cat", "train", "house", "child")
    rows: list[dict[str, Any]] = [
        {"id": f"{one}-{two}", "text": f"The {one} sees the {two}.", "more": [number]}
        for number, (one, two) in enumerate((one, two) for one in words for two in words)
    ]
    rows.insert(7, {"id": "bad", "text": None})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["translate", "--model", "en-fr", "--beams", "2", "--text-column", "text"], "ctranslate2"),
        (["generate", "--model", "writer", "--beams", "1", "--max-tokens", "5"], "ctranslate2"),
        (["embed", "--model", "an encoder"], "onnxruntime"),
    ],
)
def test_records_are_those_of_torch(words: list[str], name: str, sentences: Path, tmp_path: Path, run: Run) -> None:
    model = str(small_model(tmp_path, layers=1)) if "an encoder" in words else ""  # a bundled one takes 3 s to convert
    asked = [*(model if word == "an encoder" else word for word in words), "--json", "--file", str(sentences)]
    found = {}
    for each in ("torch", name):
        out, bad = tmp_path / f"{each}.jsonl", tmp_path / f"{each}-bad.jsonl"
        done = run(*asked, "--engine", each, "--out", out, "--rejects", bad)
        assert done.code == 0
        assert (name in done.err) == (each == name)
        found[each] = [json.loads(line) for line in out.read_text().splitlines()]
        assert [json.loads(line)["row"]["id"] for line in bad.read_text().splitlines()] == ["bad"]
    assert len(found["torch"]) == 25
    assert [list(row) for row in found["torch"]] == [list(row) for row in found[name]]
    assert equal(found["torch"], found[name])


def test_translations_are_measured_by_an_engine(tmp_path: Path, run: Run) -> None:
    pairs = tmp_path / "pairs.tsv"
    nouns = ("cat", "house", "train", "bridge")
    pairs.write_text("".join(f"A dog sees the {noun}.\tUn chien voit la {noun}.\n" for noun in nouns))
    found = {}
    for engine_ in ("torch", "ctranslate2"):
        done = run("evaluate", "en-fr", pairs, "--engine", engine_, "--json")
        assert done.code == 0, done.err
        found[engine_] = json.loads(done.out)
    assert found["ctranslate2"]["report"].pop("engine") == "ctranslate2"
    assert found["torch"] == found["ctranslate2"]  # the same translations; losses are torch's


def stopped(run: Run, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> int:
    """The exit code of a command that Ctrl-C stops after 69 answers."""
    results, counted = Partial.whole, count(1)

    def stopping(self: Partial) -> None:
        if next(counted) == 70:
            raise KeyboardInterrupt
        results(self)

    with monkeypatch.context() as patch:
        patch.setattr(Partial, "whole", stopping)
        return run(*words).code


def test_a_stopped_command_goes_on(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences, out = tmp_path / "sentences.txt", tmp_path / "out.jsonl"
    sentences.write_text("".join(f"The {number} dogs see the cat.\n" for number in range(80)))  # two batches: 64, 16
    words = ["translate", "--model", "en-fr", "--beams", "1", "--json", "--engine", "ctranslate2"]
    words += ["--file", str(sentences), "--out", str(out)]
    assert run(*words).code == 0
    whole = out.read_bytes()
    out.unlink()
    assert stopped(run, monkeypatch, words) == 130
    assert not out.exists()
    assert run(*words, "--resume").code == 0
    assert out.read_bytes() == whole


@pytest.mark.parametrize("verb", ["fill", "embed"])
def test_a_continued_command_counts_the_rows_that_are_answered(
    verb: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto` chooses by the number of rows: it changes over at the same row as in a command that was not stopped."""
    texts, out, model = tmp_path / "texts.txt", tmp_path / "out.jsonl", str(small_model(tmp_path, layers=1))
    texts.write_text("".join(f"She likes the [MASK] {number}\n" for number in range(80)))
    words = [verb, model, "--json", "--file", str(texts), "--out", str(out)]
    monkeypatch.setattr(embed_fill, "_TOGETHER", 64)
    counting, seen = Chosen.count, list[int]()

    def counted(self: Chosen, verb: object, rows: Any, module: Any) -> None:
        seen.append(len(rows))
        counting(self, verb, rows, module)

    monkeypatch.setattr(Chosen, "count", counted)
    assert run(*words).code == 0
    whole = sum(seen)
    out.unlink()
    assert stopped(run, monkeypatch, words) == 130
    seen.clear()
    assert run(*words, "--resume").code == 0
    assert sum(seen) == whole == 80


def test_an_engine_that_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    done = run("translate", "--model", "en-fr", "--engine", "ctranslate2", "A dog.")
    assert done.code == 2
    assert "glassformer[fast]" in done.err
    assert not done.out


def test_an_engine_that_does_not_exist(run: Run) -> None:
    done = run("embed", "--model", "english", "--engine", "onnx", "A dog.")
    assert done.code == 2
    assert "onnxruntime" in done.err
