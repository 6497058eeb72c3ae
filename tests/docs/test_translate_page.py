"""The page on translation: its data are read, its commands run with a tiny model."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from glassformer.cli.__main__ import main
from tests.docs.test_commands import BLOCK

SMALL = [
    *("--steps", "2", "--length", "32", "--validation", "0.3", "--vocabulary", "300"),
    *("--set", "model.settings={layers=1, width=8, heads=2, feed_forward=8}", "--set", "train.compile=off"),
    *("--set", "train.batch_tokens=64"),
]


def test_the_commands_of_the_page_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((repository / "docs" / "tasks" / "translate.md").read_text(encoding="utf-8"))
    (table,) = (block for kind, block in blocks if kind == "tsv")
    rows = [f"{n} {line}" for n in range(12) for line in table.splitlines()]
    Path("pairs.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for name in ("pairs", "test"):
        for place, side in enumerate(("en", "fr")):
            Path(f"{name}.{side}").write_text("\n".join(row.split("\t")[place] for row in rows), encoding="utf-8")
    commands = [shlex.split(line) for kind, block in blocks if kind == "sh" for line in block.splitlines()]
    verbs = ["train", "train", "translate", "evaluate", "evaluate", "export", "import"]
    assert [words[1] for words in commands] == verbs
    for words in commands:
        quick = [word for word in words[1:] if word not in ("--minutes", "30")]
        assert main(quick + (SMALL if words[1] == "train" else [])) == 0, words
    shown = capsys.readouterr().out
    assert "bleu" in shown.lower()
    assert "copy source" in shown
