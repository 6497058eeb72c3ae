"""The pages about records and scores: their commands and Python, run as they stand there, with tiny models."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from glassformer.cli.__main__ import main
from glassformer.run import train as training
from glassformer.saved.recipe import Recipe, resolve

PYTHON, SHELL = (re.compile(rf"^```{kind}\n(.*?)^```", re.MULTILINE | re.DOTALL) for kind in ("python", "sh"))
TINY = {
    "model": {"family": "bert", "settings": {"layers": 1, "width": 8, "heads": 1, "feed_forward": 8}},
    "tokenizer.vocabulary": 80,
    "data.length": 16,
    "train.steps": 2,
    "train.batch": 4,
    "train.compile": "off",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages name; every training is small."""
    rows = [f"{'She likes' if n % 2 else 'He cooks on'} day {n}\t{'good' if n % 2 else 'bad'}\n" for n in range(60)]
    (tmp_path / "reviews.tsv").write_text("".join(rows))
    (tmp_path / "more.tsv").write_text("".join(rows[:9]) + "They hike\tgood\n")
    (tmp_path / "mixed.tsv").write_text("".join(rows) + "   \tgood\nonly one cell\n")
    records = [json.dumps({"id": n, "text": f"She hikes on day {n}"}) + "\n" for n in range(5)]
    (tmp_path / "new.jsonl").write_text("".join(records))
    (tmp_path / "mixed.jsonl").write_text("".join(records) + '{"text": ""}\n')

    def small(given: Any, changes: Any = None) -> Recipe:
        return resolve(resolve(given, changes), TINY)

    monkeypatch.setattr(training, "resolve", small)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands(page: str) -> list[str]:
    return [line for block in SHELL.findall(page) for line in block.splitlines()]


@pytest.mark.long
@pytest.mark.parametrize("name", ["records.md", "scores.md"])
def test_every_command_of_the_page_works(
    name: str, repository: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (repository / "docs" / "reference" / name).read_text(encoding="utf-8")
    for line in commands(page):
        if "|" in line:
            typed = line.replace("glassformer", f"{shlex.quote(sys.executable)} -m glassformer")
            done = subprocess.run(["sh", "-c", typed], capture_output=True, text=True, check=True)
            assert [json.loads(each)["id"] for each in done.stdout.splitlines()] == [0, 1]
        else:
            assert main(shlex.split(line)[1:]) == 0, (line, capsys.readouterr().err)
    if name == "records.md":
        assert [json.loads(each)["id"] for each in Path("answers.jsonl").read_text().splitlines()] == [0, 1, 2, 3, 4]
        assert Path("more.jsonl").read_bytes() == Path("answers.jsonl").read_bytes()
        assert len(Path("good.jsonl").read_text().splitlines()) == 5
    else:
        assert json.loads(Path("runs/three/seeds.json").read_text())["scores"].keys() >= {"accuracy", "loss"}


def test_the_python_of_the_page_works(repository: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = PYTHON.findall((repository / "docs" / "reference" / "scores.md").read_text(encoding="utf-8"))
    exec(compile(code, "docs/reference/scores.md", "exec"), {})
    assert "accuracy" in capsys.readouterr().out
