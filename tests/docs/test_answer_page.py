"""The page on questions about a passage: its data are read, its commands run with a tiny model."""

import json
import re
import shlex
from pathlib import Path

import pytest

from glassformer.cli.__main__ import main
from glassformer.data.readers.rows import read_table
from glassformer.data.readers.squad import stated_answers
from manual.shown import SHOWN
from tests.docs.test_commands import BLOCK

SMALL = ["--steps", "2", "--length", "32", "--batch", "4", "--validation", "0.3", "--set", "train.compile=off"]


@pytest.mark.long
def test_the_commands_of_the_page_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (repository / "docs" / "do" / "answer.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(SHOWN.sub("", page))  # what it shows with a result: tests/manual/test_shown.py
    nested, lines = (block for kind, block in blocks if kind == "json")
    whole = json.loads(nested)
    (paragraph,) = whole["data"][0]["paragraphs"]
    Path("lines.jsonl").write_text(lines)
    Path("page.json").write_text(nested)
    for path in ("lines.jsonl", "page.json"):
        found = [stated_answers(row.values["answers"], "") for row in read_table(path)]
        assert [[tuple(each) for each in answers] for answers in found] == [[("Normandy", 19)], []]
    whole["data"][0]["paragraphs"] = [
        {**paragraph, "context": f"{paragraph['context']} Day {number}."} for number in range(12)
    ]
    Path("questions.json").write_text(json.dumps(whole))
    commands = [shlex.split(line) for kind, block in blocks if kind == "sh" for line in block.splitlines()]
    assert [words[1] for words in commands] == ["train", "answer", "answer", "answer", "evaluate", "evaluate"]
    assert main(["train", "answer", "questions.json", "--vocabulary", "100", "--out", "first", *SMALL]) == 0
    for words in commands:
        words = ["first" if word == "MODEL" else word for word in words[1:]]
        assert main(words + (SMALL if words[0] == "train" else [])) == 0, words
    assert len(Path("answers.jsonl").read_text().splitlines()) == 24
    shown = capsys.readouterr().out
    assert "threshold" in shown
    assert re.search(r"sliding.window", shown)
