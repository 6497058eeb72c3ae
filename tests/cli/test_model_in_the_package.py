"""Commands that name no model are answered by one in the package; a first word is a model or a text by one rule."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.base.errors import CheckpointError, DataError
from glassformer.bundled import travelling
from glassformer.cli.terminal.opened import split_model
from glassformer.tasks import VERBS

Run = Callable[..., Any]
TEXT = "She [MASK] the summer better"


@pytest.fixture
def english(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the model in the package; the current folder is an empty one."""
    monkeypatch.setattr(travelling, "PLACE", tmp_path / "small")
    folder = load(trained, dtype="bfloat16").save(tmp_path / "small" / "english")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return folder


def test_a_text_alone_is_filled_and_the_model_is_named(run: Run, english: Path) -> None:
    alone, named, by_folder = (run("fill", *words, TEXT) for words in ([], ["english"], [english]))
    assert alone.code == named.code == 0
    assert alone.out == named.out == by_folder.out != ""
    assert "english" in alone.err
    assert named.err == ""


def test_several_texts_standard_input_and_files(run: Run, english: Path) -> None:
    texts = [TEXT, "He [MASK].", "It [MASK] here."]
    lines = "".join(f"{text}\n" for text in texts)
    Path("texts.txt").write_text(lines)
    given = run("fill", *texts, "--json")
    assert [record["text"] for record in given.records] == texts
    typed, read = run("fill", "-", "--json", stdin=lines.encode()), run("fill", "--file=texts.txt", "--json")
    assert given.records == typed.records == read.records
    assert all("english" in done.err for done in (given, typed, read))
    assert given.err.count("english") == 1


@pytest.mark.parametrize("verb", ["score", "verify", "explain"])
def test_the_same_for_the_verbs_that_score_and_look(run: Run, english: Path, verb: str) -> None:
    more, texts = ["--json"], ["the [MASK]", "a [MASK]"]
    if verb == "explain":  # one number: a walk through all of them takes a second; several texts would be one batch
        more += ["--cell", "encoder.blocks.0.self_attention.weights[head=1,query=[CLS],key=[CLS]]"]
        texts = texts[:1]
    alone, named = run(verb, *texts, *more), run(verb, "english", "the [MASK]", *more)
    assert (alone.code, len(alone.records)) == (0, len(texts) * len(named.records))
    assert alone.records[: len(named.records)] == named.records
    assert "english" in alone.err.splitlines()[0]


def test_files_are_measured(run: Run, english: Path, text_file: Path) -> None:
    alone, pattern = run("evaluate", text_file, "--json"), run("evaluate", text_file.parent / "*.txt", "--json")
    named = run("evaluate", "--model", "english", text_file.parent, "--json")
    assert alone.code == 0
    assert alone.records == pattern.records == named.records
    for words in (["evaluate"], ["evaluate", "nowhere.txt"], ["evaluate", text_file.parent]):
        assert run(*words).code == 2


def test_every_verb_has_its_model_or_says_which_it_needs(run: Run, english: Path) -> None:
    for verb, entry in VERBS.items():
        done = run(verb, TEXT)
        assert done.code == (0 if "masked-lm" in entry.tasks else 2), verb
        if done.code == 0:
            assert "english" in done.err
        else:
            assert done.err.count("\n") == 1
            assert all(task in done.err for task in entry.tasks)


def test_a_text_that_is_a_models_name_needs_the_option(run: Run, english: Path) -> None:
    Path("folder").mkdir()
    Path("file").write_text("a")
    for text in ("english", "folder", "file", "and/or", "~tilde", "word"):
        done = run("score", "--model", "english", text, "the winter", "--json")
        assert [record["text"] for record in done.records] == [text, "the winter"]
        assert done.err == ""
    assert run("score", "english").code == 2  # the model, and no text
    assert run("score", "word", "--json").records[0]["text"] == "word"


@pytest.mark.parametrize(
    "words",
    [
        ["fill", "runs/none", TEXT],
        ["fill", "none", TEXT],
        ["fill", "none"],
        ["fill", "none", "--file", "texts.txt"],
        ["score", "and/or"],
        ["score", "none", "a text"],
        ["explain", "~none"],
        ["verify", "none", TEXT],
        ["evaluate", "none"],
    ],
)
def test_a_mistyped_model_is_not_answered_by_another(run: Run, english: Path, words: list[str]) -> None:
    done = run(*words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert words[1] in done.err


def test_what_a_first_word_is(english: Path) -> None:
    Path("mine").mkdir()
    assert split_model("fill", ["hub:owner/name", TEXT], None) == ("hub:owner/name", [TEXT])
    assert split_model("fill", ["mine", TEXT], None) == ("mine", [TEXT])
    assert split_model("fill", ["english", TEXT], None) == ("english", [TEXT])
    assert split_model("fill", [TEXT, "mine"], None) == ("english", [TEXT, "mine"])
    assert split_model("fill", ["[MASK]/[MASK]", "a"], None) == ("english", ["[MASK]/[MASK]", "a"])
    assert split_model("score", ["a/b and c"], None) == ("english", ["a/b and c"])
    assert split_model("score", [], None, files=["texts.txt"]) == ("english", [])
    assert split_model("score", ["mine"], "english") == ("english", ["mine"])
    with pytest.raises(CheckpointError) as near:
        split_model("fill", ["englsh", TEXT], None)
    assert "'english'" in near.value.do
    with pytest.raises(DataError):
        split_model("score", [], None)


def test_models_are_listed(run: Run, english: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, (record,) = run("models"), run("models", "--json").records
    assert shown.code == 0
    for value in ("english", "masked-lm", f"{record['parameters']:,}", record["licence"]):
        assert value in shown.out
    table = shown.out[: shown.out.index("measured on")]
    assert max(map(len, table.splitlines())) <= 80
    assert record["folder"] == str(english)
    assert record["scores"]["accuracy"] == load(english).metrics["scores"]["accuracy"]
    shutil.rmtree(english)
    assert (run("models").code, run("models", "--json").records) == (0, [])
    none = run("fill", TEXT)
    assert (none.code, none.out, none.err.count("\n")) == (2, "", 1)


def test_the_other_verbs_take_its_name(run: Run, english: Path, text_file: Path, tmp_path: Path) -> None:
    assert run("info", "english", "--json").records[0]["prediction"]["saved_in"] == "bfloat16"
    assert run("export", "english", tmp_path / "theirs").code == 0
    assert run("fill", tmp_path / "theirs", TEXT, "--json").records == run("fill", TEXT, "--json").records
    small = ["--steps", "1", "--batch", "2", "--length", "16", "--set", "train.compile=off"]
    tuned = run("train", "masked-lm", text_file, "--start", "english", *small, "--out", tmp_path / "tuned")
    assert (tuned.code, tuned.out) == (0, f"{tmp_path / 'tuned'}\n")
