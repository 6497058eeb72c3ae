"""Paths that no system can look up, and places that vanish: a sentence that names them, and nothing left behind."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import glassformer.base.atomic
from glassformer.api.load import load
from glassformer.api.train import train
from glassformer.base.errors import ConfigError, DataError, GlassformerError
from glassformer.base.paths import check_path, is_stream, refuse_endless
from tests.cli.conftest import Done, Run

SHORT = 1500
TINY = ["--steps", "1", "--size", "tiny", "--vocabulary", "160", "--length", "24"]
ZERO, LONG, DEEP, HOME, BYTES = "a\0b", "x" * 5000, "d/" * 2500 + "x", "~/runs/notes", "a\udcff"


def sentence(done: Done) -> str:
    assert (done.code, done.out) == (2, ""), done.err
    last = done.err.splitlines()[-1]
    assert last.startswith("glassformer: ")
    assert len(last) < SHORT
    return last


@pytest.fixture
def exported(run: Run, trained: Path, tmp_path: Path) -> Path:
    assert run("export", trained, tmp_path / "theirs").code == 0
    return tmp_path / "theirs"


@pytest.mark.parametrize("path", [ZERO, LONG, DEEP, HOME, BYTES], ids=["zero", "long", "deep", "home", "bytes"])
def test_wherever_a_path_is_taken(
    run: Run, trained: Path, text_file: Path, exported: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(exported.parent)
    before = sorted(os.listdir())
    ask, learn = ["a [MASK]"], ["train", "masked-lm", str(text_file), *TINY]
    commands: list[list[str]] = [
        ["info", path],
        ["fill", path, *ask],
        ["fill", path],  # a text where a model is expected
        ["fill", str(trained), "--file", path],
        ["import", path, "out"],
        ["export", path, "out"],
        ["train", path],
        ["train", f"{path}.toml"],
        ["train", "masked-lm", path, *TINY, "--out", "out"],
        [*learn, "--start", path, "--out", "out"],
        [*learn, "--set", f"tokenizer.file={path}", "--out", "out"],
        [*learn, "--set", f"model.vectors={path}", "--out", "out"],
    ]
    writing = [
        ["import", str(exported), path],
        ["export", str(trained), path],
        [*learn, "--out", path],
        *([["fill", str(trained), *ask, "--out", path]] if path != BYTES else []),
    ]
    for words in [*commands, *writing]:
        message = sentence(run(*words))
        if path == HOME and words != ["train", path]:
            assert os.path.expanduser(path) in message, words
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("path", [ZERO, LONG, DEEP, HOME], ids=["zero", "long", "deep", "home"])
def test_the_same_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GlassformerError):
        load(path)
    with pytest.raises(GlassformerError):
        train("slides", out=path)
    with pytest.raises(GlassformerError):
        train(f"{path}.toml", out="out")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_called_by_the_tilde_itself_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError):
        check_path("~/x", DataError)
    Path("~").mkdir()
    check_path("~/x", DataError)


def test_a_name_of_other_bytes_is_refused_where_it_is_written_into_files() -> None:
    check_path(BYTES, DataError)
    with pytest.raises(DataError):
        check_path("a\ud800", DataError)
    with pytest.raises(DataError) as caught:
        check_path(BYTES, DataError, utf8=True)
    assert ascii(BYTES) in caught.value.got


# --------------------------------------------------------------------------- pipes and devices


def test_pipes_and_devices_are_no_files(run: Run, trained: Path, text_file: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        for words in (
            ["fill", trained, "--file", path],
            ["import", path, tmp_path / "out"],
            ["info", path],
            ["train", "masked-lm", path, *TINY, "--out", tmp_path / "out"],
            ["train", "masked-lm", text_file, *TINY, "--start", path, "--out", tmp_path / "out"],
            ["train", "masked-lm", text_file, *TINY, "--set", f"model.vectors={path}", "--out", tmp_path / "out"],
        ):
            assert str(path) in sentence(run(*words))
    assert str(pipe) in sentence(run("train", pipe))
    assert list(tmp_path.iterdir()) == [pipe]


def test_what_the_shell_makes_of_a_command_is_read(run: Run, trained: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"a [MASK]\nb [MASK]\n")
    os.close(writer)
    done = run("fill", trained, "--json", "--file", f"/dev/fd/{reader}")
    os.close(reader)
    assert (done.code, len(done.records)) == (0, 2), done.err


def test_streams_are_only_those_of_the_shell(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert not is_stream(tmp_path / "pipe")
    assert not is_stream("/dev/fd/987654")
    with pytest.raises(ConfigError) as caught:
        refuse_endless(tmp_path / "pipe", ConfigError)
    assert str(tmp_path / "pipe") in caught.value.wanted


# --------------------------------------------------------------------------- places that vanish

Words = Callable[[Path, Path], list[str | Path]]
VANISHING: dict[str, Words] = {
    "fill": lambda model, place: ["fill", model, "a [MASK]", "--out", place / "answers"],
    "export": lambda model, place: ["export", model, place / "theirs"],
    "import": lambda model, place: ["import", model.parent / "theirs", place / "ours"],
}


@pytest.mark.parametrize("verb", VANISHING)
def test_a_place_that_is_deleted_while_it_is_written(
    run: Run, exported: Path, trained: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    place, flush = exported.parent / "place", glassformer.base.atomic.flush
    place.mkdir()
    shutil.copytree(trained, exported.parent / "ours")

    def deleted(path: Path) -> None:
        shutil.rmtree(place)
        flush(path)

    monkeypatch.setattr(glassformer.base.atomic, "flush", deleted)
    message = sentence(run(*VANISHING[verb](exported.parent / "ours", place)))
    assert str(place) in message
    assert os.strerror(2) in message
    assert not place.exists()


def test_a_current_folder_that_is_gone(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()
    assert os.strerror(2) in sentence(run("train", "slides", "--steps", "1"))
    assert run("fill", trained, "a [MASK]").code == 0


@pytest.mark.parametrize("there", [True, False], ids=["a link to a file", "a broken link yet"])
@pytest.mark.parametrize("resumable", [True, False])
def test_results_go_to_the_file_that_a_link_names(
    run: Run, trained: Path, tmp_path: Path, there: bool, resumable: bool
) -> None:
    texts, link, file = tmp_path / "texts.txt", tmp_path / "link", tmp_path / "elsewhere" / "answers.jsonl"
    texts.write_text("She [MASK] the summer\n")
    file.parent.mkdir()
    if there:
        file.write_text("old")
    link.symlink_to(file)
    asked = ["--file", texts] if resumable else ["She [MASK] the summer"]
    done = run("fill", trained, *asked, "--json", "--out", link, "--overwrite")
    assert (done.code, done.out) == (0, ""), done.err
    assert link.is_symlink()
    assert "She" in file.read_text()
    assert sorted(os.listdir(file.parent)) == ["answers.jsonl"]


def test_a_trace_goes_to_the_file_that_a_link_names(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "trace")
    load(trained).trace("She likes the summer").save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "trace").is_file()
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(GlassformerError):
        load(trained).trace("She likes the summer").save(tmp_path / "round")


def test_a_link_to_itself_is_named(run: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to(tmp_path / "round")
    for words in (["She [MASK] it"], ["--file", tmp_path / "texts.txt"]):
        (tmp_path / "texts.txt").write_text("She [MASK] it")
        message = sentence(run("fill", trained, *words, "--json", "--out", tmp_path / "round"))
        assert str(tmp_path / "round") in message
    assert (tmp_path / "round").is_symlink()
