"""Vectors in files: each text exactly once, whole or absent, also after a kill at any moment."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from glassformer.api.model import Model
from glassformer.base.errors import DataError
from glassformer.features.store import kind_of, vectors_file
from glassformer.features.vectors import Vectors
from tests.refusals import refused


def made(begin: int, count: int) -> list[Vectors]:
    """Vectors of which each contains its number."""
    return [
        Vectors(f"text {n}", {"a.mean": np.full(3, n, np.float32), "b.max": np.full(2, n, np.float32)})
        for n in range(begin, begin + count)
    ]


NAMES, WIDTHS = ("a.mean", "b.max"), (3, 2)


def write(out: Path, chunks: list[list[Vectors]], *, resume: bool = False, stop: Any = None, **request: Any) -> None:
    with vectors_file(out, NAMES, WIDTHS, request, words=False, resume=resume) as file:
        for chunk in chunks:
            if file.texts > int(chunk[0].text.split()[1]):
                continue
            file.add(chunk, [None] * len(chunk))
        if stop is not None:
            raise stop


CHUNKS = [made(0, 4), made(4, 4), made(8, 1)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_cannot_go_on_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    """Standard input cannot be read again: what was made of it is of no use."""

    def stopped() -> None:
        with vectors_file(tmp_path / "x.safetensors", NAMES, WIDTHS, None, words=False, resume=False) as file:
            file.add(made(0, 4), [None] * 4)
            raise error

    with pytest.raises(error):
        stopped()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["safetensors", "parquet"])
def test_what_was_stopped_goes_on_to_the_same_file(tmp_path: Path, suffix: str) -> None:
    whole, stopped = tmp_path / f"whole.{suffix}", tmp_path / f"stopped.{suffix}"
    write(whole, CHUNKS)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        write(stopped, CHUNKS[:1], stop=KeyboardInterrupt())
    assert "4 texts" in interrupt.value.__notes__[0]
    assert not stopped.exists()
    folder = tmp_path / f"stopped.{suffix}.partial"
    with (folder / "0.f32").open("ab") as file:  # what a killed command has written after the last whole text
        file.write(b"half a row")
    with refused(DataError, got="4", do="--resume"):
        write(stopped, CHUNKS)
    with refused(DataError, wanted="strategy"):
        write(stopped, CHUNKS, resume=True, strategy="another")
    write(stopped, CHUNKS, resume=True)
    assert stopped.read_bytes() == whole.read_bytes()
    assert not folder.exists()
    assert read(stopped)["a.mean"][:, 0].tolist() == list(range(9))


def read(path: Path) -> dict[str, Any]:
    if path.suffix == ".safetensors":
        return dict(load_file(path))
    table = pq.read_table(path)
    return {name: np.array(table[name].to_pylist()) for name in table.column_names}


def test_damage_and_strangers_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "x.safetensors"
    with pytest.raises(KeyboardInterrupt):
        write(out, CHUNKS[:2], stop=KeyboardInterrupt())
    folder = tmp_path / "x.safetensors.partial"
    data = bytearray((folder / "1.f32").read_bytes())
    data[5] ^= 1
    (folder / "1.f32").write_bytes(data)
    with refused(DataError, wanted=str(folder)):
        write(out, CHUNKS, resume=True)
    other = tmp_path / "y.safetensors"
    (tmp_path / "y.safetensors.partial").mkdir()
    (tmp_path / "y.safetensors.partial" / "mine.txt").write_text("mine")
    with refused(DataError, wanted="y.safetensors.partial"):
        write(other, CHUNKS)
    assert (tmp_path / "y.safetensors.partial" / "mine.txt").read_text() == "mine"
    with refused(DataError, got="none"):
        write(tmp_path / "z.safetensors", [])
    assert list(tmp_path.glob("z*")) == []


def test_one_command_at_a_time_writes(tmp_path: Path) -> None:
    out = tmp_path / "x.safetensors"
    with vectors_file(out, NAMES, WIDTHS, {}, words=False, resume=False) as file:
        file.add(made(0, 1), [None])
        requests: tuple[dict[str, Any] | None, ...] = ({}, None)
        for request in requests:
            with (
                refused(DataError, got="another"),
                vectors_file(out, NAMES, WIDTHS, request, words=False, resume=True),
            ):
                pass
    assert out.exists()


def test_files_that_cannot_hold_what_is_asked_for() -> None:
    with refused(DataError, wanted=".npy", got="x.txt"):
        kind_of(Path("x.txt"), NAMES, words=False)
    with refused(DataError, got="2"):
        kind_of(Path("x.npy"), NAMES, words=False)
    with refused(DataError, do=".parquet"):
        kind_of(Path("x.npy"), NAMES[:1], words=True)


# ------------------------------------------------------------------- the command


@pytest.mark.long
def test_a_command_killed_twice_has_each_row_exactly_once(saved: Path, tmp_path: Path, capsys: Any) -> None:
    """Killed by SIGKILL at two moments, the file is the same to the byte as that of a command nobody stopped."""
    from glassformer.cli.__main__ import main

    rows = 10_000
    texts, out = tmp_path / "texts.jsonl", tmp_path / "v.parquet"
    records = ({"text": f"the dog {n} sat {n % 7}", "id": f"r{n}"} for n in range(rows))
    texts.write_text("".join(json.dumps(record) + "\n" for record in records))
    asked = ["embed", str(saved), "--file", str(texts), "-s", "last", "-s", "embedding", "--threads", "1"]
    partial = tmp_path / "v.parquet.partial"
    for _ in range(2):
        before = texts_in(partial)
        command = [sys.executable, "-m", "glassformer", *asked, "--out", str(out), *["--resume"] * bool(before)]
        started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while texts_in(partial) <= before:
            assert started.poll() is None, started.communicate()
            time.sleep(0.005)
        os.kill(started.pid, signal.SIGKILL)
        started.communicate()
        assert not out.exists()
    assert 0 < texts_in(partial) < rows
    capsys.readouterr()
    assert main([*asked, "--out", str(out), "--resume"]) == 0
    assert "continuing after" in capsys.readouterr().err
    found = pq.read_table(out)
    assert found["text"].to_pylist() == list(range(rows))
    assert found["id"].to_pylist() == [f"r{n}" for n in range(rows)]
    assert main([*asked, "--out", str(tmp_path / "whole.parquet")]) == 0
    assert (tmp_path / "whole.parquet").read_bytes() == out.read_bytes()
    assert not list(tmp_path.glob("*.partial"))


def texts_in(folder: Path) -> int:
    try:
        return int(json.loads((folder / "state.json").read_text())["texts"])
    except (OSError, ValueError):
        return 0


def test_the_files_hold_what_the_model_says(saved: Path, model: Model, tmp_path: Path, capsys: Any) -> None:
    from glassformer.cli.__main__ import main

    lines = ["the dog sat on the mat", "a cat", "he likes the dog"]
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(lines) + "\n")
    common = ["embed", str(saved), "--file", str(texts)]
    assert main([*common, "--out", str(tmp_path / "a.npy")]) == 0
    expected = model.embed(lines)
    assert np.array_equal(np.load(tmp_path / "a.npy"), expected)
    asked = ["-s", "last", "-s", "concat-last-4", "-p", "mean", "-p", "first"]
    assert main([*common, *asked, "--out", str(tmp_path / "a.safetensors")]) == 0
    arrays = load_file(tmp_path / "a.safetensors")
    ours = model.embed(lines, strategy=["last", "concat-last-4"], pooling=["first", "mean"])
    assert arrays.keys() == ours.keys()
    assert all(np.array_equal(arrays[name], ours[name]) for name in ours)
    with safe_open(tmp_path / "a.safetensors", "np") as file:
        assert "last.first" in str(file.metadata())
    assert main([*common, "--per-word", "--out", str(tmp_path / "w.parquet")]) == 0
    table = pq.read_table(tmp_path / "w.parquet")
    words = [word for line in lines for word in line.split()]
    assert table["word"].to_pylist() == words
    by_word = np.concatenate([each.vectors["last.mean"] for each in model.embed(lines, words=True)])
    assert np.array_equal(np.array(table["last.mean"].to_pylist(), np.float32), by_word)
    assert [
        lines[t][s:e] for t, s, e in zip(*(table[c].to_pylist() for c in ("text", "start", "end")), strict=True)
    ] == words
    capsys.readouterr()
    assert main(["embed", str(saved), *lines[:2], "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["text"] for each in records] == lines[:2]
    assert np.array_equal(np.array(records[0]["last.mean"], np.float32), model.embed(lines[0]))
    assert main(["embed", str(saved), "the dog sat", "the dog slept", "--compare-word", "dog"]) == 0
    out = capsys.readouterr().out
    assert out.count("equal") >= 2  # the word, and the embedding: it stands at the same place
    assert main(["embed", str(saved), *lines]) == 0
    assert "cosine, last.mean" in capsys.readouterr().out


def test_the_words_of_a_long_line_are_written_as_they_are_known(
    saved: Path, model: Model, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    """Into files and as JSON the same as those of the whole line."""
    from glassformer.cli.__main__ import main
    from glassformer.cli.vectors import embed as verb
    from glassformer.features.vectors import VectorsOf

    line = " ".join(["the dog sat on the mat"] * 40) + " \u200b"
    (tmp_path / "x.txt").write_text(f"a cat\n{line}\nthe dog\n")
    expected = model.embed(line, words=True)
    plain = VectorsOf.__init__

    def short(self: Any, *given: Any, **named: Any) -> None:
        plain(self, *given, **named)
        self.read_ahead = 5

    monkeypatch.setattr(VectorsOf, "__init__", short)
    monkeypatch.setattr(verb, "_WORDS", 7)
    common = ["embed", str(saved), "--file", str(tmp_path / "x.txt"), "--per-word", "--out"]
    assert main([*common, str(tmp_path / "w.parquet")]) == 0
    output = " ".join(capsys.readouterr().err.split())
    assert repr("\u200b") in output
    assert "245 words of 3 texts" in output
    table = pq.read_table(tmp_path / "w.parquet").filter(pc.field("text") == 1)
    np.testing.assert_allclose(table["last.mean"].to_pylist(), expected.vectors["last.mean"], rtol=0, atol=2e-6)
    assert main([*common, str(tmp_path / "w.jsonl"), "--json"]) == 0
    records = [json.loads(each) for each in (tmp_path / "w.jsonl").read_text().splitlines()]
    assert [each["text"] for each in records] == ["a cat", line, "the dog"]
    assert [(each["start"], each["end"]) for each in records[1]["words"]] == list(expected.offsets or ())
    np.testing.assert_allclose(records[1]["last.mean"], expected.vectors["last.mean"], rtol=0, atol=2e-6)


def test_json_in_a_file_of_numbers_a_file_as_a_text_and_only_rejects(saved: Path, tmp_path: Path, capsys: Any) -> None:
    from glassformer.cli.__main__ import main

    file, out = tmp_path / "x.txt", tmp_path / "x.npy"
    file.write_text("the dog\n")
    assert main(["embed", str(saved), "--file", str(file), "--json", "--out", str(out)]) == 2
    assert "x.npy" in capsys.readouterr().err
    assert main(["embed", str(saved), str(file)]) == 0
    assert f"--file {file}" in " ".join(capsys.readouterr().err.split())
    assert main(["embed", str(saved), "comapre"]) == 0
    assert "embed compare" in capsys.readouterr().err
    file.write_bytes(b"\xff\n\xfe\n")
    rejects = tmp_path / "rejects.jsonl"
    assert main(["embed", str(saved), "--file", str(file), "--rejects", str(rejects), "--out", str(out)]) == 2
    assert "0xff" in capsys.readouterr().err
    assert len(rejects.read_text().splitlines()) == 2
    assert not out.exists()
