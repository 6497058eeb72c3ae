"""What cannot be done is refused in one sentence, with exit code 2, and nothing is lost."""

import errno
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.cli.__main__ import main
from glassformer.saved.store import FORMAT

Run = Callable[..., Any]


def refused(done: Any, *parts: str) -> None:
    assert done.code == 2, done.err
    assert done.out == ""
    sentence = done.err.splitlines()[-1]
    assert sentence.startswith("glassformer: ")
    assert "Traceback" not in done.err
    for part in parts:
        assert part in sentence


CONTENTS: dict[str, tuple[bytes | None, str]] = {
    "missing.txt": (None, "got no such file"),
    "empty.txt": (b"", "got an empty file"),
    "workbook.csv": (b"PK\x03\x04\x14\0", "got an Excel workbook or a zip archive"),
    "excel.csv": (b"sep=;\r\ntext;label\r\n", "got 'sep=;'"),
    "binary.txt": (b"some\0thing" * 9, "got a binary file (a zero at byte 4)"),
    "broken.txt": (b"good line\nbad \xff\xfe line\n", "got the byte 0xff at byte 14 of the file"),
    "blank.txt": (b" \n\n \t\n", "got only blanks"),
    "rows.jsonl": (b'{"text": "one"}\n{"txet": "two"}\n', "line 2 must have a column 'text'"),
    "damaged.jsonl": (b'{"text": "one"}\n{"text": \n', "line 2 must be JSON"),
    "rows.csv": (b"id,words\n1,one\n", "must have a column 'text'; got columns id, words"),
    "short.txt.gz": (b"\x1f\x8b\x08\x00damaged", "must be a whole gzip file"),
}


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("verb", ["train", "plan"])
def test_text_that_cannot_be_learned_from(run: Run, tmp_path: Path, name: str, verb: str) -> None:
    content, found = CONTENTS[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    out = ["--out", tmp_path / "run"] if verb == "train" else []
    refused(run(verb, "masked-lm", path, "--steps", "2", "--size", "tiny", *out), str(path), found)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", CONTENTS)
def test_text_that_cannot_be_asked_about(run: Run, trained: Path, tmp_path: Path, name: str) -> None:
    content, found = CONTENTS[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content.replace(b"one", b"[MASK]").replace(b"good", b"[MASK]"))
    done = run("fill", trained, "--file", path, "--json")
    assert done.code == 2
    assert found.replace("byte 14", "byte 16") in done.err
    refused(run("evaluate", trained, path), found.split(";")[0].replace("byte 14", "byte 16"))


def test_standard_input_that_is_not_utf8(run: Run, trained: Path) -> None:
    refused(run("fill", trained, "-", stdin=b"a [MASK]\nb \xff [MASK]\n"), "standard input, line 2 must be UTF-8")


def test_the_mark_that_windows_puts_first_is_no_text(run: Run, trained: Path) -> None:
    with_mark = run("fill", trained, "-", "--json", stdin=b"\xef\xbb\xbfa [MASK]\nb [MASK]\n")
    assert with_mark.records == run("fill", trained, "-", "--json", stdin=b"a [MASK]\nb [MASK]\n").records
    refused(
        run("fill", trained, "-", stdin=b"\xef\xbb\xbfa \xfe [MASK]\n"), "line 1 must be UTF-8 text; got the byte 0xfe"
    )


def test_an_endless_line_of_standard_input_is_refused_while_it_comes(
    run: Run, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.data.readers.lines.LONGEST_LINE", 100_000)
    refused(run("fill", trained, "-", stdin=b"[MASK] " * 100_000), "100,000")


def test_results_do_not_take_the_place_of_the_texts(run: Run, trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("a [MASK] b\n")
    (tmp_path / "same").symlink_to(path)
    for file, out in ((path, path), (path, tmp_path / "same"), (tmp_path, path), (tmp_path / "*.txt", path)):
        refused(run("fill", trained, "--file", file, "--out", out), str(out))
        assert path.read_text() == "a [MASK] b\n"
        refused(run("evaluate", trained, file, "--out", out), str(out))
        assert path.read_text() == "a [MASK] b\n"


@pytest.mark.parametrize("empty", [["--file", ""], ["--file="], ["--out", ""]])
def test_an_option_without_its_value_is_named(run: Run, trained: Path, empty: list[str]) -> None:
    refused(run("fill", trained, "a [MASK]", *empty), empty[0].rstrip("="))


def test_a_text_without_a_mask(run: Run, trained: Path, tmp_path: Path) -> None:
    refused(run("fill", trained, "nothing is hidden"), "needs at least one [MASK]", "'nothing is hidden'")
    path = tmp_path / "lines.txt"
    path.write_text("a [MASK]\nb\n")
    refused(run("fill", trained, "--file", path), f"{path}, line 2", "needs at least one [MASK]")
    refused(run("fill", trained), "a text is needed")


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "train.stepz=3"], "no setting 'train.stepz'; did you mean 'steps'"),
        (["--set", "trian.steps=3"], "no setting 'trian'; did you mean 'train'"),
        (["--set", "steps"], "section.key=value"),
        (["--set", "model.settings.heads=3"], "128 / 3 is not"),
        (
            ["--set", "model.family=bert", "--set", "model.settings.max_length=64"],
            "must fit the model; got one with 64 positions",
        ),
        (["--set", "model.settings.width=-64"], "greater than or equal to 1"),
        (["--length", "2"], "got data.length = 2"),
        (["--length", "1"], "greater than or equal to 2"),
        (["--size", "gigantic"], "there is no size 'gigantic'"),
        (["--family", "brt"], "did you mean 'bert'"),
        (["--vocabulary", "3"], "a vocabulary of at least"),
        (["--precision", "float61"], "train.precision"),
        (["--batch", "0"], "train.batch"),
        (["--seed", str(10**30)], "train.seed"),
        (["--set", f"data.seed={2**63}"], "data.seed"),
        (["--minutes", "inf"], "train.minutes"),
        (["--minutes", "1e308"], "train.minutes"),
        (["--learning-rate", "inf"], "train.learning_rate"),
        (["--set", "train.epochs=nan"], "train.epochs"),
        (["--set", "model.settings.width=40960000"], "parameters needs"),
        (["--set", "task.rate=1.5"], "task.rate"),
        (["--set", "tokenizer.file=nowhere"], "a tokenizer is needed at"),
        (["--start", "nowhere"], "got model.start together with model.size"),
        (["--set", "model.vectors=nowhere.txt"], "a file is needed at"),
        (["--device", "nonsense"], "the device 'nonsense'"),
        (["--device", "meta"], "the device 'meta'"),
        (["--threads", "1000000"], "threads can be used; got 1000000"),
    ],
)
def test_settings_that_cannot_be(
    run: Run, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = ["--steps", "2", "--vocabulary", "200", "--length", "128", "--size", "tiny"]
    refused(run("train", "masked-lm", text_file, *before, *words), message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here, so that asking for it is no mistake")
def test_a_gpu_that_is_not_there(run: Run, trained: Path, text_file: Path, tmp_path: Path) -> None:
    refused(run("fill", trained, "a [MASK]", "--device", "cuda"), "'cuda'", "use --device cpu")
    refused(run("train", "masked-lm", text_file, "--device", "cuda", "--out", tmp_path / "run"), "'cuda'")
    assert not (tmp_path / "run").exists()


def test_threads_that_no_machine_has(run: Run, trained: Path) -> None:
    """Torch takes the number, and the process dies without a word."""
    refused(run("fill", trained, "a [MASK]", "--threads", "100000"), "got 100000; this machine has")


def test_a_start_that_is_not_there(run: Run, text_file: Path, tmp_path: Path) -> None:
    refused(run("train", "masked-lm", text_file, "--start", tmp_path / "nowhere"), "nowhere")


def test_a_missing_column_is_advised_with_the_options_of_the_models_task(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,b\nx,1\n")
    for words in (["evaluate", trained, table], ["fill", trained, "long [MASK] " * 2000, "--file", table]):
        done = run(*words)
        refused(done, "--text-column")
        assert "--label-column" not in done.err


def test_settings_that_would_do_nothing(run: Run, trained: Path, text_file: Path, tmp_path: Path) -> None:
    words = ["train", "masked-lm", text_file, "--out", tmp_path / "run"]
    message = "together with tokenizer."
    refused(run(*words, "--start", trained, "--vocabulary", "5000"), message)
    refused(run(*words, "--start", trained, "--set", "tokenizer.kind=bpe"), message)
    refused(run(*words, "--set", f"tokenizer.file={trained / 'tokenizer.json'}", "--vocabulary", "5000"), message)
    refused(run(*words, "--set", f"data.files={text_file}"), "named once")
    refused(run(*words, "--validation", "0.1", "--validation-file", text_file), "named once")
    refused(run(*words, "--validation-file", text_file), str(text_file))
    refused(run(*words, "--rejects", tmp_path / "rejects.jsonl"), "--rejects")
    refused(run("evaluate", trained, text_file, "--split", "test"), "got files together with the split test")
    assert not (tmp_path / "run").exists()


def test_what_to_train_must_be_said(run: Run, text_file: Path, tmp_path: Path) -> None:
    refused(run("train", "maskd-lm", text_file), "did you mean 'masked-lm'")
    refused(run("train", text_file), f"glassformer train masked-lm {text_file}")
    refused(run("train", "masked-lm"), "got no files")
    refused(run("train", "masked-lm", "-"), "got standard input")
    refused(run("train", tmp_path / "nowhere.toml"), "got no such file")


# --------------------------------------------------------------------------- saved models


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "copy"))


def test_a_checkpoint_cut_short(run: Run, copy: Path) -> None:
    path = copy / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    refused(run("fill", copy, "a [MASK]"), "cut short or damaged")


def test_a_checkpoint_of_another_version(run: Run, copy: Path) -> None:
    path = copy / "glassformer.json"
    text = path.read_text(encoding="utf-8")
    assert f'"format": {FORMAT}' in text
    path.write_text(text.replace(f'"format": {FORMAT}', '"format": 99'), encoding="utf-8")
    refused(run("info", copy), str(path), f"format {FORMAT}", "got format 99")


@pytest.mark.parametrize("verb", ["fill", "score", "verify", "explain"])
def test_a_pickle_offered_as_weights(run: Run, tmp_path: Path, verb: str) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps({"weight": 1}))
    refused(run(verb, tmp_path, "a [MASK]"), "pytorch_model.bin, a pickle")
    refused(run("import", tmp_path / "pytorch_model.bin", tmp_path / "out"))
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    refused(run("import", tmp_path, tmp_path / "out"), "a pickle")
    assert not (tmp_path / "out").exists()


def test_no_model_there(run: Run, tmp_path: Path) -> None:
    refused(run("fill", tmp_path / "nowhere", "a [MASK]"), "nowhere", "--model")
    refused(run("fill", tmp_path, "a [MASK]"), "glassformer.json", "config.json")


def test_a_run_is_not_written_over(run: Run, copy: Path, text_file: Path) -> None:
    before = (copy / "model.safetensors").read_bytes()
    refused(run("train", "masked-lm", text_file, "--out", copy), "which holds a run", "--resume")
    assert run("train", "masked-lm", "--resume", "--out", copy).code == 0  # the task may be named again, without files
    assert (copy / "model.safetensors").read_bytes() == before
    refused(run("train", "classify", "--resume", "--out", copy), "data to learn from", "no files")


def test_a_tokenizer_of_ones_own_is_not_written_over(run: Run, text_file: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("mine")
    refused(run("train", "masked-lm", text_file, "--out", tmp_path), "tokenizer.json", "--out")
    refused(run("train", "slides", "--steps", "1", "--resume", "--out", tmp_path), "tokenizer.json", "--out")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_a_place_that_cannot_be_written_to(run: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    refused(run("fill", trained, "a [MASK]", "--out", tmp_path / "file" / "answers"), "file")


@pytest.mark.parametrize("place", ["no/answers", ""])
def test_a_place_that_takes_no_results_is_named_as_it_was_asked_for(
    run: Run, trained: Path, text_file: Path, tmp_path: Path, place: str
) -> None:
    out = tmp_path / place
    for words in (["fill", trained, "a [MASK]"], ["evaluate", trained, text_file]):
        done = run(*words, "--out", out)
        assert (done.code, done.out) == (2, "")
        assert str(out) in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_offered_as_a_model(run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.txt").write_text("a text")
    monkeypatch.chdir(tmp_path)
    refused(run("fill", "mine.txt", "a [MASK]"), "the file mine.txt; name a folder that train or import wrote")
    refused(run("fill", trained / "model.safetensors", "a [MASK]"), f"name its folder: {trained}")


def test_a_full_disk(run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    refused(run("fill", trained, "a [MASK]", "--out", tmp_path / "answers"), "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_to_and_not_replaced(run: Run, trained: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert run("fill", trained, "a [MASK]", "--out", pipe).code == 0
    assert os.read(reader, 1 << 16).startswith(b"a [MASK]")
    os.close(reader)
    assert pipe.is_fifo()


# --------------------------------------------------------------------------- what could be done and failed


def test_numbers_that_are_not_finite_are_a_failure(run: Run, tmp_path: Path) -> None:
    done = run("train", "slides", "--steps", "9", "--learning-rate", "1e30", "--out", tmp_path / "run")
    assert (done.code, done.out) == (1, "")
    assert "finite" in done.err
    assert "resume with a lower learning rate" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("held_out", ["0.05", "0"])
def test_weights_that_the_last_step_has_broken_are_no_model(
    run: Run, text_file: Path, tmp_path: Path, held_out: str
) -> None:
    words = ["--steps", "1", "--learning-rate", "1e30", "--size", "tiny", "--vocabulary", "160", "--length", "24"]
    words += ["--precision", "float32", "--set", "train.warmup=0", "--set", "train.schedule=constant"]
    words += ["--set", f"data.validation={held_out}", "--out", str(tmp_path / "run")]
    done = run("train", "masked-lm", text_file, *words)
    assert (done.code, done.out) == (1, "")
    assert "finite" in done.err.splitlines()[-1]
    assert "lower learning rate" in done.err
    assert "kept" not in done.err if held_out == "0.05" else "saved. Try" not in done.err
    assert not (tmp_path / "run" / "glassformer.json").exists()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", ["answer en-fr", "classify en-fr x", "choose en-fr x", "tag en-fr x", "cache a\0b"])
def test_a_verb_that_this_model_does_not_answer_and_a_path_with_a_zero_byte(run: Run, words: str) -> None:
    refused(run(*words.split(" ")))


@pytest.mark.parametrize(
    "error", [MemoryError(), ImportError("libtorch_cpu.so: failed to map segment from shared object")]
)
def test_too_little_memory_is_a_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def short(*given: object) -> None:
        raise error

    monkeypatch.setattr("glassformer.cli.__main__.check_torch", short)
    assert main(["fill", "english", "a [MASK]"]) == 1
    assert "memory" in capsys.readouterr().err


def test_an_option_of_one_value_is_not_given_twice(run: Run, trained: Path, text_file: Path) -> None:
    done = run("score", trained, "--file", text_file, "--text-column", "a", "--text-column", "b")
    assert done.code == 2
    assert "--text-column" in done.err
    done = run("embed", trained, "the cat", "--strategy", "last", "--strategy", "0", "--json", "--json")
    assert done.code == 0
