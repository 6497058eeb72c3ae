"""Characters that a terminal obeys are shown as escapes, whoever wrote them: texts, labels, tokens, names of files."""

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from glassformer.cli.ask.show import on_screen, show
from glassformer.cli.terminal.screen import note, note_command, record
from glassformer.tasks.labels.answer.answers import Answer, Span
from glassformer.tasks.labels.choose.answers import Choice
from glassformer.tasks.labels.labels import Class
from glassformer.tasks.labels.tag.answers import FoundSpan, Tagging
from glassformer.tasks.words.masked_lm.fill import Filled, Guess, MaskedWord
from glassformer.training.progress import ConsoleProgress
from tests.writers import writing

Run = Callable[..., Any]
EVIL = "a\x1b[31m\x9b2J\x07\x7f\r\u202eb"


def obeyed(text: str) -> set[str]:
    """The characters of a text that a terminal would obey."""
    controls = {chr(code) for code in (*range(32), *range(127, 160))} - {"\n"}
    return {*text} & (controls | {*"\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"})


FOUND: Mapping[str, tuple[Mapping[str, object], Any]] = {
    "fill": ({}, Filled(EVIL, EVIL, (MaskedWord(0, 1, (Guess(EVIL, EVIL, 0.5, False),)),))),
    "classify": ({"text": EVIL, "pair": EVIL}, Class((EVIL, "b"), (-0.4, -1.1), EVIL, EVIL)),
    "choose": ({}, Choice(EVIL, 0, (EVIL, "b"), (-0.1, -2.0), EVIL)),
    "tag": ({}, Tagging(EVIL, (FoundSpan(0, 1, EVIL, 0.9, EVIL),), ((0, 1),), (EVIL,))),
    "answer": ({"pair": EVIL}, Answer(EVIL, (Span(EVIL, 1, 2, 0.5, 0.5),))),
}


@pytest.mark.parametrize("verb", FOUND)
def test_a_table_of_answers(verb: str) -> None:
    values, found = FOUND[verb]
    shown = io.StringIO()
    show(found.shown(values, 80), shown)
    assert not obeyed(shown.getvalue())
    assert r"\x1b[31m\x9b2J" in shown.getvalue()


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_a_text_on_a_screen_keeps_its_tabs_and_lines_and_in_a_file_all() -> None:
    assert on_screen("a\tb\nc\x1b", Screen(), lines=True) == "a\tb\nc\\x1b"
    assert on_screen("a\tb\nc\x1b", io.StringIO(), lines=True) == "a\tb\nc\x1b"


def test_a_record_is_the_same_without_them() -> None:
    out = io.StringIO()
    record({"text": EVIL, EVIL: [EVIL, "é"]}, out)
    assert not obeyed(out.getvalue())
    assert len(out.getvalue().splitlines()) == 1
    assert json.loads(out.getvalue()) == {"text": EVIL, EVIL: [EVIL, "é"]}


def test_notes_commands_and_the_messages_of_a_training(capsys: pytest.CaptureFixture[str]) -> None:
    note(f"labels: {EVIL}")
    note_command("saved. Try:", ["glassformer", "classify", EVIL])
    ConsoleProgress(Console(file=(shown := io.StringIO()), width=80)).note(f"labels: {EVIL}")
    err = capsys.readouterr().err
    assert err.count("x1b") == 2
    assert not obeyed(err + shown.getvalue())


def test_tokens_of_a_prompt_and_of_a_text_that_is_written(run: Run, tmp_path: Path) -> None:
    writer = writing("llama").save(tmp_path / "writer")
    for words in (
        ("score", writer, EVIL),
        ("explain", writer, EVIL, "--write", "3"),
        ("generate", writer, EVIL, "--tree", "--max-tokens", "3"),
        ("generate", writer, EVIL, "--json", "--max-tokens", "3"),
        ("verify", writer, EVIL, "--write", "0"),
    ):
        done = run(*words)
        assert done.code == 0, done.err
        assert not obeyed(done.out + done.err), words


def test_labels_and_columns_of_a_table_that_is_learned(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "strange.jsonl"
    rows = [{"text": f"{EVIL} number {n}", "label": (EVIL, "other")[n % 2], EVIL: 1} for n in range(24)]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"text": EVIL}]), encoding="utf-8")
    words = [
        "--steps",
        "1",
        "--size",
        "tiny",
        "--vocabulary",
        "120",
        "--length",
        "16",
        "--batch",
        "4",
        "--family",
        "bert",
    ]
    words += ["--set", "train.compile=off", "--set", "data.on_bad_row=skip", "--out", str(tmp_path / "run")]
    trained = run("train", "classify", path, *words)
    assert trained.code == 0, trained.err
    shown = [trained, run("evaluate", tmp_path / "run", path), run("info", tmp_path / "run")]
    shown.append(run("classify", tmp_path / "run", EVIL))
    missing = run("train", "classify", path, "--label-column", "labels", *words[:-1], tmp_path / "none")
    assert missing.code == 2
    for done in (*shown, missing):
        assert not obeyed(done.out + done.err), done
