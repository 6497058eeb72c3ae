"""Files answered in blocks by other processes (`--ray`): the bytes are those of the same command without it.

Most tests have the blocks answered in this process, by what a process of Ray calls; one starts a Ray.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import glassformer as gf
from glassformer.cli.corpus import on_ray
from glassformer.cli.corpus.blocks import Answered, Corpus, Verb, Worker, read_blocks
from glassformer.cli.terminal.partial import Partial, partial_files
from glassformer.features.streams import VectorsFile

Run = Callable[..., Any]
ROWS = 150  # in two blocks: 64, and the rest
BAD = (5, 70, 71, 140)  # rows without a mask: no record that `fill` can answer


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("asked") / "asked.jsonl"
    texts = (f"She likes the summer {number}" + " [MASK]" * (number not in BAD) for number in range(ROWS))
    path.write_text("".join(json.dumps({"id": f"r{number}", "text": text}) + "\n" for number, text in enumerate(texts)))
    return path


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are answered in this process."""

    def answered(address: str, corpus: Corpus) -> Iterator[Answered]:
        worker = Worker(corpus)
        return (Answered(**worker({"block": block})) for block in read_blocks(corpus))

    monkeypatch.setattr(on_ray, "on_ray", answered)
    monkeypatch.setattr(on_ray, "package", lambda: None)


def fill(model: Path, file: Path, out: Path, *more: str | Path) -> list[str | Path]:
    exactly = ["--threads", "1", "--engine", "torch", "--top", "2"]
    return ["fill", model, "--file", file, "--out", out, "--rejects", f"{out}.rejects", *exactly, *more]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.usefixtures("here")
def test_the_bytes_are_those_of_the_command_without_ray(
    run: Run, trained: Path, asked: Path, tmp_path: Path, suffix: str
) -> None:
    alone, blockwise = tmp_path / f"alone{suffix}", tmp_path / f"blocks{suffix}"
    assert run(*fill(trained, asked, alone)).code == 0
    assert run(*fill(trained, asked, blockwise, "--ray")).code == 0
    assert blockwise.read_bytes() == alone.read_bytes()
    rejected = Path(f"{blockwise}.rejects").read_text()
    assert rejected == Path(f"{alone}.rejects").read_text()
    assert [json.loads(line)["line"] for line in rejected.splitlines()] == [number + 1 for number in BAD]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("begun", "at"), [((), 30), ((), 63), ((), 100), (("--ray",), 63)])
@pytest.mark.usefixtures("here")
def test_a_stopped_command_goes_on_with_each_row_once(
    run: Run,
    trained: Path,
    asked: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    begun: tuple[str, ...],
    at: int,
) -> None:
    """What a lone process has begun, in a block or between two, with rejects before, goes on in blocks; and what blocks
    have begun, which are written whole, also alone.
    """
    alone, out = tmp_path / "alone.jsonl", tmp_path / "out.jsonl"
    assert run(*fill(trained, asked, alone)).code == 0
    whole = Partial.whole

    def stopping(self: Partial, count: int = 1) -> None:
        if self.results == at:
            raise KeyboardInterrupt
        whole(self, count)

    for how in (["--ray"], []) if begun else (["--ray"],):
        with monkeypatch.context() as patched:
            patched.setattr(Partial, "whole", stopping)
            assert run(*fill(trained, asked, out, *begun)).code == 130
        assert partial_files(out)[0].exists()
        again = run(*fill(trained, asked, out, "--resume", *how))
        assert again.code == 0, again.err
        assert out.read_bytes() == alone.read_bytes()
        assert Path(f"{out}.rejects").read_text() == Path(f"{alone}.rejects").read_text()
        out.unlink()


@pytest.mark.usefixtures("here")
def test_an_answered_block_is_not_answered_again(
    run: Run, trained: Path, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first block only the rejects are found anew."""
    out, given, whole = tmp_path / "out.jsonl", list[int](), Partial.whole

    def stopping(self: Partial, count: int = 1) -> None:
        if self.results == 63:
            raise KeyboardInterrupt
        whole(self, count)

    with monkeypatch.context() as patched:
        patched.setattr(Partial, "whole", stopping)
        assert run(*fill(trained, asked, out, "--ray")).code == 130

    def counting(self: Verb, opened: Any, texts: Any) -> Iterator[Any]:
        given.append(len(texts))
        return answers(self, opened, texts)

    answers = Verb.answers
    monkeypatch.setattr(Verb, "answers", counting)
    assert run(*fill(trained, asked, out, "--ray", "--resume")).code == 0
    assert given == [ROWS - 64 - 3]  # three of the four bad rows are in the second block


@pytest.mark.usefixtures("here")
def test_a_bad_row_stops_the_command_as_without_ray(run: Run, trained: Path, asked: Path, tmp_path: Path) -> None:
    words = ["fill", trained, "--file", asked, "--top", "2", "--out"]
    alone, blockwise = (run(*words, tmp_path / f"{name}.jsonl", *more) for name, more in (("a", ()), ("b", ("--ray",))))
    assert (blockwise.code, alone.code) == (2, 2)
    assert blockwise.err.splitlines()[-1] == alone.err.splitlines()[-1]
    assert "--rejects" in blockwise.err


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.usefixtures("here")
def test_a_file_that_grows_while_it_is_read_is_refused(
    run: Run, trained: Path, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """Also one of Parquet, which is written anew: the groups of rows that are not read yet are no longer there."""
    growing, texts = tmp_path / f"growing{suffix}", asked.read_text().splitlines()
    whole = Partial.whole

    def write() -> None:
        texts.append('{"id": "more", "text": "one more [MASK]"}')
        if suffix == ".jsonl":
            growing.write_text("\n".join(texts) + "\n")
        else:
            table = pa.Table.from_pylist([json.loads(each) for each in texts])
            pq.write_table(table, growing, row_group_size=16, compression=None)

    def grows(self: Partial, count: int = 1) -> None:
        write()
        whole(self, count)

    write()

    monkeypatch.setattr(Partial, "whole", grows)
    done = run(*fill(trained, growing, tmp_path / "out.jsonl", "--ray"))
    assert done.code == 2
    assert str(growing) in done.err.splitlines()[-1]
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.usefixtures("here")
def test_a_model_that_changes_meanwhile_is_refused(
    run: Run, trained: Path, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that opens other weights than the command has opened."""
    looks = count()
    monkeypatch.setattr("glassformer.cli.corpus.blocks.digest_of", lambda model: f"of look {next(looks)}")
    done = run(*fill(trained, asked, tmp_path / "out.jsonl", "--ray"))
    assert done.code == 2
    assert str(trained) in done.err.splitlines()[-1]
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--ray", "english"), "'english'"),
        (("--ray", "ray://127.0.0.1:10001"), "ray://"),
        (("--out", "answers.txt", "--ray"), "answers.txt"),
        (("a text [MASK]", "--ray"), "a text"),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_cannot_be_is_refused(
    run: Run,
    trained: Path,
    asked: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[str, ...],
    named: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("fill", "--model", trained, "--file", asked, "--out", "answers.jsonl", *more)
    assert (done.code, done.err.count("Traceback")) == (2, 0)
    assert named in done.err.splitlines()[-1]


# ------------------------------------------------------------------- vectors


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For a model that reads masks as a separate input: it makes no vector of a text with one."""
    path = tmp_path_factory.mktemp("sentences") / "sentences.parquet"
    texts = ["She likes" + " [MASK]" * (number in BAD) + " summer better" * (number % 3) for number in range(ROWS)]
    pq.write_table(pa.table({"id": [f"r{number}" for number in range(ROWS)], "text": texts}), path)
    return path


def embed(file: Path, out: Path, *more: str | Path) -> list[str | Path]:
    asked = ["-s", "last", "-s", "concat:0,1", "-p", "mean", "-p", "max", "--threads", "1"]
    return ["embed", "slides", "--file", file, "--out", out, "--rejects", f"{out}.rejects", *asked, *more]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".safetensors"])
@pytest.mark.usefixtures("here")
def test_vectors_are_those_of_the_command_without_ray(
    run: Run, sentences: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """Byte for byte, and where a command was stopped after a block and goes on, with --ray or without."""
    monkeypatch.setattr("glassformer.cli.vectors.embed_fill._TOGETHER", 64)
    alone, out = tmp_path / f"alone{suffix}", tmp_path / f"out{suffix}"
    assert run(*embed(sentences, alone)).code == 0
    assert run(*embed(sentences, out, "--ray")).code == 0
    assert out.read_bytes() == alone.read_bytes()
    kind, step = (Partial, "whole") if suffix == ".jsonl" else (VectorsFile, "commit")
    before = getattr(kind, step)
    for how in ((), ("--ray",)):
        left = [None]

        def stopping(*given: Any, left: list[None] = left) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop()
            before(*given)

        with monkeypatch.context() as patched:
            patched.setattr(kind, step, stopping)
            assert run(*embed(sentences, out, "--overwrite", "--ray")).code == 130
        again = run(*embed(sentences, out, "--overwrite", "--resume", *how))
        assert (again.code, "continuing after 63" in again.err) == (0, True), again.err
        assert out.read_bytes() == alone.read_bytes()
        rejected = Path(f"{out}.rejects").read_text()
        assert rejected == Path(f"{alone}.rejects").read_text()
        assert [json.loads(line)["line"] for line in rejected.splitlines()] == [number + 1 for number in BAD]


@pytest.mark.usefixtures("here")
def test_a_table_of_vectors_has_ids_in_order_and_lists_of_fixed_size(run: Run, sentences: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    assert run(*embed(sentences, out, "--ray")).code == 0
    found = pq.read_table(out)
    kept = [number for number in range(ROWS) if number not in BAD]
    assert found["id"].to_pylist() == [f"r{number}" for number in kept]
    model = gf.load("slides")
    texts = pq.read_table(sentences)["text"].to_pylist()
    expected = model.embed([texts[number] for number in kept], strategy=["last", "concat:0,1"], pooling=["mean", "max"])
    assert set(found.column_names) == {"text", "id", *expected}
    for name, vectors in expected.items():
        assert found.schema.field(name).type == pa.list_(pa.float32(), vectors.shape[1])
        # Another batch: the products of other shapes round otherwise.
        np.testing.assert_allclose(np.stack(found[name].to_numpy()), vectors, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--per-word",), "--per-word"),
        (("--compare-word", "summer"), "--compare-word"),
        (("She likes summer",), "a text"),
        (("--out", "vectors.txt"), "vectors.txt"),
    ],
)
@pytest.mark.usefixtures("here")
def test_vectors_that_blocks_cannot_give_are_refused(
    run: Run, sentences: Path, tmp_path: Path, more: tuple[str, ...], named: str
) -> None:
    done = run(*embed(sentences, tmp_path / "v.parquet", "--ray"), *more)
    assert (done.code, done.err.count("Traceback")) == (2, 0)
    assert named in done.err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_without_the_package_the_extra_is_named(
    run: Run, trained: Path, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "ray.data", None)
    done = run(*fill(trained, asked, tmp_path / "out.jsonl", "--ray"))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "glassformer[ray]" in done.err


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the package ray: pip install 'ray[data]'")
@pytest.mark.parametrize("verb", ["fill", "embed"])
def test_a_ray_of_this_machine_gives_the_same_bytes(
    run: Run, trained: Path, asked: Path, sentences: Path, tmp_path: Path, verb: str
) -> None:
    """In a process of its own, as Ray stays loaded; and an address where nobody answers is refused in seconds."""
    alone, out = tmp_path / "alone.parquet", tmp_path / "out.parquet"
    words = {each: fill(trained, asked, each) if verb == "fill" else embed(sentences, each) for each in (alone, out)}
    assert run(*words[alone]).code == 0
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
        command = [sys.executable, "-m", "glassformer", *map(str, words[out])]
        refused = subprocess.run([*command, "--ray", nobody], capture_output=True, text=True, env=env, timeout=600)
    assert refused.returncode == 2
    assert nobody in refused.stderr.splitlines()[-1]
    done = subprocess.run([*command, "--ray"], capture_output=True, text=True, env=env, timeout=400)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert out.read_bytes() == alone.read_bytes()
    assert Path(f"{out}.rejects").read_text() == Path(f"{alone}.rejects").read_text()
