"""The page on tags of words: each of its commands and its Python, run in shrunken form on small data."""

import json
import re
import shlex
from pathlib import Path

import pytest

from glassformer.cli.__main__ import main
from glassformer.tasks.labels.tag.records import sentence_of
from manual.shown import SHOWN
from tests.contracts.tasks import write_conll, write_spans
from tests.data.test_conll import UNIVERSAL
from tests.docs.test_commands import BLOCK

SMALLER = [
    *("--steps", "2", "--length", "24", "--threads", "1", "--batch", "4", "--validation", "0.3"),
    *("--set", "train.compile=off", "--set", "train.precision=float32"),
]
TINY = ["--vocabulary", "160", "--set", "model.settings={layers = 1, width = 16, heads = 2, feed_forward = 16}"]


@pytest.mark.long
def test_what_the_page_shows_works(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_conll(tmp_path)
    write_spans(tmp_path)
    _, word = UNIVERSAL.split("\n\n")
    many = "\n".join(word.replace("Yes", f"Yes{n}").replace("INTJ", ("INTJ", "X")[n % 2]) for n in range(9))
    Path("words.conllu").write_text(many)
    page = (repository / "docs" / "do" / "tag.md").read_text(encoding="utf-8")
    page = re.sub(r"<!-- not run.*?-->\n```sh\n.*?```\n", "", page, flags=re.DOTALL)
    blocks = BLOCK.findall(SHOWN.sub("", page))  # what it shows with a result: tests/manual/test_shown.py
    assert main(["train", "tag", "names.conll", "--out", "first", *SMALLER, *TINY]) == 0
    for kind, block in blocks:
        for line in block.splitlines() if kind == "sh" else ():
            words = ["first" if word == "MODEL" else word for word in shlex.split(line)[1:]]
            small = SMALLER + ([] if "first" in words else TINY) if words[0] == "train" else []
            assert main(words + small) == 0, line
    shown = capsys.readouterr().out
    assert '"windows": 1' in shown
    assert "by word" in shown
    *_, record = SHOWN.finditer(page)
    assert sentence_of(json.loads(record["output"]), "").tags == ("O", "B-location", "O", "O")
    (code,) = (block for kind, block in blocks if kind == "python")
    exec(compile(code, "tag.md", "exec"), {})
    assert len(Path("found.jsonl").read_text().splitlines()) == 40
