"""The command line as a person meets it: words in, exit code and two streams out."""

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from glassformer.cli.__main__ import main

STORY = "She likes the summer better than the winter. He loves to cook healthy food. They go hiking quite often."


@dataclass(frozen=True)
class Done:
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """Standard output as one JSON record a line."""
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `glassformer WORDS` in this process; `stdin` is what is typed into it."""

    def command(*words: str | Path, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        code = main([str(word) for word in words])
        shown = capsys.readouterr()
        return Done(code, shown.out, shown.err)

    return command


@pytest.fixture(scope="session")
def text_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "notes.txt"
    path.write_text("\n\n".join(f"Day {number}. {STORY} So ended day {number}." for number in range(60)))
    return path


@pytest.fixture(scope="session")
def trained(text_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model made by the command itself."""
    folder = tmp_path_factory.mktemp("runs") / "notes"
    words = ["--steps", "4", "--size", "tiny", "--vocabulary", "160", "--length", "24", "--batch", "4"]
    words += ["--precision", "float32", "--seed", "3"]
    assert main(["train", "masked-lm", str(text_file), *words, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The slides' model, as the ready recipe makes it."""
    folder = tmp_path_factory.mktemp("runs") / "slides"
    assert main(["train", "slides", "--steps", "100", "--out", str(folder)]) == 0
    return folder
