"""In a terminal: Ctrl-C stops the text that is being written and keeps the session; the terminal obeys no character of
a text.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.cli.ask.conversation import load_turns
from tests.talkers import talking
from tests.writers import writing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")

INTERRUPT = "\x03"
MOST = 20_000
ENDLESS = ["--min-tokens", str(MOST - 100), "--max-tokens", str(MOST - 90)]
EVIL = "She \x1b[31mlikes\x9b31m \x07the\u202e sum"
Screens = Mapping[str, dict[str, Any]]
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("terminal")


@pytest.fixture(scope="module")
def screens(folder: Path) -> Screens:
    """What was on the screen of each command."""
    bare, talks = writing("llama"), talking(length=MOST)
    writes = gf.Model(bare.module, bare.tokenizer, task=bare.task, length=MOST)
    writer, talker = str(writes.save(folder / "writer")), str(talks.save(folder / "talker"))
    some = r"She likes.{9}"  # the prompt and what was written after it
    cases: dict[str, tuple[list[str], list[list[str]]]] = {
        "one text": (["generate", writer, "She likes", *ENDLESS], [[some, INTERRUPT]]),
        "typed texts": (
            ["generate", writer, "-", *ENDLESS],
            [
                ["", "She likes\n"],
                [some, INTERRUPT],
                ["stopped", "He cooks\n"],
                ["He cooks.{9}", INTERRUPT],
                ["stopped", "\x04"],
            ],
        ),
        "chat": (
            ["chat", talker, *ENDLESS],
            [
                ["you: ", "Hi\n"],
                ["model: .{9}", INTERRUPT],
                ["you: ", f"/save '{folder / 'my chat.json'}'\n"],
                ["you: ", INTERRUPT],
            ],
        ),
        "strange characters": (["generate", writer, EVIL, "--max-tokens", "20"], []),
    }
    given = [{"words": words, "typed": typed} for words, typed in cases.values()]
    (folder / "cases.json").write_text(json.dumps(given), encoding="utf-8")
    program = [sys.executable, str(Path(__file__).with_name("terminal.py"))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [*program, str(folder / "cases.json"), str(folder / "results.json")], env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return dict(zip(cases, results, strict=True))


@pytest.mark.long
def test_a_model_that_knows_no_data_reads_turns_from_a_file(run: Run, folder: Path, screens: Screens) -> None:
    (folder / "asked.jsonl").write_text('{"turns": ["Hi"]}\n{"turns": ["Hi", "Hello", "And?"]}\n', encoding="utf-8")
    done = run("chat", folder / "talker", "--file", folder / "asked.jsonl", "--max-tokens", "2", "--json")
    assert [len(each["turns"]) for each in done.records] == [1, 3]


@pytest.mark.long
def test_ctrl_c_stops_a_text(screens: Screens) -> None:
    found = screens["one text"]
    assert found["code"] == 130
    *written, last = found["screen"].split("\r\n")[:-1]
    assert last == "glassformer: stopped"
    assert "".join(written).startswith("She likes")
    assert "Traceback" not in found["screen"]


def test_ctrl_c_stops_one_of_the_texts_that_are_typed(screens: Screens) -> None:
    found = screens["typed texts"]
    assert found["code"] == 0, found["screen"]
    assert found["screen"].count("stopped") == 2
    assert "Traceback" not in found["screen"]


def test_ctrl_c_stops_a_reply_and_keeps_the_conversation(screens: Screens, folder: Path) -> None:
    found = screens["chat"]
    assert found["code"] == 130, found["screen"]
    assert "Traceback" not in found["screen"]
    asked, begun = load_turns(folder / "my chat.json")
    assert asked == "Hi"
    assert begun.strip()


def test_control_characters_of_a_prompt_and_of_a_text_are_escaped(screens: Screens) -> None:
    found = screens["strange characters"]
    assert found["code"] == 0, found["screen"]
    assert r"\x1b[31mlikes\x9b31m \x07the\u202e" in found["screen"]
    assert not {*found["screen"]} & {*"\x1b\x9b\x07\u202e"}
